"""The labelled answers are well formed, balanced, and different from each other, and the halves share no subject."""

import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]

FOLDER = Path(__file__).parent / "answers"
HALVES = {"development": "dev", "sealed": "sealed"}
KEYS = [
    *("id", "type", "question", "persona", "field", "profile", "schedule", "clash"),
    *("personalized_answer", "general_answer", "answer", "right", "kind", "why"),
]
PERSONA = {"category", "relation", "entity", "sentiment"}
PROFILE = {"age", "gender", "personality", "occupation", "income_range"}
SCHEDULE = {"datetime", "event"}
# (type, sentiment, clash) -> answers; half of each are right
COMPOSITION = {
    ("persona", "POS", False): 60,
    ("persona", "NEG", False): 60,
    ("profile", "POS", False): 24,
    ("profile", "NEG", False): 16,
    ("schedule", None, True): 30,
    ("schedule", None, False): 10,
}


def rows(half: str) -> list[Row]:
    return [json.loads(line) for line in (FOLDER / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()]


def sentiment(row: Row) -> str | None:
    return row["persona"]["sentiment"] if row["persona"] else None


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


def five_grams(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[at : at + 5]) for at in range(len(found) - 4)}


@pytest.mark.parametrize("half", HALVES)
def test_rows_have_the_documented_format(half):
    for number, row in enumerate(rows(half), 1):
        assert list(row) == KEYS, row["id"]
        assert row["id"] == f"{HALVES[half]}-{number:03d}"
        assert isinstance(row["right"], bool)
        assert isinstance(row["clash"], bool)
        for key in ("question", "personalized_answer", "general_answer", "kind", "why"):
            assert row[key] == row[key].strip() != "", (row["id"], key)
        assert 8 <= len(row["answer"].split()) <= 60, row["id"]
        assert (row["persona"] is None) == (row["field"] is None) == (row["type"] == "schedule"), row["id"]
        assert (row["profile"] is not None) == (row["type"] == "profile"), row["id"]
        assert (row["schedule"] is not None) == (row["type"] == "schedule"), row["id"]
        for key, keys in (("persona", PERSONA), ("profile", PROFILE), ("schedule", SCHEDULE)):
            assert row[key] is None or (set(row[key]) == keys and all(row[key].values())), (row["id"], key)


@pytest.mark.parametrize("half", HALVES)
def test_a_field_has_the_entity_among_five_to_eight_subjects_with_cues(half):
    for row in rows(half):
        if row["field"] is not None:
            assert row["persona"]["entity"] in row["field"], row["id"]
            assert 5 <= len(row["field"]) <= 8, row["id"]
            assert all(2 <= len(cues) <= 3 for cues in row["field"].values()), row["id"]


@pytest.mark.parametrize("half", HALVES)
def test_half_of_the_answers_of_every_group_are_right(half):
    found = rows(half)
    assert Counter((r["type"], sentiment(r), r["clash"]) for r in found) == COMPOSITION
    right = Counter((r["type"], sentiment(r), r["clash"]) for r in found if r["right"])
    assert right == {group: n // 2 for group, n in COMPOSITION.items()}


@pytest.mark.parametrize("half", HALVES)
def test_the_length_of_an_answer_hardly_gives_its_label_away(half):
    """The best threshold on the number of words finds at most 65% of the labels; chance is 50%."""
    found = [(len(r["answer"].split()), r["right"]) for r in rows(half)]
    for limit in range(8, 61):
        correct = sum((n >= limit) == right for n, right in found)
        assert 70 <= correct <= 130, limit


@pytest.mark.parametrize("half", HALVES)
def test_a_question_names_neither_the_subject_nor_the_appointment(half):
    for row in rows(half):
        known = row["persona"]["entity"] if row["persona"] else row["schedule"]["event"]
        assert known.lower() not in row["question"].lower(), row["id"]


def test_the_halves_share_no_subject_appointment_question_or_field():
    development, sealed = rows("development"), rows("sealed")
    for of in (
        lambda r: {subject.lower() for subject in r["field"] or ()},
        lambda r: {cue.lower() for cues in (r["field"] or {}).values() for cue in cues},
        lambda r: {r["schedule"]["event"].lower()} if r["schedule"] else set(),
        lambda r: {r["question"], r["personalized_answer"], r["general_answer"]},
    ):
        shared = set().union(*map(of, development)) & set().union(*map(of, sealed))
        assert not shared


def test_no_two_answers_share_more_than_half_of_their_five_grams():
    found = rows("development") + rows("sealed")
    assert len({r["answer"].lower() for r in found}) == len(found)
    grams = {r["id"]: five_grams(r["answer"]) for r in found}
    for a, b in combinations(grams, 2):
        assert 2 * len(grams[a] & grams[b]) <= min(len(grams[a]), len(grams[b])), (a, b)


def test_no_answer_repeats_a_reference():
    for row in rows("development") + rows("sealed"):
        grams = five_grams(row["answer"])
        for reference in ("personalized_answer", "general_answer"):
            assert 2 * len(grams & five_grams(row[reference])) <= len(grams), (row["id"], reference)
