"""Options of sets without a file of options, the records of choices, and what is preferred by likelihood."""

import pytest

from bowstring.benchmarks.hicupid.choosing.asking import by_letter, by_likelihood
from bowstring.benchmarks.hicupid.choosing.floors import folds_of
from bowstring.benchmarks.hicupid.choosing.options import GOLD, Option, in_random_order
from bowstring.benchmarks.hicupid.choosing.published import OtherUsersAnswers
from bowstring.benchmarks.hicupid.choosing.scores import MEASURES, among_cells, chance_of
from bowstring.benchmarks.hicupid.records import CODEC
from bowstring.benchmarks.hicupid.types import Persona, Question, Schedule
from bowstring.benchmarks.loading import load_hicupid
from bowstring.errors import DataError
from bowstring.models.scores import Scores
from bowstring.runs.codec import NotARecord

CELLS = [
    Option("X, yes.", GOLD),
    Option("X, no.", "wrong_side"),
    Option("Y, yes.", "wrong_person"),
    Option("Y, no.", "wrong_both"),
    Option("Whatever.", "general"),
]


def question(
    user, n=0, *, text="What to eat?", gold="", category="food", entity="soup", kind="persona", event="a test"
):
    persona = Persona(category, "likes", entity, "POS") if kind == "persona" else None
    schedule = Schedule("Monday", event) if kind == "schedule" else None
    gold = gold or f"Have {entity}."
    return Question("test_2", user, user * 10 + n, kind, text, gold, "Whatever you like.", (), persona, None, schedule)


def golds_of(questions, first) -> list[str]:
    options = OtherUsersAnswers(questions).of(first)
    assert [one.kind for one in options[:2]] == [GOLD, "general"]
    assert {one.kind for one in options[2:]} <= {"wrong_person"}
    return [one.text for one in options[2:]]


def test_other_users_answers_to_the_same_question_come_first_then_those_to_the_nearest_of_the_category():
    first = question(1)
    others = [
        question(2, entity="rice", text="What should my dog eat?"),
        question(3, entity="beans"),
        question(4, entity="tofu", text="Where to go?"),
        question(5, entity="chess", category="game"),
        question(6, entity="fish", text="Where to dance?"),
    ]
    assert golds_of([first, *others], first) == ["Have beans.", "Have rice.", "Have tofu."]


def test_no_answer_is_taken_that_may_be_right_for_this_user_or_is_there_already():
    first = question(1)
    others = [
        question(1, 1, entity="rice"),  # the same user
        question(2, entity="soup", gold="Soup it is."),  # the same persona
        question(3, entity="rice", gold="Rice it is."),  # another persona of this user
        question(4, entity="beans", gold="have  SOUP."),  # the text of gold
        question(5, entity="beans", gold="Whatever you like."),  # the text of general
        question(6, entity="fish"),
        question(7, entity="fish"),  # twice the same text
    ]
    assert golds_of([first, *others], first) == ["Have fish."]


def test_schedule_options_name_events_that_this_user_does_not_have():
    first = question(1, kind="schedule", event="an exam", gold="You have an exam.")
    others = [
        question(2, kind="schedule", event="an exam", gold="There is an exam."),
        question(3, kind="schedule", event="a lesson", gold="You have a lesson."),
    ]
    assert golds_of([first, *others], first) == ["You have a lesson."]


def test_a_question_with_one_answer_alone_is_an_error():
    only = question(1, gold="Whatever you like.")
    with pytest.raises(DataError, match="question 1/10"):
        OtherUsersAnswers([only]).of(only)


def test_the_bundled_set_has_options_without_repeats_and_the_same_each_time():
    questions = load_hicupid("mini").questions()
    source, again = OtherUsersAnswers(questions), OtherUsersAnswers(questions)
    for one in questions:
        texts = [option.text for option in source.of(one)]
        assert 2 <= len(texts) <= 5
        assert len(set(texts)) == len(texts)
        assert again.of(one) == source.of(one)


def test_the_order_depends_on_seed_and_question_and_not_on_the_options():
    first, second = question(1), question(2)
    assert in_random_order(CELLS, first, 0) == in_random_order(CELLS, first, 0)
    orders = {in_random_order(CELLS, question(n), 0) for n in range(50)}
    assert len(orders) > 30
    assert {in_random_order(CELLS, first, seed) for seed in range(20)} != {in_random_order(CELLS, second, 0)}


def record(found, options=CELLS):
    about = {"type": "persona", "options": [{"text": o.text, "kind": o.kind} for o in options], "gold_is": "A"}
    return about | found


def test_by_likelihood_the_mean_decides_and_the_sum_is_beside_it():
    found = by_likelihood(CELLS, Scores((-10.0, -6.0, -20.0, -30.0, -9.0), (10, 3, 10, 10, 3)))
    assert (found["choice"], found["score"]) == ("A", 1.0)
    assert found["score_by_sum"] == 0.0


def test_subject_and_side_are_seen_where_the_general_answer_is_the_most_probable():
    found = by_likelihood(CELLS, Scores((-20.0, -12.0, -30.0, -30.0, -1.0), (10, 10, 10, 10, 10)))
    assert found["choice"] == "E"
    assert among_cells(record(found)) == "wrong_side"
    assert MEASURES["subject"].parts(record(found)) == {"x": (1.0,)}
    assert MEASURES["side"].parts(record(found)) == {"x": (0.0,)}


@pytest.mark.parametrize(("said", "subject", "side"), [("A", 1, 1), ("B", 1, 0), ("C", 0, None), ("E", None, None)])
def test_by_letter_the_choice_alone_says_subject_and_side(said, subject, side):
    found = record(by_letter(CELLS, said))
    for name, expected in (("subject", subject), ("side", side)):
        parts = MEASURES[name].parts(found)
        assert (None if parts is None else parts["x"][0]) == expected


def test_a_wrong_option_is_counted_among_the_questions_that_offer_it():
    found = record(by_letter(CELLS, "B"))
    assert MEASURES["chose.wrong_side"].parts(found) == {"x": (1.0,)}
    assert MEASURES["chose.ignored"].parts(found) == {"x": (0.0,)}
    assert MEASURES["chose.wrong_profile"].parts(found) is None
    assert chance_of([found]) == pytest.approx(20)


WHOLE = {
    "key": "1/2", "user": 1, "split": "test_2", "type": "persona", "question": "q", "personalized_answer": "p",
    "general_answer": "g", "evidence": [], "persona": None, "profile": None, "schedule": None, "by": "likelihood",
    **record(by_likelihood(CELLS, Scores((-1.0, -2.0, -3.0, -4.0, -5.0), (1, 1, 1, 1, 1)))),
}  # fmt: skip


def test_a_choice_is_a_record_and_so_is_one_that_failed_or_could_not_be_read():
    assert CODEC.decode(CODEC.encode(WHOLE)) == WHOLE
    unread = {k: v for k, v in WHOLE.items() if k not in ("log_probabilities", "tokens", "score_by_sum")}
    unread |= {"by": "letter", "answer": "?", "finish": "stop", "choice": None, "score": None}
    assert CODEC.decode(CODEC.encode(unread)) == unread
    failed = {k: v for k, v in unread.items() if k not in ("choice", "score", "answer", "finish")}
    failed |= {"failure": {"stage": "answer", "kind": "server", "reason": "down"}}
    assert CODEC.decode(CODEC.encode(failed)) == failed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gold_is": "B"}, "gold_is is B"),
        ({"choice": "F"}, "choice is F"),
        ({"choice": "B"}, "score does not fit"),
        ({"score": None}, "score does not fit"),
        ({"tokens": [1]}, "without a log-probability"),
        ({"tokens": [0] * 5}, "greater than or equal to 1"),
        ({"options": [{"text": "x", "kind": "best"}]}, "not a kind of option"),
        ({"log_probabilities": [float("nan")] * 5}, "finite"),
        ({"choice": None}, "score does not fit"),
    ],
)
def test_a_choice_whose_parts_do_not_fit_is_no_record(change, said):
    with pytest.raises(NotARecord, match=said):
        CODEC.decode(CODEC.encode(WHOLE | change))


def test_records_of_the_schema_before_are_read():
    old = {
        k: WHOLE[k]
        for k in (
            "key", "user", "split", "type", "question", "personalized_answer", "general_answer", "evidence", "persona",
            "profile", "schedule",
        )
    }  # fmt: skip
    assert CODEC.decode({"schema": 1, **old}) == old


def test_users_with_the_same_questions_are_left_out_together():
    """Pairs of users with opposite personas: from one, a classifier learns the opposite of what the other needs."""
    pairs = [
        Question("test_2", 2 * n + m, 100 * n + m, "persona", f"q{n}", "a", "b", (), None, None, None)
        for n in range(20)
        for m in range(2)
    ]
    folds = folds_of(pairs)
    assert folds[::2] == folds[1::2]
    assert len(set(folds)) == 5
    joined = [question(n, text="the same for all") for n in range(20)]
    assert len(set(folds_of(joined))) == 5, "where all share a question, each user is one"
