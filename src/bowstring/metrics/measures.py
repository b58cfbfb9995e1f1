"""The metrics of a benchmark, defined once: what each record contributes, their scales, and which metric leads.

Run metrics, comparisons, pages, tables and figures all use these definitions, so they always agree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Means, Score
from bowstring.metrics.intervals import NEGLIGIBLE, Estimate, Missing, estimate
from bowstring.metrics.linear import Ends, ends_by_component
from bowstring.records import item_and_answer

Floats = npt.NDArray[np.float64]
Parts = Mapping[str, Sequence[float]]  # component: the values that a record contributes
Clustered = Iterable[tuple[str, Mapping[str, Any]]]  # records, each with its cluster
ClusteredParts = tuple[str, Mapping[str, Any], Parts | None]  # a record with its cluster and what it contributes


@dataclass(frozen=True, slots=True)
class Scale:
    """The range of a metric, how many decimals to print, and its ceiling."""

    low: float = 0.0
    high: float = 100.0
    decimals: int | None = 1  # None: four significant digits
    ceiling: float | None = None  # the score of a perfect answer, if that is not `high`
    ceiling_means: str = ""  # such as "as good as the gold answer"

    @property
    def limits(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def range_text(self) -> str:
        return f"{self.low:g} to {self.high:g}"

    def number(self, value: float | None) -> str:
        """Format a value as papers print it."""
        if value is None:
            return "–"
        return f"{value:,.4g}" if self.decimals is None else f"{value:,.{self.decimals}f}"

    def place(self, value: float) -> float:
        """Return the position of a value between low and high, in percent."""
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
    ends: Ends = (0.0, 1.0)  # the lowest and highest value that a record can contribute, of all or by component
    scale: Scale = PERCENT
    # How many scores of each component a record lacks because a request failed or an answer could not be parsed.
    lacks: Callable[[Mapping[str, Any]], Mapping[str, int]] = field(default=lambda record: {})
    # Whether the value of a record stands for an answer that could not be read: some protocols count it, such as 0.
    unread: Callable[[Mapping[str, Any]], bool] = field(default=lambda record: False)
    # What a record shares with records of other clusters, such as a persona that several users have.
    group_of: Callable[[Mapping[str, Any]], str | None] = field(default=lambda record: None)

    def parts(self, record: Mapping[str, Any]) -> Parts | None:
        """Return what a record contributes; None if nothing: it failed, could not be parsed, or is of another kind."""
        found = self.of(record)
        mine = {name: found[name] for name in self.components if found.get(name)}
        return mine or None

    def parts_of_repeats(self, repeats: Sequence[Mapping[str, Any]]) -> Parts | None:
        """Return what the records of one item contribute, averaged over its answers and judgements."""
        found = [parts for record in repeats if (parts := self.parts(record)) is not None]
        return _averaged(found) if found else None

    def collect_scores(self, parts: Iterable[ClusteredParts]) -> dict[str, list[Score]]:
        """Return the scores of each component, from records with their clusters and parts. Several answers or
        judgements of one item are averaged: they are one item."""
        of_items: dict[tuple[str, str], tuple[str | None, list[Parts]]] = {}
        for cluster, record, own in parts:
            if own:
                item = (cluster, item_and_answer(record)[0])
                of_items.setdefault(item, (self.group_of(record), []))[1].append(own)
        scores: dict[str, list[Score]] = {name: [] for name in self.components}
        for (cluster, _), (group, repeats) in of_items.items():
            for name, values in _averaged(repeats).items():
                scores[name] += [Score(cluster, value, group) for value in values]
        return scores

    def scores(self, records: Clustered) -> dict[str, list[Score]]:
        return self.collect_scores((cluster, record, self.parts(record)) for cluster, record in records)

    def estimate(self, records: Clustered) -> Estimate | None:
        listed = [(cluster, record, self.parts(record)) for cluster, record in records]
        scores = self.collect_scores(listed)
        found = self.estimate_from_scores(scores)
        return found and replace(found, missing=self._missing(found.value, listed))

    def estimate_from_scores(self, scores: Mapping[str, Sequence[Score]]) -> Estimate | None:
        found = estimate(scores, self.statistic, ends=self.ends)
        return found and replace(found, range=self.scale.limits, ceiling=self.scale.ceiling)

    def unscored(self, records: Clustered) -> Missing | None:
        """Return what is known of a metric without a value because scores are missing: None if it has a value, or if
        none was to be expected."""
        listed = [(cluster, record, self.parts(record)) for cluster, record in records]
        lacking = {item_and_answer(record)[0] for _, record, parts in listed if parts is None and self._lacked(record)}
        if not lacking or all(self.collect_scores(listed).values()):
            return None
        low, high = (self._filled(listed, which) for which in (0, 1))
        if low is None or high is None:
            return None
        worst = low if self.higher_is_better else high
        return Missing(len(lacking), worst, (min(low, high), max(low, high)), len(lacking))

    def is_whole(self, records: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether every component has a score in these records, or lacks one."""
        there = {name for record in records for name in self.parts(record) or self._lacked(record)}
        return there >= set(self.components)

    def value_with_failures(self, records: Sequence[Mapping[str, Any]]) -> float | None:
        """Return the metric of these records, with missing scores at the worst; None if a component has no record."""
        listed = [("", record, self.parts(record)) for record in records]
        return self._filled(listed, 0 if self.higher_is_better else 1)

    def _filled(self, listed: Sequence[ClusteredParts], which: int) -> float | None:
        """Return the metric with missing scores at the lowest (0) or the highest (1)."""
        ends = ends_by_component(self.ends, self.components)
        filled = (
            (cluster, record, parts or {name: [ends[name][which]] * n for name, n in self._lacked(record).items()})
            for cluster, record, parts in listed
        )
        scores = self.collect_scores(filled)
        if not all(scores.values()):
            return None
        means = {name: np.asarray([_mean(own)]) for name, own in scores.items()}
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.nan_to_num(self.statistic(means)[0]))

    def missing_of(self, records: Sequence[Mapping[str, Any]]) -> Missing | None:
        """Return how many of these records lack a score, and what the metric of all of them could be. None if a
        component has no record."""
        worst = self.value_with_failures(records)
        if worst is None:
            return None
        listed = [("", record, self.parts(record)) for record in records]
        return self._missing(worst, listed)

    def _missing(self, value: float, listed: Sequence[ClusteredParts]) -> Missing:
        lacking = [(record, own) for _, record, parts in listed if parts is None and (own := self._lacked(record))]
        if not lacking:
            return Missing(0, value, None)
        ends = (self._filled(listed, which) for which in (0, 1))
        low, high = (value if end is None else end for end in ends)
        more = sum(sum(own.values()) for _, own in lacking)
        there = sum(len(values) for _, _, parts in listed if parts for values in parts.values())
        bounds = (min(low, high), max(low, high)) if more > NEGLIGIBLE * (more + there) else None
        scored = {item_and_answer(record)[0] for _, record, parts in listed if parts}
        items = {item_and_answer(record)[0] for record, _ in lacking} - scored
        return Missing(len(items), low if self.higher_is_better else high, bounds, len(lacking))

    def _lacked(self, record: Mapping[str, Any]) -> dict[str, int]:
        return {name: n for name, n in self.lacks(record).items() if n and name in self.components}


def _averaged(repeats: Sequence[Parts]) -> Parts:
    """Return the mean of each value over repeats. If their number varies, return as many as there are on average, all
    of them the mean."""
    if len(repeats) == 1:
        return repeats[0]
    found: dict[str, Sequence[float]] = {}
    for name in dict.fromkeys(name for one in repeats for name in one):
        there = [one[name] for one in repeats if name in one]
        if len({len(values) for values in there}) == 1:
            found[name] = [sum(x) / len(x) for x in zip(*there, strict=True)]
        else:
            every = [x for values in there for x in values]
            found[name] = [sum(every) / len(every)] * max(1, round(len(every) / len(there)))
    return found


def _mean(scores: Sequence[Score]) -> float:
    return sum(score.value for score in scores) / len(scores)


def mean(
    of: Callable[[Mapping[str, Any]], float | None],
    times: float = 1.0,
    scale: Scale = PERCENT,
    *,
    lacks: Callable[[Mapping[str, Any]], bool] = lambda record: "failure" in record,
) -> Measure:
    """Return the mean of one number per record, where present, times a factor: 100 for a percentage. `lacks` says of a
    record without a number that it should have one."""

    def parts(record: Mapping[str, Any]) -> Parts:
        value = of(record)
        return {} if value is None else {"x": (value,)}

    ends = (scale.low / times, scale.high / times)
    return Measure(
        ("x",),
        parts,
        lambda means: times * means["x"],
        ends=ends,
        scale=scale,
        lacks=lambda record: {"x": int(lacks(record))},
    )


class Family(NamedTuple):
    """Metrics with a common name prefix, drawn in one figure. A table with room for only one of them shows `chief`,
    under `heading`."""

    title: str
    chief: str = ""
    heading: str = ""


class Correlated(NamedTuple):
    """Two metrics whose correlation across runs is of interest. `by_item` are metrics with one value per record: their
    correlation over the items of a run is reported beside it."""

    first: str
    second: str
    by_item: tuple[str, str]


@dataclass(frozen=True, slots=True)
class MetricSet:
    """All metrics of a benchmark. Only `measures` is required; the rest follows from their order."""

    measures: Mapping[str, Measure]
    scales: Mapping[str, Scale] = field(default_factory=dict)  # scales of metrics that are not measures
    leading: tuple[str, ...] = ()  # the main metric is the first of these that a run has
    headline: tuple[str, ...] = ()  # in large type on the page
    families: Mapping[str, Family] = field(default_factory=dict)  # by name prefix: score.total belongs to score
    columns: tuple[str, ...] = ()  # columns of a sweep's table
    of_group: tuple[tuple[str, ...], ...] = ()  # a group shows the first available metric of each tuple
    secondary: frozenset[str] = frozenset()  # alternative averages: not in figures or comparison tables
    axes_without_figure: frozenset[str] = frozenset()  # breakdowns that the overall figures already show
    correlated: tuple[Correlated, ...] = ()  # pairs of metrics that `compare` correlates across runs
    unknown: Scale = PERCENT  # scale of an unlisted metric

    def scale(self, metric: str = "") -> Scale:
        measure = self.measures.get(metric)
        return measure.scale if measure is not None else self.scales.get(metric, self.unknown)

    def number(self, value: float | None, metric: str = "") -> str:
        """Format a value of a metric as papers print it."""
        return self.scale(metric).number(value)

    def place(self, value: float, metric: str) -> float:
        """Return the position of a value in the range of its metric, in percent."""
        return self.scale(metric).place(value)

    def range(self, metric: str) -> tuple[float, float]:
        """Return the lowest and highest possible value of a metric."""
        return self.scale(metric).limits

    def direction_note(self, names: Iterable[str]) -> str:
        """Return which of these metrics are better when lower, as a sentence; empty if none is."""
        lower = [name for name in names if name in self.measures and not self.measures[name].higher_is_better]
        return f"Lower is better: {', '.join(lower)}." if lower else ""

    def lead(self, names: Collection[str]) -> str | None:
        """Return the main metric among these; None if none of them is a leading one."""
        return next((name for name in self.leading or self.measures if name in names), None)

    def headlines(self, names: Collection[str]) -> list[str]:
        """Return those of these metrics that are printed in large type, in order."""
        return [name for name in self.headline or self.primary() if name in names]

    def sweep_columns(self, names: Collection[str]) -> list[str]:
        return [name for name in self.columns or self.primary() if name in names]

    def primary(self) -> list[str]:
        return [name for name in self.measures if name not in self.secondary]

    def group_metrics(self, has: Callable[[str], bool], asked: str | None = None) -> list[str]:
        """Return the metrics that describe a group of items: the one `asked` for, if the group has it, and the default
        ones. If the default is a single metric, the requested one replaces it."""
        chosen = [asked] if asked is not None and has(asked) else []
        groups = self.of_group or (tuple(self.leading or self.measures),)
        for names in groups if len(groups) > 1 or not chosen else ():
            chosen += [name for name in (next(filter(has, names), None),) if name is not None]
        return list(dict.fromkeys(chosen))


def estimates_as_json(measures: Mapping[str, Measure], records: Clustered) -> dict[str, Any]:
    """Return the metrics that these records have a value of, for metrics.json."""
    listed = list(records)
    found = {name: measure.estimate(listed) for name, measure in measures.items()}
    return {name: e.as_json() for name, e in found.items() if e is not None}


def by_protocols_as_json(estimates: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the values by each protocol, and how many items each is of, for metrics.json."""

    def of_each(field: str) -> dict[str, dict[str, Any]]:
        return {protocol: {name: one[field] for name, one in found.items()} for protocol, found in estimates.items()}

    return {"protocols": of_each("value"), "protocols_n": of_each("n")}


def unscored_as_json(metric_set: MetricSet, records: Clustered) -> dict[str, Any]:
    """Return what is known of main metrics that have no value because no item could be scored, for metrics.json."""
    listed = list(records)
    names = [name for name in metric_set.headline or metric_set.primary() if name in metric_set.measures]
    found = {name: metric_set.measures[name].unscored(listed) for name in names}
    return {name: asdict(missing) for name, missing in found.items() if missing is not None}


def unread_as_json(metric_set: MetricSet, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the main metrics whose values all stand for answers that could not be read, for metrics.json."""
    names = (name for name in metric_set.headline or metric_set.primary() if name in metric_set.measures)
    of_main = {name: metric_set.measures[name] for name in names}
    valued = {name: [r for r in records if measure.parts(r)] for name, measure in of_main.items()}
    unread = [name for name, own in valued.items() if own and all(map(of_main[name].unread, own))]
    return {"unread": unread} if unread else {}


# For a benchmark that is not installed: its numbers can be printed, but their range is unknown.
NO_METRICS = MetricSet({}, unknown=UNKNOWN)
