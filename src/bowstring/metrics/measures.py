"""The metrics of a benchmark, stated once: what records add to them, their scales, and which of them leads.

A run's own numbers, the comparison of runs, pages, tables and figures all come from these, so that they cannot drift
apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.intervals import Estimate, Means, Score, estimate

Floats = npt.NDArray[np.float64]
Parts = Mapping[str, Sequence[float]]  # component: the values that a record adds to it
Clustered = Iterable[tuple[str, Mapping[str, Any]]]  # records, each with the cluster that it is in


@dataclass(frozen=True, slots=True)
class Scale:
    """Between which values a metric lies, how many decimals are worth printing, and what its ceiling is."""

    low: float = 0.0
    high: float = 100.0
    decimals: int | None = 1  # None: as many as tell four digits
    ceiling: float | None = None  # the value that a perfect answer gets, where that is not `high`
    ceiling_means: str = ""  # such as "as good as the gold answer"

    @property
    def limits(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def range_text(self) -> str:
        return f"{self.low:g} to {self.high:g}"

    def number(self, value: float | None) -> str:
        """A value as papers print it."""
        if value is None:
            return "–"
        return f"{value:,.4g}" if self.decimals is None else f"{value:,.{self.decimals}f}"

    def place(self, value: float) -> float:
        """Where a value stands between low and high, in percent."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)


PERCENT = Scale()
SHARE = Scale(0.0, 1.0, decimals=3)
CORRELATION = Scale(-1.0, 1.0, decimals=2)
UNKNOWN = Scale(decimals=None)


@dataclass(frozen=True, slots=True)
class Measure:
    components: tuple[str, ...]
    of: Callable[[Mapping[str, Any]], Parts]
    statistic: Callable[[Means], Floats]
    higher_is_better: bool = True
    ends: tuple[float, float] = (0.0, 1.0)  # the least and the greatest value that a record can add
    scale: Scale = PERCENT

    def parts(self, record: Mapping[str, Any]) -> Parts | None:
        """What a record adds; None where it has nothing to say: it failed, was not read, or is of another kind."""
        found = self.of(record)
        mine = {name: found[name] for name in self.components if found.get(name)}
        return mine or None

    def collect_scores(self, parts: Iterable[tuple[str, Parts | None]]) -> dict[str, list[Score]]:
        """The scores of each component, from the parts of records with their clusters."""
        scores: dict[str, list[Score]] = {name: [] for name in self.components}
        for cluster, own in parts:
            for name, values in (own or {}).items():
                scores[name] += [Score(cluster, value) for value in values]
        return scores

    def scores(self, records: Clustered) -> dict[str, list[Score]]:
        return self.collect_scores((cluster, self.parts(record)) for cluster, record in records)

    def estimate(self, records: Clustered) -> Estimate | None:
        return self.estimate_from_scores(self.scores(records))

    def estimate_from_scores(self, scores: Mapping[str, Sequence[Score]]) -> Estimate | None:
        return estimate(scores, self.statistic, ends=self.ends)


def mean(of: Callable[[Mapping[str, Any]], float | None], times: float = 1.0, scale: Scale = PERCENT) -> Measure:
    """The mean of one number per record, where it has it, times a factor: 100 for a percentage."""

    def parts(record: Mapping[str, Any]) -> Parts:
        value = of(record)
        return {} if value is None else {"x": (value,)}

    return Measure(("x",), parts, lambda means: times * means["x"], scale=scale)


class Family(NamedTuple):
    """Metrics whose names begin alike, drawn in one figure. Where a table has room for only one of them, it is
    `chief`, under `heading`."""

    title: str
    chief: str = ""
    heading: str = ""


@dataclass(frozen=True, slots=True)
class MetricSet:
    """All metrics of a benchmark. Only `measures` must be given; the rest follows from their order."""

    measures: Mapping[str, Measure]
    scales: Mapping[str, Scale] = field(default_factory=dict)  # of metrics that are not measures
    leading: tuple[str, ...] = ()  # a run is about the first of these that it has
    headline: tuple[str, ...] = ()  # in large type on the page
    families: Mapping[str, Family] = field(default_factory=dict)  # by how their names begin: score.total is of score
    columns: tuple[str, ...] = ()  # of a sweep's table
    of_group: tuple[tuple[str, ...], ...] = ()  # a group is described by the first that it has of each
    secondary: frozenset[str] = frozenset()  # other ways to average: in no figure and in no table of a comparison
    axes_without_figure: frozenset[str] = frozenset()  # breakdowns that the figures of the whole show already
    unknown: Scale = PERCENT  # the scale of a metric that is not among them

    def scale(self, metric: str = "") -> Scale:
        measure = self.measures.get(metric)
        return measure.scale if measure is not None else self.scales.get(metric, self.unknown)

    def number(self, value: float | None, metric: str = "") -> str:
        """A value of a metric as papers print it."""
        return self.scale(metric).number(value)

    def place(self, value: float, metric: str) -> float:
        """Where a value stands in the range of its metric, in percent."""
        return self.scale(metric).place(value)

    def range(self, metric: str) -> tuple[float, float]:
        """The least and the most that a metric can be."""
        return self.scale(metric).limits

    def lead(self, names: Collection[str]) -> str | None:
        """Which of these metrics a run is about; None if it has no leading one."""
        return next((name for name in self.leading or self.measures if name in names), None)

    def headlines(self, names: Collection[str]) -> list[str]:
        """Those of these metrics that stand in large type, in order."""
        return [name for name in self.headline or self.primary() if name in names]

    def sweep_columns(self, names: Collection[str]) -> list[str]:
        return [name for name in self.columns or self.primary() if name in names]

    def primary(self) -> list[str]:
        return [name for name in self.measures if name not in self.secondary]

    def group_metrics(self, has: Callable[[str], bool], asked: str | None = None) -> list[str]:
        """The metrics that a group of items is described by: the one that is `asked` for, if the group has it, and
        those that a group is always described by. Where that is one number, what is asked for replaces it."""
        chosen = [asked] if asked is not None and has(asked) else []
        groups = self.of_group or (tuple(self.leading or self.measures),)
        for names in groups if len(groups) > 1 or not chosen else ():
            chosen += [name for name in (next(filter(has, names), None),) if name is not None]
        return list(dict.fromkeys(chosen))


# Of a benchmark that is not installed: its numbers can be printed, and nothing is known of their range.
NO_METRICS = MetricSet({}, unknown=UNKNOWN)
