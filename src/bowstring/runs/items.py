"""The items of a run: how they are grouped, how one becomes a record, and which requests that takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from bowstring.records import Known, Planned
from bowstring.runs.asking import Asker
from bowstring.runs.runner import Record, Work


class Items(Protocol):
    """The items of a run, how one becomes a record, and how records are summarized."""

    def groups(self, limit: int | None) -> list[list[Any]]:
        """Return items in data order; items that share a trunk are in one group."""
        ...

    def open_group(self, group: Sequence[Any], askers: Mapping[str, Asker]) -> Work[Any]:
        """Return the function that turns the items of a group into records. A role without an asker uses the builtin
        judge."""
        ...

    def plan(self, group: Sequence[Any], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        """Yield the requests of a group; those that depend on answers that do not exist yet are estimated."""
        ...

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        """Return metrics, groups and counts; `shown` has the mean characters of history per item."""
        ...

    def texts(self) -> Iterator[str]:
        """Yield the messages of the histories, one after another."""
        ...

    def identities(self) -> dict[str, str]:
        """Return further identities that affect results, such as an embedder's: name and identity."""
        ...

    def notes(self) -> list[str]:
        """Return notes that a reader of the results must know."""
        ...
