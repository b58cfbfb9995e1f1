"""The bundled HiCUPID set: six users, written to be read.

The files name dialogues instead of numbering them. The result is the same records, after the same checks, as from the
published files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from bowstring.benchmarks.hicupid.data import DIALOGUE_COLUMNS, QA_COLUMNS, HicupidSet, dialogue_table, qa_table
from bowstring.benchmarks.hicupid.types import Persona, Profile, Question, Schedule
from bowstring.datasets.bundled import check_splits, read_documents
from bowstring.datasets.problems import Problem, raise_if_any
from bowstring.datasets.tables import Column, Rows, rows_of
from bowstring.records import Dialogue, History, Message

NAME = "mini/hicupid"
_DIALOGUES_A_USER = 40  # ids are user_id * 40 + position, as published


def load(splits: Collection[str] = ()) -> HicupidSet:
    documents, fingerprint = read_documents(__package__)
    available = list(dict.fromkeys(d["split"] for d in documents))
    check_splits(NAME, available, splits)
    chosen = [d for d in documents if not splits or d["split"] in splits]
    histories: dict[str, list[tuple[int, History]]] = {}
    questions: dict[str, list[Question]] = {}
    for document in chosen:
        split = document["split"]
        seen = "test" if split == "test_2" else "train"
        histories.setdefault(seen, []).append((document["user_id"], _history(document)))
        questions.setdefault(split, []).extend(_questions(document))
    return HicupidSet(
        NAME,
        {s: _rows(dialogue_table(part), f"dialogue/{s}", DIALOGUE_COLUMNS) for s, part in histories.items()},
        {s: _rows(qa_table(part), f"qa/{s}", QA_COLUMNS) for s, part in questions.items()},
        fingerprint=fingerprint,
    )


def _rows(table: Any, name: str, columns: tuple[Column, ...]) -> Rows:
    problems: list[Problem] = []
    rows = rows_of({name: table}, columns, problems)
    raise_if_any(problems, "mini")
    return rows


def _history(document: dict[str, Any]) -> History:
    first = document["user_id"] * _DIALOGUES_A_USER
    return tuple(
        Dialogue(
            first + n,
            dialogue["type"],
            tuple(Message(r, (turn[r],)) for turn in dialogue["turns"] for r in ("user", "assistant")),
        )
        for n, dialogue in enumerate(document["dialogues"])
    )


def _questions(document: dict[str, Any]) -> Iterator[Question]:
    user_id, split = document["user_id"], document["split"]
    first = user_id * _DIALOGUES_A_USER
    ids = {dialogue["name"]: first + n for n, dialogue in enumerate(document["dialogues"])}
    for n, q in enumerate(document["questions"]):
        yield Question(
            split=split,
            user_id=user_id,
            question_id=first + n,
            type=q["type"],
            question=q["question"],
            personalized_answer=q["personalized_answer"],
            general_answer=q["general_answer"],
            evidence=tuple(ids[name] for name in q["evidence"]),
            persona=Persona(**q["persona"]) if "persona" in q else None,
            profile=Profile(**document["profile"]) if q["type"] == "profile" else None,
            schedule=Schedule(**q["schedule"]) if "schedule" in q else None,
        )
