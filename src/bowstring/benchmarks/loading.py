"""Loads a data set of any benchmark by name, and checks it.

load("mini/hicupid"), load("kixlab/CUPID"), load("path/to/folder")
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bowstring.benchmarks import registry
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.display import ItemDisplay
from bowstring.datasets.layout import Choice, Configs
from bowstring.datasets.problems import join_choices, quote_value, raise_if_any
from bowstring.datasets.reading import Reading
from bowstring.datasets.sources import MINI, Source, locate
from bowstring.errors import DataError, MissingData, MissingSplit, UsageError

if TYPE_CHECKING:
    from bowstring.benchmarks.cupid.data import CupidSet
    from bowstring.benchmarks.hicupid.data import HicupidSet

_log = logging.getLogger("bowstring")


def load(
    name: str = MINI,
    benchmark: str | None = None,
    *,
    revision: str | None = None,
    splits: Collection[str] = (),
    leave_out: Collection[str] = (),
    configs: Configs = "default",
    choice: Choice | None = None,
) -> DataSet:
    """The data set of this name, checked; a DataError names the first problem.

    `splits` selects splits, `leave_out` excludes some; `choice` replaces both.
    """
    bundled = bundled_sets(name, benchmark)
    if bundled and len(bundled) > 1:
        ways = [f"{name}/{other}" for other in bundled]
        raise UsageError(f"{name} is {_number(len(bundled))} data sets; choose one: {join_choices(ways)}")
    choice = choice or Choice(tuple(splits), tuple(leave_out), configs)
    reading = read(name, benchmark, revision=revision, choice=choice)[0]
    raise_if_any(reading.problems, name)
    assert reading.data is not None
    return reading.data


def _number(n: int) -> str:
    return {2: "two", 3: "three", 4: "four"}.get(n, str(n))


def load_hicupid(name: str = MINI, **choice: Any) -> HicupidSet:
    from bowstring.benchmarks.hicupid.data import HicupidSet

    data = load(name, "hicupid", **choice)
    assert isinstance(data, HicupidSet)
    return data


def load_cupid(name: str = MINI, **choice: Any) -> CupidSet:
    from bowstring.benchmarks.cupid.data import CupidSet

    data = load(name, "cupid", **choice)
    assert isinstance(data, CupidSet)
    return data


def read(
    name: str, benchmark: str | None = None, *, revision: str | None = None, choice: Choice | None = None
) -> list[Reading[DataSet]]:
    """Read and check all data of a name; problems are collected, not raised."""
    choice = choice or Choice()
    if bundled := bundled_sets(name, benchmark):
        if revision is not None:
            raise UsageError(f"--revision is only for hub data sets; {name} is bundled")
        return [Reading(registry.get(b).bundled(choice.splits), []) for b in bundled]
    formats = [b.format for b in registry.by_layout()]

    sources: list[Source] = []

    def located(wanted: Choice) -> Source:
        sources.append(locate(name, formats, benchmark, revision=revision, choice=wanted))
        return sources[-1]

    try:
        found = registry.get(located(choice).benchmark)
        reading = found.read(located, choice)
    except MissingData as missing:
        if benchmark is None or registry.get(benchmark).has_bundled_set:
            raise MissingData(f"{missing}; try {MINI}") from missing
        raise
    except DataError:
        _warn_of_unloadable()
        raise
    if reading.problems:
        _warn_of_unloadable()
    if reading.data is not None and getattr(found.format, "holds_splits", False):
        reading = replace(reading, data=_with_splits(reading.data, choice.splits))
    if reading.data is not None:
        reading.data.source = sources[-1]
    return [reading]


def _warn_of_unloadable() -> None:
    """A set that no benchmark can read may belong to one that could not be loaded."""
    for reason in registry.unloadable():
        _log.warning("%s; the data set may be one of its", reason)


def _with_splits(data: DataSet, splits: Sequence[str]) -> DataSet:
    for split in splits:
        if split not in data.splits:
            raise MissingSplit(f"{data.name} has no split {split!r}; it has {join_choices(data.splits)}", data.splits)
    return data.of_splits(splits) if splits and set(splits) < set(data.splits) else data


def bundled_sets(name: str, benchmark: str | None) -> tuple[str, ...] | None:
    """The benchmarks whose bundled sets a name refers to; None if it is not such a name."""
    if name == MINI:
        having = [b.name for b in registry.all_benchmarks() if b.has_bundled_set]
        if benchmark is None:
            return tuple(having)
        if benchmark not in having:
            raise UsageError(f"{registry.get(benchmark).title} has no bundled set; give a data set with --data")
        return (benchmark,)
    kind, _, known = name.partition("/")
    if kind == MINI and known in registry.names() and registry.get(known).has_bundled_set:
        if benchmark not in (None, known):
            raise UsageError(f"{name} is not a {benchmark} data set; try --data {MINI}/{benchmark}")
        return (known,)
    return None


def look_up(sets: Sequence[DataSet], id_: str) -> ItemDisplay:
    """A user, question or instance by id; the sets are searched in order."""
    for data in sets:
        if (found := data.look_up(id_)) is not None:
            return found
    where = " or ".join(data.name for data in sets)
    raise UsageError(f"{quote_value(id_)} is not in {where}; {'; '.join(data.ids() for data in sets)}")
