"""Merge stores: add the responses of other stores to one, and the embeddings beside them to those beside it.

merged = merge(Path("runs/responses.sqlite"), [Path("other/responses.sqlite")])
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bowstring.errors import UsageError
from bowstring.history.stages.vectors import VECTORS_NAME, VectorStore
from bowstring.runs.rows import COLUMNS, Row
from bowstring.runs.salvage import is_trunk
from bowstring.runs.store import Store
from bowstring.runs.stored import opened_store

_TRUNK = COLUMNS.index("trunk")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two stores have different responses to one request; the first store's is kept."""

    key: str
    model: str
    store: str


@dataclass(slots=True)
class Merged:
    """What became of the responses of other stores."""

    added: int = 0
    without_prompt: int = 0  # not added: their prompt is missing or damaged
    conflicts: list[Conflict] = field(default_factory=list)


def merge(path: Path, others: Sequence[Path]) -> Merged:
    """Add the responses of other stores, once all of them could be opened."""
    merged = Merged()
    for other in others:
        if other.exists() and path.exists() and other.samefile(path):
            raise UsageError(f"{other} is the store to merge into")
    with ExitStack() as opened:
        sources = [(other, opened.enter_context(opened_store(other, readonly=True))) for other in others]
        store = opened.enter_context(opened_store(path, make=True))
        for other, source in sources:
            _merge_one(store, other, source, merged)
    vectors = VectorStore(path.with_name(VECTORS_NAME))
    for other in others:
        vectors.add_all_of(VectorStore(other.with_name(VECTORS_NAME)))
    return merged


def _merge_one(store: Store, other: Path, source: Store, merged: Merged) -> None:
    known = {row[0]: row for row in store.rows()}
    rows = list(source.rows())
    merged.conflicts += [
        Conflict(str(row[0]), str(row[1]), str(other))
        for row in rows
        if (own := known.get(row[0])) is not None and _answer(own) != _answer(row)
    ]
    new = [row for row in rows if row[0] not in known]
    trunks = {digest: packed for digest, packed in source.trunks() if is_trunk(digest, packed)}
    sound = [row for row in new if row[_TRUNK] in trunks]
    merged.without_prompt += len(new) - len(sound)
    merged.added += store.add(sound, [(digest, trunks[digest]) for digest in {str(row[_TRUNK]) for row in sound}])


def _answer(row: Row) -> tuple[object, ...]:
    return tuple(row[COLUMNS.index(name)] for name in ("text", "finish", "reasoning"))
