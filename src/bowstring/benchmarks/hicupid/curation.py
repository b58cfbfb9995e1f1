"""Curation of a HiCUPID set by people: questions with their answers, and the dialogues that an answer depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bowstring.benchmarks.hicupid.data import HicupidSet, dialogue_table, qa_table
from bowstring.benchmarks.hicupid.people import facts_of
from bowstring.benchmarks.hicupid.types import Question
from bowstring.benchmarks.people import Turns, Unit, legible, turns_of
from bowstring.datasets.dataset import DataSet
from bowstring.records import fields_of

_FIELDS = ("question", "personalized_answer", "general_answer")


class HicupidCuration:
    def units(self, data: DataSet) -> Iterator[Unit]:
        assert isinstance(data, HicupidSet)
        user, dialogues = None, {}
        for question in data.questions():
            if question.user_id != user:
                user, dialogues = question.user_id, {d.id: turns_of(d) for d in data.history(question.user_id)}
            yield _unit(question, dialogues)

    def write(self, data: DataSet, edits: Mapping[str, Mapping[str, str]], folder: Path) -> None:
        assert isinstance(data, HicupidSet)
        users: set[int] = set()
        for split in data.splits:
            questions = [_edited(q, edits[q.key]) for q in data.questions(split) if q.key in edits]
            users.update(q.user_id for q in questions)
            if questions:
                path = folder / "qa" / f"{split}.parquet"
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(qa_table(questions), path)
        by_split: dict[str, list[int]] = {}
        for user in (u for u in data.user_ids if u in users):
            by_split.setdefault(data.dialogue_split(user), []).append(user)
        (folder / "dialogue").mkdir(parents=True)
        for split, members in by_split.items():
            table = dialogue_table((u, data.history(u)) for u in members)
            pq.write_table(table, folder / "dialogue" / f"{split}.parquet")


def _edited(question: Question, texts: Mapping[str, str]) -> Question:
    changes: dict[str, Any] = dict(texts)
    return replace(question, **changes)


def _unit(question: Question, dialogues: Mapping[int, Turns]) -> Unit:
    known = {n: fields_of(part) if (part := getattr(question, n)) else None for n in ("persona", "profile", "schedule")}
    return Unit(
        ids=(question.key,),
        key=question.key,
        cluster=str(question.user_id),
        type=question.type,
        facts=tuple(facts_of(known)),
        asked="",
        answers=(),
        dialogues=tuple(dialogues[n] for n in question.evidence),
        fields=tuple((name, legible(getattr(question, name))) for name in _FIELDS),
    )
