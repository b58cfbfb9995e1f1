"""What every benchmark says of itself, so that one evaluation can run any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bowstring.records import Prompt, Sampling
from bowstring.runs.asking import Asker
from bowstring.runs.runner import Record, Work


@dataclass(frozen=True, slots=True)
class Planned:
    """A request that a run would make: of which role, and about how long its answer is. `estimated` where the
    prompt depends on answers that are not there yet."""

    role: str
    prompt: Prompt
    sampling: Sampling
    answer_tokens: int
    estimated: bool = False


class Benchmark(Protocol):
    """The items of a run, how one becomes a record, and what the records come to."""

    def groups(self, limit: int | None) -> list[list[Any]]:
        """Items in the order of the data, those together that share a trunk."""
        ...

    def open_group(self, group: Sequence[Any], askers: Mapping[str, Asker]) -> Work[Any]:
        """What turns the items of a group into records. A role without an asker is the builtin judge's."""
        ...

    def plan(self, group: Sequence[Any], roles: Sequence[str]) -> Iterator[Planned]: ...

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]: ...

    def notes(self) -> list[str]:
        """What a reader of the results must know."""
        ...
