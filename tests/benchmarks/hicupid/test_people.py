"""HiCUPID's tasks: what is rated, by whom, and what a label is worth."""

import pytest

from bowstring.benchmarks.hicupid.people import HicupidPeople, item_of
from bowstring.benchmarks.people import NotRated

PEOPLE = HicupidPeople()
TASKS = {task.name: task for task in PEOPLE.tasks}
QUESTION = {
    "key": "0/1",
    "user": 0,
    "type": "persona",
    "question": "What?",
    "personalized_answer": "Tea.",
    "general_answer": "A drink.",
    "persona": {"category": "drink", "relation": "likes", "entity": "tea", "sentiment": "POS"},
    "profile": None,
    "schedule": None,
}


def answered(text):
    return {**QUESTION, "answer": text}


def test_an_item_is_the_very_texts_that_were_rated():
    one, same, other = map(answered, ("Coffee.", "Coffee.", "Milk."))
    assert item_of("compare", one) == item_of("compare", same | {"judgement": "whatever"})
    assert item_of("compare", one) != item_of("compare", other)
    assert item_of("personal", QUESTION) == item_of("personal", other), "no answer of a model is in it"
    assert item_of("compare", one).startswith("compare/0/1/")
    assert item_of("compare", one | {"personalized_answer": "Mate."}) != item_of("compare", one)


def test_ids_are_those_of_earlier_exports():
    """Rating files contain these ids: if they changed, people's ratings would no longer match the judges'."""
    assert item_of("compare", answered("Coffee.")) == "compare/0/1/3e1fce67eb9b"
    assert item_of("satisfaction", answered("Coffee.")) == "satisfaction/0/1/3e1fce67eb9b"
    assert item_of("personal", QUESTION) == "personal/0/1/5370b183202a"


def test_a_type_is_compared_or_satisfied():
    record = answered("Coffee.")
    schedule = record | {"type": "schedule", "persona": None, "schedule": {"datetime": "Monday", "event": "tea"}}
    assert PEOPLE.unit(TASKS["satisfaction"], record, "run") == "of type persona, which is compared"
    assert PEOPLE.unit(TASKS["compare"], schedule, "run") == "of type schedule, which is not compared"
    assert PEOPLE.unit(TASKS["compare"], QUESTION, "run") == "without an answer"
    unit = PEOPLE.unit(TASKS["compare"], record, "run")
    assert (unit.answers, unit.sources) == (("Coffee.", "Tea."), ("run", "gold answer"))
    assert unit.facts == (("drink", "The user likes tea."),)
    assert PEOPLE.unit(TASKS["satisfaction"], schedule, "run").facts == (("calendar", "Monday: tea"),)


def test_what_was_not_judged_is_counted_with_its_reason():
    raters = {"judge": "j"}
    assert list(PEOPLE.ratings(QUESTION, raters, metrics=True)) == [NotRated("compare", "j", "never judged")]
    failed = QUESTION | {"failure": {"stage": "answer", "kind": "server", "reason": "no"}, "type": "schedule"}
    assert list(PEOPLE.ratings(failed, raters, metrics=True)) == [NotRated("satisfaction", "j", "failed (answer)")]
    judged = answered("Tea, tea.") | {"judgement": "…", "verdict": None, "swapped_verdict": "win"}
    found = list(PEOPLE.ratings(judged, raters, metrics=True))
    assert [(r.rater, r.label) for r in found[:2]] == [("j", None), ("j, sides swapped", "win")]
    assert tuple(r.rater for r in found[2:]) == PEOPLE.metric_raters
    assert {r.item for r in found} == {item_of("compare", judged)}


def test_an_answer_without_a_verdict_is_an_item_and_a_failed_answer_is_none():
    judge_failed = answered("Tea.") | {"failure": {"stage": "judge", "kind": "server", "reason": "no"}}
    unread = answered("Tea.") | {"judgement": "…", "verdict": None, "score": None}
    read = answered("Tea.") | {"judgement": "…", "verdict": "win", "score": 1.0}
    for record, score in ((judge_failed, None), (unread, None), (read, 1.0)):
        (found,) = PEOPLE.judged_scores(record)
        assert (found.component, found.item, found.score) == ("persona", item_of("compare", record), score)
    failed = QUESTION | {"failure": {"stage": "answer", "kind": "server", "reason": "no"}}
    assert list(PEOPLE.judged_scores(failed)) == []


@pytest.mark.parametrize(
    ("task", "label", "score"),
    [
        ("compare", "win", 1.0),
        ("compare", "Tie", 0.5),
        ("compare", "yes", None),
        ("satisfaction", "NO", 0.0),
        ("satisfaction", "tie", None),
    ],
)
def test_a_label_is_worth_what_the_judges_verdict_is(task, label, score):
    assert PEOPLE.score_of(TASKS[task], label) == score
