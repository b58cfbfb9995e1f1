"""The bundled mini sets: six HiCUPID users and four CUPID personas, written to be read.

One YAML file a user or persona. They name dialogues and sessions instead of numbering them; what comes out
is the same records, through the same checks, as from the published files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from importlib.resources import files
from typing import Any

import yaml

from bowstring.datasets.cupid import CupidSet, InstanceRow, to_record
from bowstring.datasets.hicupid import (
    DIALOGUE_COLUMNS,
    QA_COLUMNS,
    HicupidSet,
    dialogue_table,
    qa_table,
)
from bowstring.datasets.layout import Benchmark
from bowstring.datasets.problems import Problem, one_of, raise_if_any
from bowstring.datasets.tables import Column, Rows, rows_of
from bowstring.errors import MissingSplit
from bowstring.records import Dialogue, History, Instance, Message, Persona, Profile, Question, Schedule

_DIALOGUES_A_USER = 40  # published ids are user_id * 40 + position, and so are ours


def load(benchmark: Benchmark, splits: Collection[str] = ()) -> HicupidSet | CupidSet:
    if benchmark == "cupid":
        _check_splits("mini/cupid", ["test"], splits)
        documents, fingerprint = _documents("cupid")
        return CupidSet("mini/cupid", (i for d in documents for i in _instances(d)), fingerprint=fingerprint)
    return _load_hicupid(splits)


def _documents(folder: str) -> tuple[list[dict[str, Any]], str]:
    whole = hashlib.sha256()
    documents = []
    entries = (files(__package__) / folder).iterdir()
    for entry in sorted((e for e in entries if e.name.endswith(".yaml")), key=lambda e: e.name):
        content = entry.read_bytes()
        whole.update(content)
        documents.append(yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506
    return documents, whole.hexdigest()


def _instances(document: dict[str, Any]) -> Iterator[Instance]:
    sessions = {
        name: session
        | {"dialogue": [{"role": r, "content": c} for turn in session["dialogue"] for r, c in turn.items()]}
        for name, session in document["sessions"].items()
    }
    for instance_type, names in document["instances"].items():
        prior = [sessions[name] for name in names]
        row = document | {"instance_type": instance_type, "prior_interactions": prior}
        yield to_record(InstanceRow.model_validate(row))


def _load_hicupid(splits: Collection[str]) -> HicupidSet:
    documents, fingerprint = _documents("hicupid")
    available = list(dict.fromkeys(d["split"] for d in documents))
    _check_splits("mini/hicupid", available, splits)
    chosen = [d for d in documents if not splits or d["split"] in splits]
    histories: dict[str, list[tuple[int, History]]] = {}
    questions: dict[str, list[Question]] = {}
    for document in chosen:
        split = document["split"]
        seen = "test" if split == "test_2" else "train"
        histories.setdefault(seen, []).append((document["user_id"], _history(document)))
        questions.setdefault(split, []).extend(_questions(document))
    return HicupidSet(
        "mini/hicupid",
        {s: _rows(dialogue_table(part), f"dialogue/{s}", DIALOGUE_COLUMNS) for s, part in histories.items()},
        {s: _rows(qa_table(part), f"qa/{s}", QA_COLUMNS) for s, part in questions.items()},
        fingerprint=fingerprint,
    )


def _check_splits(name: str, available: Sequence[str], splits: Collection[str]) -> None:
    for split in splits:
        if split not in available:
            raise MissingSplit(f"{name} has no split {split!r}; it has {one_of(available)}", available)


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
