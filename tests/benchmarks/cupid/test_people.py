"""CUPID's tasks: what is rated, by whom, and what a label is worth."""

import pytest

from bowstring.benchmarks.cupid.people import CupidPeople, covered_item, rated_item
from bowstring.benchmarks.people import NotRated

PEOPLE = CupidPeople()
TASKS = {task.name: task for task in PEOPLE.tasks}
RECORD = {
    "key": "p+changing",
    "persona": "p",
    "type": "changing",
    "request": "Write.",
    "preference": "Short.",
    "checklist": ["Is it short?", "Is it blue?"],
    "generation": {"response": "Here."},
    "inference": {"preference": "Long.", "checklist": ["Is it long?"]},
}


def test_an_item_is_the_very_texts_that_were_rated():
    ids = [covered_item(RECORD, "recall", n) for n in (0, 1)]
    ids += [covered_item(RECORD, "precision", 0), rated_item(RECORD)]
    assert len(set(ids)) == 4
    assert ids[1].startswith("coverage/p+changing/recall/1/")


def test_ids_are_those_of_earlier_exports():
    """Rating files contain these ids: if they changed, people's ratings would no longer match the judges'."""
    assert rated_item(RECORD) == "rate/p+changing/fcabaf9dbfd0"
    assert covered_item(RECORD, "recall", 1) == "coverage/p+changing/recall/1/f79036b4ea02"
    assert covered_item(RECORD, "precision", 0) == "coverage/p+changing/precision/0/518ddc4cd7bf"


def test_the_judge_rates_and_the_matcher_covers():
    raters = {"judge": "j", "matcher": "m"}
    judged = RECORD | {
        "generation": {"response": "Here.", "judgement": "…", "score": 7.5},
        "inference": RECORD["inference"] | {"precision": [1.0], "recall": [0.5, 0.0]},
    }
    found = [(r.task, r.rater, r.label) for r in PEOPLE.ratings(judged, raters, metrics=False)]
    assert found == [
        ("rate", "j", "7.5"),
        ("coverage", "m", "Fully Covered"),
        ("coverage", "m", "Partially Covered"),
        ("coverage", "m", "Not Covered"),
    ]
    failed = {"failure": {"stage": "judge", "kind": "server", "reason": "no"}}
    lost = RECORD | {"generation": failed, "inference": {"unparsed": "match"}}
    assert list(PEOPLE.ratings(lost, raters, metrics=False)) == [
        NotRated("rate", "j", "failed (judge)"),
        NotRated("coverage", "m", "unparsed (match)"),
    ]


def judged_scores(generation, inference):
    record = RECORD | {"generation": generation, "inference": inference}
    return [(one.component, one.score) for one in PEOPLE.judged_scores(record)]


def test_what_the_judge_left_unread_is_an_item_if_people_can_rate_it():
    generation, inference = RECORD["generation"], RECORD["inference"]
    read = inference | {"precision": [1.0], "recall": [0.5, 0.0]}
    assert judged_scores(generation | {"score": 7.5}, read) == [("x", 7.5), ("p", 1.0), ("r", 0.5), ("r", 0.0)]
    unread = [("x", None), ("p", None), ("r", None), ("r", None)]
    assert judged_scores(generation | {"score": None}, inference | {"unparsed": "match"}) == unread
    without_checklist = {"preference": "Long.", "unparsed": "checklist"}
    assert judged_scores(generation, without_checklist) == [("x", None), ("r", None), ("r", None)]
    failed = {"failure": {"stage": "answer", "kind": "server", "reason": "no"}}
    assert judged_scores(failed, {"unparsed": "preference", "response": "…"}) == []


@pytest.mark.parametrize(
    ("task", "label", "score"),
    [
        ("rate", "7.5", 7.5),
        ("rate", "11", None),
        ("rate", "high", None),
        ("coverage", "Partially Covered", 0.5),
        ("coverage", "partially covered", None),
    ],
)
def test_a_label_is_worth_what_the_judges_score_is(task, label, score):
    assert PEOPLE.score_of(TASKS[task], label) == score
