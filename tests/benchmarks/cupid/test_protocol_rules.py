"""The rule that is named for a difference is the one that made it."""

import json

import pytest

from bowstring.benchmarks.cupid.protocol_rules import differences
from bowstring.benchmarks.cupid.published import outcome
from bowstring.judging.sections import read_rating

GOLD = ["Is it dry?", "Is it new?"]
ANSWER = "Fine.\n### Most Likely Preference\nBrief."


def checklist(*items) -> str:
    return json.dumps({"checklist": items})


def labels(*names) -> str:
    return json.dumps({"results": [{"index": n, "entry": "", "label": name} for n, name in enumerate(names, 1)]})


COVERED = labels("Fully Covered", "Not Covered")
USUAL = {
    "response": ANSWER,
    "preference": "Brief.",
    "decomposition": checklist("Is it brief?", "Is it blue?"),
    "checklist": ["Is it brief?", "Is it blue?"],
    "transcripts": {"precision": COVERED, "recall": COVERED},
}
READ = {"precision": [1.0, 0.0], "recall": [1.0, 0.0]}
MATCH = {"unparsed": "match"}


def rules(task: str, found: dict) -> list[str]:
    record = {"checklist": GOLD, task: found}
    return differences(record | {"published": outcome(record, [task]).as_json()})


def matched(precision: str, recall: str = COVERED) -> dict:
    return {"transcripts": {"precision": precision, "recall": recall}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (READ, []),
        (
            {"response": f"{ANSWER}\n### Most Likely Preference\nOther", "why": "by our rules it is another preference"}
            | MATCH,
            ["the preference is read in another way"],
        ),
        (
            {"decomposition": checklist(*"abcde"), "checklist": [*"abcde"]} | MATCH,
            ["the checklist is read in another way"],
        ),
        (
            {"decomposition": checklist("\ud83d?"), "checklist": ["\ud83d?"], "transcripts": {}} | MATCH,
            ["a checklist that cannot be sent counts as not covered"],
        ),
        (matched("no labels") | MATCH, ["labels that cannot be read count as not covered"]),
        (matched(labels("Fully Covered")) | MATCH, ["labels that our rules cannot read are added up"]),
        (
            {"transcripts": {"precision": COVERED}, "failure": {"stage": "match", "kind": "server", "reason": "down"}},
            ["a request for labels that failed counts as not covered"],
        ),
        (matched(labels("fully covered", "Not Covered")) | READ, ["labels in other words count as not covered"]),
        (matched(f"Sure: {COVERED}") | READ, ["labels that cannot be read count as not covered"]),
        (
            matched(f"```json\n{labels('Not Covered', 'Not Covered')}\n```\nor, better:```json\n{COVERED}\n```") | READ,
            ["labels are read in another way"],
        ),
        (
            matched(f"Sure: {COVERED}") | READ | {"first": {"precision": "no labels"}},
            ["nothing is asked for again"],
        ),
    ],
)
def test_rules_of_an_inference(changes, expected):
    assert rules("inference", USUAL | changes) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("### Evaluation Score\n7", []),
        ("### Evaluation Score\n7.5", ["a score is cut at its point"]),
        ("### Evaluation Score\n85", ["a score has no limits"]),
        ("### Evaluation Score\n0", ["a score has no limits"]),
        ("### Evaluation Score\n1_0", ["a score is read in another way"]),
        ("### Evaluation Score\n3\n### Evaluation Score\n9", ["a score is read in another way"]),
        ("### Evaluation Score\nScore: 7", ["a score in other words counts 0"]),
        ("## Evaluation Score\n7", ["a score under another heading counts 0"]),
        ("Evaluation Score: 7", ["a score under another heading counts 0"]),
        ("### Evaluation Score\nseven", ["a score that cannot be read counts 0"]),
        (None, ["a request for a score that failed counts 0"]),
    ],
)
def test_rules_of_a_score(said, expected):
    found = {"response": "Hello."} | ({} if said is None else {"judgement": said, "score": read_rating(said)})
    assert rules("generation", found) == expected
