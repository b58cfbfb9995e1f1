"""Repeated answers and judgements: every item answered K times, every answer judged J times.

Each repetition is a record of its own. The first answer with its first judgement is the record that a run without
repetitions has, from the same requests; the others differ in the sample number, which is part of the seed and of the
request key. An answer is asked for once, however often it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from bowstring.records import MODEL_ROLE, REPEAT, STAGE_ROLE, Sampling
from bowstring.runs.asking import collecting_sources
from bowstring.runs.runner import Record, Work


class Repeat(NamedTuple):
    answer: int = 0
    judgement: int = 0

    def sample(self, role: str) -> int:
        """Return the sample number of requests to a role."""
        return self.answer if role == MODEL_ROLE else 0 if role == STAGE_ROLE else self.judgement


class Repeated(NamedTuple):
    item: Any
    repeat: Repeat


_current: ContextVar[Repeat] = ContextVar("repeat", default=Repeat())  # noqa: B039 (a named tuple does not change)


def as_repeated(role: str, sampling: Sampling) -> Sampling:
    """Return the settings of a request to a role, for the record that is being made."""
    return sampling.again(_current.get().sample(role))


def repeats_of(answers: int, judgements: int) -> list[Repeat]:
    return [Repeat(a, j) for a in range(answers) for j in range(judgements)]


def open_repeated(
    open_group: Callable[[Sequence[Any]], Work[Any]],
) -> Callable[[Sequence[Repeated]], Work[Repeated]]:
    """Return a function that opens a group of repeated items; the group itself is opened once."""

    def open_items(group: Sequence[Repeated]) -> Work[Repeated]:
        work = open_group([one.item for one in group if one.repeat == Repeat()])

        async def make_record(one: Repeated) -> Record:
            _current.set(one.repeat)  # each record is made in a task of its own
            with collecting_sources() as sources:
                record = await work(one.item)
            record["sources"] = sorted(sources, key=lambda source: (source["role"], source["key"]))
            return _marked(record, one.repeat)

        return make_record

    return open_items


def _marked(record: Record, repeat: Repeat) -> Record:
    if repeat == Repeat():
        return record
    number = f"#{repeat.answer + 1}" + (f".{repeat.judgement + 1}" if repeat.judgement else "")
    said = {"of": record["key"], "answer": repeat.answer + 1, "judgement": repeat.judgement + 1}
    return record | {"key": f"{record['key']}{number}", REPEAT: said}
