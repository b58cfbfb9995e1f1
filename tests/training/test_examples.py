"""Training examples of assistants, for both benchmarks."""

from dataclasses import replace

import pytest

from bowstring.api.train import train
from bowstring.benchmarks.cupid.benchmark import CUPID
from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.training import cupid_examples
from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.hicupid.choosing.choices import option_source
from bowstring.benchmarks.hicupid.choosing.options import OUTCOMES
from bowstring.benchmarks.hicupid.training import hicupid_examples
from bowstring.benchmarks.loading import load_cupid, load_hicupid
from bowstring.errors import UsageError
from bowstring.training.examples import Example
from bowstring.training.settings import settings_for
from tests.support.training import small


@pytest.fixture(scope="module")
def cupid():
    return load_cupid("mini")


def of_cupid(cupid, method: str, **given) -> list[Example]:
    examples = cupid_examples(cupid, settings_for(method, **given), CUPID.prompts())
    return [example for group in examples.groups() for example in group]


def of_hicupid(users, method: str, **given) -> list[list[Example]]:
    data = load_hicupid(str(users), splits=["train"])
    return [list(group) for group in hicupid_examples(data, settings_for(method, **given), HICUPID.prompts()).groups()]


def text(example: Example) -> str:
    return "\n".join(message.text for message in example.prompt.messages)


def said(dialogue) -> str:
    return dialogue.messages[-1].text


def test_a_cupid_answer_is_the_gold_preference_under_its_heading_behind_the_log(cupid):
    found = {example.key: example for example in of_cupid(cupid, "sft")}
    assert found.keys() == {instance.key for instance in cupid.instances}
    for instance in cupid.instances:
        example = found[instance.key]
        assert example.answer == f"### Most Likely Preference\n\n{instance.preference}"
        assert example.owner == instance.persona_id
        assert not example.rejected
        places = [text(example).index(said(s.dialogue)) for s in instance.sessions]
        assert places == sorted(places)
        assert instance.request in text(example)[places[-1] :]


def test_with_gold_history_a_cupid_prompt_has_only_the_sessions_of_its_context(cupid):
    for instance, example in zip(cupid.instances, of_cupid(cupid, "sft", history="gold"), strict=True):
        shown = [s.dialogue.id for s in instance.sessions if said(s.dialogue) in text(example)]
        assert set(shown) == set(instance.evidence)
        assert len(shown) < len(instance.sessions)


def test_a_cupid_pair_is_the_reply_that_satisfied_and_the_first_behind_the_sessions_before(cupid):
    by_key = {instance.key: instance for instance in cupid.instances}
    pairs = of_cupid(cupid, "dpo")
    for pair in pairs:
        key, _, number = pair.key.rpartition("/")
        n = int(number) - 1
        sessions = by_key[key].sessions
        replies = [m.text for m in sessions[n].dialogue.messages if m.role == "assistant"]
        assert (pair.answer, pair.rejected) == (replies[-1], (replies[0],))
        assert pair.answer not in pair.rejected
        before = [said(s.dialogue) in text(pair) for s in sessions]
        assert all(before[:n])
        assert not any(before[n:])
        assert sessions[n].dialogue.messages[0].text in text(pair)
        assert pair.owner == by_key[key].persona_id


def test_a_session_that_was_not_closed_or_ran_to_its_limit_is_no_pair(cupid):
    """No user message says that the last reply was satisfactory."""
    first = cupid.instances[0]
    good, session, *_ = [s for s in first.sessions if sum(m.role == "assistant" for m in s.dialogue.messages) > 1]
    said = session.dialogue.messages
    for messages, pairs in ((said, 2), (said[:-1], 1), (said[:2] * 15 + said, 1)):
        changed = replace(session, dialogue=replace(session.dialogue, messages=messages))
        assert len(of_cupid(CupidSet("x", [replace(first, sessions=(good, changed))]), "dpo")) == pairs


def test_a_session_that_instances_share_is_one_pair(cupid):
    pairs = of_cupid(cupid, "dpo")
    unique = {(text(pair), pair.answer, pair.rejected) for pair in pairs}
    assert len(unique) == len(pairs) == len({pair.key for pair in pairs})
    sessions = {(i.persona_id, s.dialogue.messages) for i in cupid.instances for s in i.sessions}
    assert len(pairs) >= len({key for key in sessions if sum(m.role == "assistant" for m in key[1]) > 1})
    assert len(pairs) < sum(len(i.sessions) for i in cupid.instances)


def test_hicupid_answers_are_the_personalized_ones_rather_than_the_general(users):
    questions = {q.key: q for q in load_hicupid(str(users), splits=["train"]).questions()}
    for method in ("sft", "dpo"):
        found = [example for group in of_hicupid(users, method) for example in group]
        assert {example.key for example in found} == questions.keys()
        for example in found:
            question = questions[example.key]
            assert example.answer == question.personalized_answer
            assert example.rejected == ((question.general_answer,) if method == "dpo" else ())
            assert example.prompt.messages[-1].text == question.question


@pytest.mark.parametrize(
    ("kinds", "rejected"),
    [
        (("wrong_side",), {"wrong_side"}),
        (("wrong_side", "general"), {"wrong_side", "general"}),
        (("wrong",), set(OUTCOMES) - {"gold", "general"}),
    ],
)
def test_rejected_answers_are_the_options_of_these_kinds(users, kinds, rejected):
    data = load_hicupid(str(users), splits=["train"])
    options = option_source(str(users), list(data.questions()))
    wanted = {
        q.key: {one.text for one in options.of(q) if one.kind in rejected}
        for q in data.questions()
        if any(one.kind in rejected for one in options.of(q))
    }
    made = hicupid_examples(data, settings_for("dpo", rejected=kinds), HICUPID.prompts())
    assert {e.key: set(e.rejected) for group in made.groups() for e in group} == wanted
    left_out = len(list(data.questions())) - len(wanted)
    assert [note for note in made.notes if note.startswith("left out")] == (
        [f"left out {left_out} questions that have no answer to reject ({', '.join(kinds)})"] if left_out else []
    )


def test_cupid_has_no_other_answers_to_reject(cupid):
    with pytest.raises(UsageError, match="--rejected does not apply to CUPID"):
        of_cupid(cupid, "dpo", rejected=("wrong",))


def test_a_kind_of_answer_that_does_not_exist_is_an_error(users):
    data = load_hicupid(str(users), splits=["train"])
    for kinds, types, said in (
        (("wrong_way",), (), "--rejected wrong_way: expected general, books_over"),
        (("wrong_side",), ("schedule",), r"no question has such an answer; these questions have books_over \(\d+\)"),
        ((), (), "--rejected needs at least one kind"),
    ):
        with pytest.raises(UsageError, match=said):
            hicupid_examples(data, settings_for("dpo", rejected=kinds, types=types), HICUPID.prompts())


def test_with_gold_history_a_question_sees_its_evidence_and_nothing_else(users):
    data = load_hicupid(str(users), splits=["train"])
    questions = {q.key: q for q in data.questions()}
    for example in (example for group in of_hicupid(users, "sft", history="gold") for example in group):
        question = questions[example.key]
        shown = {d.id for d in data.history(question.user_id) if said(d) in text(example)}
        assert shown == set(question.evidence)


@pytest.mark.parametrize("seed", range(4))
def test_dialogues_are_left_out_that_no_question_of_the_pack_needs(users, seed):
    data = load_hicupid(str(users), splits=["train"])
    questions = {q.key: q for q in data.questions()}
    lots = of_hicupid(users, "sft", drop_irrelevant=1, branches=1, seed=seed)
    assert sorted(example.key for lot in lots for example in lot) == sorted(questions)
    left_out = 0
    for lot in lots:
        assert len(lot) == 1
        question = questions[lot[0].key]
        gone = [d for d in data.history(question.user_id) if said(d) not in text(lot[0])]
        assert not {d.id for d in gone} & set(question.evidence)
        assert {d.kind for d in gone} <= {"persona"}
        assert len(gone) <= 1
        left_out += len(gone)
    assert left_out


def test_the_questions_of_a_pack_share_their_trunk(users):
    for group in of_hicupid(users, "sft"):
        assert len({example.prompt.trunk.digest for example in group}) == 1
        assert len({example.owner for example in group}) == 1


def test_only_the_train_split_is_trained_on_unless_another_is_named(folder, users, tmp_path):
    default = small("sft", folder, users, tmp_path / "a", epochs=0.1)
    assert default.record["counts"]["examples"] == len(list(load_hicupid(str(users), splits=["train"]).questions()))
    named = small("sft", folder, users, tmp_path / "b", epochs=0.1, splits=("test_1",))
    assert named.record["counts"]["examples"] == len(list(load_hicupid(str(users), splits=["test_1"]).questions()))


@pytest.mark.parametrize(
    ("data", "given", "message"),
    [
        (
            "mini/cupid",
            {"splits": ("test",), "drop_irrelevant": 2},
            "--drop-irrelevant does not apply to CUPID; try --history gold",
        ),
        ("mini/cupid", {"splits": ("test",), "instruction": "user"}, "--instruction does not apply to CUPID"),
        ("mini/cupid", {"splits": ("test",), "types": ("persona",)}, "persona"),
        ("mini/hicupid", {"splits": ("test_1",), "types": ("changing",)}, "changing"),
        ("mini/hicupid", {"splits": ("train",)}, "mini/hicupid has no split 'train'; it has test_1 or test_2"),
        ("mini/hicupid", {"splits": ("test_1",), "history": "summary"}, "--history summary: expected full, gold"),
        ("mini/hicupid", {"history": "gold", "drop_irrelevant": 2}, "--drop-irrelevant needs --history full"),
    ],
)
def test_what_a_benchmark_does_not_have_is_refused(data, given, message, folder, tmp_path):
    with pytest.raises(UsageError, match=message):
        train("sft", data=data, model=str(folder), out=tmp_path / "a", **given)


@pytest.mark.parametrize(("method", "more"), [("dpo", {}), ("sft", {"task": "generation"})])
def test_answers_of_cupid_have_all_earlier_sessions_before_them_or_those_of_their_context(cupid, method, more):
    with pytest.raises(UsageError, match="CUPID answers need all earlier sessions"):
        of_cupid(cupid, method, history="last:2", **more)
    by_key = {instance.key: instance for instance in cupid.instances}
    found = of_cupid(cupid, method, history="gold", **more)
    assert found
    for example in found:
        key, _, number = example.key.rpartition("/")
        *before, session = by_key[key].sessions[: int(number)]
        shown = [said(s.dialogue) in text(example) for s in before]
        assert shown == [s.context_factor == session.context_factor for s in before]
        assert any((s.context_factor, s.preference) == (session.context_factor, session.preference) for s in before)


def test_sft_on_cupid_trains_preferences_or_answers_or_both(cupid):
    answers = of_cupid(cupid, "sft", task="generation")
    assert answers
    assert not any(answer.rejected for answer in answers)
    accepted = {s.dialogue.messages[-2].text for i in cupid.instances for s in i.sessions}
    assert {answer.answer for answer in answers} <= accepted
    preferences = of_cupid(cupid, "sft")
    both = of_cupid(cupid, "sft", task="both")
    assert [one.key for one in both] == [one.key for one in (*preferences, *answers)]
    assert [one.answer for one in both] == [one.answer for one in (*preferences, *answers)]
    with pytest.raises(UsageError, match="--task does not apply to HiCUPID"):
        train("sft", data="mini/hicupid", splits=("test_1",), task="both", out="unused")
