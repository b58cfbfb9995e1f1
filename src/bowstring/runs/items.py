"""What a run works on: items in groups, how one becomes a record, and which requests that takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from bowstring.records import Known, Planned
from bowstring.runs.asking import Asker
from bowstring.runs.runner import Record, Work


class Items(Protocol):
    """The items of a run, how one becomes a record, and what the records come to."""

    def groups(self, limit: int | None) -> list[list[Any]]:
        """Items in the order of the data; those that share a trunk stand together."""
        ...

    def open_group(self, group: Sequence[Any], askers: Mapping[str, Asker]) -> Work[Any]:
        """What turns the items of a group into records. A role without an asker is the builtin judge's."""
        ...

    def plan(self, group: Sequence[Any], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        """The requests of a group; those whose prompts depend on answers that are not there yet, estimated."""
        ...

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        """Metrics, groups and counts; `shown` has the mean characters of history that an item saw."""
        ...

    def texts(self) -> Iterator[str]:
        """The messages of the histories, one after another."""
        ...

    def identities(self) -> dict[str, str]:
        """What else changes a result and shows only when it is opened, such as an embedder: name and identity."""
        ...

    def notes(self) -> list[str]:
        """What a reader of the results must know."""
        ...
