"""Comparison of runs on the same data: metrics on the shared items, and paired differences.

compared = compare(["runs/full", "runs/gold"])
compared.differences["score.total"]["gold"].value
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from bowstring.benchmarks.of_run import installed_benchmark
from bowstring.errors import UsageError
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import (
    CorrectedDifference,
    Difference,
    clusters_needed,
    difference,
    holm,
    minimum_holm_factors,
    rank_ranges,
)
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.measures import Measure, MetricSet, Parts
from bowstring.records import by_item
from bowstring.runs.about import AboutSeveral, of_several
from bowstring.runs.running import Run
from bowstring.settings import checked_call, option
from bowstring.studies.across_runs import RunCorrelation, correlate_across_runs
from bowstring.studies.corrected_comparison import CorrectedComparison, corrected_comparison
from bowstring.studies.differing import Example, most_different
from bowstring.studies.length_comparison import LengthComparison, length_comparison
from bowstring.studies.loading import Contender, common_keys, open_contenders

# {metric: {run: …}}; runs without the metric are absent
Estimates = dict[str, dict[str, Estimate]]
Differences = dict[str, dict[str, CorrectedDifference]]


@dataclass(frozen=True, slots=True)
class Power:
    """How many clusters and items are needed to detect a difference with 80% power."""

    apart: float
    clusters: int | None
    items: int | None


@dataclass(frozen=True, slots=True)
class Rank:
    """A run's rank by its value, and the range of ranks that the paired differences allow."""

    place: int
    best: int
    worst: int


@dataclass(frozen=True, slots=True)
class GroupValue:
    """A run's value in a group of items, and its difference from the baseline."""

    estimate: Estimate
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison on the shared items, in units of the metrics."""

    benchmark: str
    metric_set: MetricSet
    runs: tuple[Contender, ...]
    baseline: str
    metric: str  # the metric that ranks the runs
    higher_is_better: bool  # in `metric`
    items: int
    metrics: Estimates
    differences: Differences  # run − baseline
    pairs: dict[tuple[str, str], CorrectedDifference]  # in `metric`: second − first
    ranks: dict[str, Rank]  # the best run first
    power: dict[str, Power]  # of --detect, by run
    groups: dict[str, dict[str, dict[str, dict[str, GroupValue]]]]  # axis, group, metric, run
    examples: list[Example]
    notes: list[str]
    correlations: list[RunCorrelation]  # of metrics across the runs
    length: LengthComparison | None  # if the benchmark compares answers
    corrected: CorrectedComparison | None = None  # with people's labels, if given

    @property
    def names(self) -> list[str]:
        return [run.name for run in self.runs]

    @property
    def about(self) -> AboutSeveral:
        """What the scores of the runs are of."""
        return of_several({run.name: run.about for run in self.runs})

    def between(self, first: str, second: str) -> CorrectedDifference | None:
        """second − first, in the ranking metric."""
        if (first, second) in self.pairs:
            return self.pairs[first, second]
        found = self.pairs.get((second, first))
        return found and found.swapped()

    def as_json(self) -> dict[str, Any]:
        return {
            "benchmark": self.benchmark,
            "baseline": self.baseline,
            "metric": self.metric,
            "items": self.items,
            "runs": [run.as_json() for run in self.runs],
            "metrics": {m: {name: e.as_json() for name, e in own.items()} for m, own in self.metrics.items()},
            "differences": {m: {name: d.as_json() for name, d in own.items()} for m, own in self.differences.items()},
            "pairs": [{"first": a, "second": b} | d.as_json() for (a, b), d in self.pairs.items()],
            "ranks": {name: asdict(rank) for name, rank in self.ranks.items()},
            "power": {name: asdict(found) for name, found in self.power.items()},
            "groups": {
                axis: {group: _group_as_json(found) for group, found in groups.items()}
                for axis, groups in self.groups.items()
            },
            "examples": [asdict(example) for example in self.examples],
            "notes": self.notes,
            "correlations": [found.as_json() for found in self.correlations],
            **({"length_controlled": self.length.as_json()} if self.length is not None else {}),
            **({"corrected": self.corrected.as_json()} if self.corrected is not None else {}),
        }


def _group_as_json(found: Mapping[str, Mapping[str, GroupValue]]) -> dict[str, Any]:
    return {
        metric: {
            name: cell.estimate.as_json() | {"difference": cell.difference and cell.difference.as_json()}
            for name, cell in own.items()
        }
        for metric, own in found.items()
    }


@checked_call
def compare(
    runs: Iterable[str | PathLike[str] | Run],
    *,
    baseline: Annotated[
        str | PathLike[str] | Run | None,
        option("Run to compare the others with.", metavar="RUN", shown_default="the first"),
    ] = None,
    metric: Annotated[
        str | None,
        option(
            "Metric that ranks the runs and selects the items.",
            metavar="NAME",
            shown_default="the benchmark's main metric",
        ),
    ] = None,
    detect: Annotated[
        float | None,
        option("A difference, in points of the metric: print how large a data set would be needed to detect it."),
    ] = None,
    items: Annotated[int, option("Show the N items on which the runs differ most.", min=0)] = 0,
    labels: Annotated[
        Sequence[str | Path],
        option(
            "File of people's labels for items of the runs, to correct scores and differences for errors of the judge; "
            "repeatable.",
            metavar="FILE",
        ),
    ] = (),
) -> Comparison:
    """Compare runs of one data set, as `bowstring compare` does: folders, or runs that `evaluate` returned.

    Differences are run − `baseline` (by default the first run). `metric` ranks the runs; `detect` is a difference in it
    for the power analysis; `items` is the number of most different items to include. `labels` are files of people's
    labels, as for `audit`.
    """
    paths = [_folder(run) for run in runs]
    contenders, against, notes = open_contenders(paths, None if baseline is None else _folder(baseline))
    if detect is not None and not 0 < detect < float("inf"):
        raise UsageError(f"--detect {detect:g}: expected a difference above 0, in points of the metric")
    comparing = _Comparing(contenders, against)
    if unscored := comparing.unscored(metric):
        contenders = [run for run in contenders if run.name not in unscored]
        if against in unscored and baseline is not None:
            raise UsageError(f"--baseline {baseline}: {unscored[against]}")
        against = contenders[0].name if against in unscored else against
        notes = [*notes, *(f"{said}; left out of the comparison" for said in unscored.values())]
        comparing = _Comparing(contenders, against)
    found = comparing.compared(metric, detect, items, notes)
    if not labels:
        return found
    files = [Path(file) for file in labels]
    return replace(found, corrected=corrected_comparison(contenders, against, comparing.keys, files, found.differences))


def _folder(run: str | PathLike[str] | Run) -> Path:
    return run.folder if isinstance(run, Run) else Path(run)


class _Comparing:
    """The records of the runs on their shared items, and the metrics of these records."""

    def __init__(self, contenders: Sequence[Contender], baseline: str) -> None:
        self.contenders = contenders
        self.benchmark = contenders[0].benchmark
        self.baseline = baseline
        self.keys = common_keys(contenders)
        self.records = {run.name: run.records for run in contenders}
        benchmark = installed_benchmark(self.benchmark)
        self.clusters = {key: benchmark.cluster_of(contenders[0].records[key]) for key in self.keys}
        self.grouped = benchmark.grouped
        self.view = benchmark.view()
        self.metric_set = benchmark.metrics(contenders[0].configuration)
        self.measures = self.metric_set.measures
        self._known_parts: dict[str, dict[str, dict[str, Parts]]] = {}
        self._repeats = {name: by_item(own.values()) for name, own in self.records.items()}
        self._worst: dict[tuple[str, str], float | None] = {}

    def compared(self, metric: str | None, detect: float | None, items: int, notes: list[str]) -> Comparison:
        metrics = {m: self._with_missing(m, own) for m in self.measures if (own := self._estimates(m, self.keys))}
        main = self._main(metrics, metric)
        pairs = self._corrected(main, list(combinations(self.records, 2)))
        differences = {m: self._from_baseline(m, list(own)) for m, own in metrics.items()}
        from_baseline = differences[main]
        return Comparison(
            benchmark=self.benchmark,
            metric_set=self.metric_set,
            runs=tuple(self.contenders),
            baseline=self.baseline,
            metric=main,
            higher_is_better=self.measures[main].higher_is_better,
            items=len(self.keys),
            metrics=metrics,
            differences={m: found for m, found in differences.items() if found},
            pairs=pairs,
            ranks=_ranks(self._ranked_values(main, metrics[main], pairs), pairs, self.measures[main]),
            power={name: _power(found, detect) for name, found in from_baseline.items()} if detect is not None else {},
            groups=self._groups(main),
            examples=most_different(self.view, main, self.measures[main], self.records, self.keys, items),
            notes=[
                *notes,
                *self._other_metric(main, metric),
                *self._left_out(main),
                *self._contested_notes(main, pairs),
            ],
            correlations=correlate_across_runs(self.metric_set, metrics, self.records, self.clusters),
            length=length_comparison(self.contenders, self.baseline, self.keys),
        )

    def unscored(self, asked: str | None) -> dict[str, str]:
        """The runs without a value of a metric that at least two others have, because scores are missing: what there is
        to say of each. The metric is the one asked for, or the main one."""
        main = asked or self._wanted()
        has = self._has_value(main) if main in self.measures else set()
        return self._without_value(main) if len(has) > 1 else {}

    def _wanted(self) -> str:
        """The metric that would rank the runs if none lacked scores."""
        found = [m for m in self.measures if self._has_value(m)]
        return self.metric_set.lead(found) or next(iter(found), "")

    def _has_value(self, metric: str) -> set[str]:
        parts = set(self.measures[metric].components)
        return {
            name for name, own in self._parts(metric).items() if {part for one in own.values() for part in one} >= parts
        }

    def _without_value(self, metric: str) -> dict[str, str]:
        """The runs that lack a value of a metric because every item that they have no score of failed or was not
        read; others were not judged at all."""
        measure, number = self.measures[metric], self.metric_set.scale(metric).number
        scored = self._parts(metric)
        ever = {key for own in scored.values() for key in own}
        found = {}
        for name in self.records:
            if name in self._has_value(metric):
                continue
            rest = [key for key in ever if key not in scored[name]]
            records = [record for key in ever for record in self._repeats[name][key]]
            missing = measure.unscored(("", record) for record in records)
            if missing is not None and missing.items == len(rest):
                low, high = (number(end) for end in missing.bounds or measure.scale.limits)
                found[name] = (
                    f"{name} has no {metric}: {missing.items:,} of {len(ever):,} items have no score (it could be "
                    f"{low} to {high})"
                )
        return found

    def _other_metric(self, main: str, asked: str | None) -> list[str]:
        """Why the runs are not ranked by the metric that usually ranks them."""
        wanted = self._wanted()
        if asked is not None or wanted in ("", main):
            return []
        return [f"{said}: the runs are ranked by {main} instead" for said in self._without_value(wanted).values()]

    def _left_out(self, metric: str) -> list[str]:
        """Which runs' missing scores leave items out for all of them, if any do."""
        scored = self._parts(metric)
        ever = {key for own in scored.values() for key in own}
        lacking = ", ".join(
            f"{name} lacks {len(ever) - len(own):,}" for name, own in scored.items() if len(own) < len(ever)
        )
        shared = len(self._scored_by_all(metric, self.keys))
        return [f"{metric}: {shared:,} of {len(ever):,} items have a score in all runs ({lacking})"] if lacking else []

    def _main(self, metrics: Estimates, asked: str | None) -> str:
        shared = {m: own for m, own in metrics.items() if len(own) == len(self.contenders)}
        if not shared:
            raise UsageError(
                f"nothing to compare: {'; '.join(self._has(metrics, run.name) for run in self.contenders)}"
            )
        if asked is not None and asked not in shared:
            raise UsageError(f"--metric {asked}: not a metric of all runs; expected one of {', '.join(shared)}")
        return asked or self.metric_set.lead(shared) or next(iter(shared))

    def _has(self, metrics: Estimates, name: str) -> str:
        own = [m for m, found in metrics.items() if name in found]
        return f"{name} has {', '.join(own) or 'no readable result'}"

    def _parts(self, metric: str) -> dict[str, dict[str, Parts]]:
        """The contribution of each item to a metric, by run and key; items without one are absent."""
        if metric not in self._known_parts:
            measure = self.measures[metric]
            self._known_parts[metric] = {
                name: {key: found for key in self.keys if (found := measure.parts_of_repeats(own[key]))}
                for name, own in self._repeats.items()
            }
        return self._known_parts[metric]

    def _scores(self, metric: str, name: str, keys: Iterable[str]) -> dict[str, list[Score]]:
        said, measure, records = self._parts(metric)[name], self.measures[metric], self.contenders[0].records
        return measure.collect_scores((self.clusters[key], records[key], said[key]) for key in keys if key in said)

    def _scored_by_all(self, metric: str, keys: Iterable[str]) -> list[str]:
        """The items of which every run that has the metric has a score. A run that fails on hard items would
        otherwise be compared by its easy ones."""
        scored = [own for own in self._parts(metric).values() if own]
        return [key for key in keys if all(key in own for own in scored)] if scored else []

    def _estimates(self, metric: str, keys: Sequence[str]) -> dict[str, Estimate]:
        of_scores = self.measures[metric].estimate_from_scores
        shared = self._scored_by_all(metric, keys)
        has = [name for name, own in self._parts(metric).items() if own]
        found = {name: of_scores(self._scores(metric, name, shared)) for name in has}
        return {name: replace(own, n=len(shared)) for name, own in found.items() if own is not None}

    def _with_missing(self, metric: str, own: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """The estimates on the items that all runs have a score of, with what each run lacks of all compared items."""
        measure = self.measures[metric]
        return {name: replace(e, missing=measure.missing_of(self._compared_records(name))) for name, e in own.items()}

    def _compared_records(self, name: str) -> list[Mapping[str, Any]]:
        repeats = self._repeats[name]
        return [record for key in self.keys for record in repeats[key]]

    def _paired(self, metric: str, first: str, second: str, keys: Sequence[str]) -> tuple[Difference | None, int]:
        """second − first on the items that all runs have, and the number of items that only one of the two has."""
        said = self._parts(metric)
        one, other = ({key for key in keys if key in said[name]} for name in (first, second))
        shared = self._scored_by_all(metric, keys)
        before, after = (self._scores(metric, name, shared) for name in (first, second))
        measure = self.measures[metric]
        found = difference(before, after, measure.statistic, items=len(shared), ends=measure.ends)
        return found, len(one ^ other)

    def _from_baseline(self, metric: str, names: Sequence[str]) -> dict[str, CorrectedDifference]:
        pairs = [(self.baseline, name) for name in names if name != self.baseline and self.baseline in names]
        return {name: found for (_, name), found in self._corrected(metric, pairs).items()}

    def _corrected(self, metric: str, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], CorrectedDifference]:
        found = {pair: self._paired(metric, *pair, self.keys) for pair in pairs}
        known = {pair: (own, left_out) for pair, (own, left_out) in found.items() if own is not None}
        corrected = holm([own.p for own, _ in known.values()])
        times = minimum_holm_factors([own.clusters for own, _ in known.values()])
        return {
            pair: CorrectedDifference(
                **asdict(own),
                corrected=p,
                comparisons=n,
                left_out=left_out,
                contested=self._contested(metric, pair, own.value),
            )
            for (pair, (own, left_out)), p, n in zip(known.items(), corrected, times, strict=True)
        }

    def _contested(self, metric: str, pair: tuple[str, str], value: float) -> bool:
        """Whether the difference has the other sign, or is gone, with the failures of both runs at the worst score."""
        first, second = (self._as_worst(metric, name) for name in pair)
        return first is not None and second is not None and (second - first) * value <= 0 != value

    def _contested_notes(self, metric: str, pairs: Mapping[tuple[str, str], CorrectedDifference]) -> list[str]:
        number = self.metric_set.scale(metric).number
        found = []
        for (first, second), own in pairs.items():
            if own.contested:
                better, other = (second, first) if own.value > 0 else (first, second)
                worst = [number(self._as_worst(metric, name)) for name in (better, other)]
                found.append(
                    f"{metric}: {better} is higher on the items that all runs have a score of, but not with failures "
                    f"at the worst score ({worst[0]}; {other} {worst[1]}): the difference shows nothing"
                )
        return found

    def _ranked_values(
        self, metric: str, own: Mapping[str, Estimate], pairs: Mapping[tuple[str, str], CorrectedDifference]
    ) -> dict[str, tuple[float, float]]:
        """What runs are placed by: their values, and with missing scores at the worst. These come first where failures
        could change the order."""
        found = {
            name: (e.value, w if (w := self._as_worst(metric, name)) is not None else e.value)
            for name, e in own.items()
        }
        contested = any(pair.contested for pair in pairs.values())
        return {name: (worst, value) if contested else (value, worst) for name, (value, worst) in found.items()}

    def _as_worst(self, metric: str, name: str) -> float | None:
        """The value of a run on all compared items, with missing scores at their worst."""
        if (metric, name) not in self._worst:
            self._worst[metric, name] = self.measures[metric].value_with_failures(self._compared_records(name))
        return self._worst[metric, name]

    def _groups(self, main: str) -> dict[str, dict[str, dict[str, dict[str, GroupValue]]]]:
        """The main metric, or the closest one that a group has, by every axis of the shared items."""
        shared = [self.contenders[0].records[key] for key in self.keys]
        return {
            axis: {group: self._in_group([r["key"] for r in own], main) for group, own in members.items()}
            for axis, members in self.grouped(shared).items()
        }

    def _in_group(self, keys: Sequence[str], main: str) -> dict[str, dict[str, GroupValue]]:
        """The metrics that describe the group and that all runs have."""
        found: dict[str, dict[str, Estimate]] = {}

        def all_have(metric: str) -> bool:
            if metric not in found:
                found[metric] = self._estimates(metric, keys) if metric in self.measures else {}
            return len(found[metric]) == len(self.contenders)

        return {
            metric: {name: self._cell(metric, name, e, keys) for name, e in found[metric].items()}
            for metric in self.metric_set.group_metrics(all_have, main)
        }

    def _cell(self, metric: str, name: str, own: Estimate, keys: Sequence[str]) -> GroupValue:
        if name == self.baseline:
            return GroupValue(own, None)
        return GroupValue(own, self._paired(metric, self.baseline, name, keys)[0])


def _ranks(
    own: Mapping[str, tuple[float, float]], pairs: Mapping[tuple[str, str], CorrectedDifference], measure: Measure
) -> dict[str, Rank]:
    """Ranks, best first. A rank is ruled out by a difference that is significant after correction for all pairs."""
    sign = 1 if measure.higher_is_better else -1
    order = sorted(own, key=lambda name: tuple(-sign * value for value in own[name]))
    beaten = [
        (second, first) if sign * found.value > 0 else (first, second)
        for (first, second), found in pairs.items()
        if found.significant
    ]
    ranges = rank_ranges(order, beaten)
    return {name: Rank(place, *ranges[name]) for place, name in enumerate(order, 1)}


def _power(found: Difference, apart: float) -> Power:
    """What it takes to detect a difference of this size. For the difference that was found, that would be no more than
    its p-value in other words."""
    clusters = clusters_needed(found, apart)
    return Power(apart, clusters, None if clusters is None else math.ceil(clusters * found.n / found.clusters))
