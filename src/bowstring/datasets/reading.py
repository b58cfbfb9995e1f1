"""The result of reading a data set: the set, or all problems that make it unusable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bowstring.datasets.layout import Choice, missing_shards
from bowstring.datasets.problems import Problem
from bowstring.datasets.sources import Source
from bowstring.datasets.tables import Column, Rows, read_rows

Data = TypeVar("Data", covariant=True)
Locate = Callable[[Choice], Source]  # locates another part of the same set


@dataclass(slots=True)
class Reading(Generic[Data]):
    """The result of reading a data set: `data` is None if it is unusable, and then `problems` says why."""

    data: Data | None
    problems: Sequence[Problem]
    warnings: Sequence[Problem] = field(default_factory=list)


def read_parts(
    source: Source, config: str, columns: tuple[Column, ...], problems: list[Problem]
) -> tuple[dict[str, Rows], bool]:
    """Return the readable splits of a config, and whether these are all of them."""
    parts: dict[str, Rows] = {}
    splits = source.parts.get(config, {})
    for split, files in splits.items():
        problems += problems_of_shards(files)
        rows = read_rows(source.root, files, columns, problems)
        if rows is not None:
            parts[split] = rows
    return parts, len(parts) == len(splits)


def problems_of_shards(files: Sequence[str]) -> list[Problem]:
    shard = missing_shards(files)
    return [Problem(shard, None, None, "is missing, although the names of the other shards imply it")] if shard else []
