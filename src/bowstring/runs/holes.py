"""Holes: what --no-ask finds missing in the store, in words, with the command that fills it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bowstring.files.escaping import one_line
from bowstring.runs.shards import Shard, shards_with

_NAMED = 5  # users, and shards, that are named


@dataclass(frozen=True, slots=True)
class Holes:
    """`requests` has how many are missing by role; those that depend on them are not known. `whose` has the clusters
    that lack some, such as users; `clusters` is the word for them."""

    store: Path
    requests: Mapping[str, int]
    whose: Sequence[str]
    clusters: str

    def in_words(self, part: Shard | None, shards: int | None) -> str:
        """Return the error of a command for this part of the items; `shards` is how many there are, if that is
        known."""
        n = sum(self.requests.values())
        roles = ", ".join(f"{role} {count:,}" for role, count in self.requests.items())
        are = "1 request is" if n == 1 else f"{n:,} requests are"
        found = f"--no-ask: {are} not in {self.store} ({roles}), apart from those that depend on them"
        whose = f"; of the {self.clusters} {_listed(self.whose)}" if self.whose else ""
        return f"{found}{whose}; {self._way_out(part, shards)}"

    def _way_out(self, part: Shard | None, shards: int | None) -> str:
        if part is not None:
            return "the same command without --no-ask asks for them"
        if shards is None or not self.whose:
            return "the same command without --no-ask asks for them, or with --shard in its place"
        numbers = _listed([f"--shard {shard}" for shard in shards_with(self.whose, shards)])
        return f"the same command with {numbers} in place of --no-ask asks for them"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name)[:40] for name in names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED:,} more"
