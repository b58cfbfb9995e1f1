"""Correlation of two metrics across runs, as papers report it over models, beside the one over the items of each run.

    correlate_across_runs(metric_set, metrics, records, clusters)[0].value

The two answer different questions: whether a model that is better at one task is better at the other, and whether an
item that a model gets right in one task is right in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bowstring.metrics.correlation import Row, correlation, fisher_interval, pearson
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.measures import CORRELATION, Correlated, MetricSet

LEAST_RUNS = 3

Records = Mapping[str, Mapping[str, Any]]  # key: record


@dataclass(frozen=True, slots=True)
class RunCorrelation:
    """Pearson's correlation of two metrics over runs. `interval` is None if it cannot be computed: with three runs, or
    if all runs lie on one line. `within` has the correlation over the items of each run."""

    first: str
    second: str
    runs: int
    value: float
    interval: tuple[float, float] | None
    within: Mapping[str, Estimate]

    def as_json(self) -> dict[str, Any]:
        within = {name: found.as_json() for name, found in self.within.items()}
        return asdict(self) | {"within": within}

    @property
    def sentence(self) -> str:
        number = CORRELATION.number
        if self.interval is None:
            certainty = "no interval, so this says little" if self.runs == LEAST_RUNS else "no interval"
        else:
            low, high = map(number, self.interval)
            certainty = f"95% interval [{low}, {high}] by Fisher's z, as if the runs were independent"
        across = f"Correlation of {self.first} and {self.second} across {self.runs} runs: {number(self.value)}"
        within = ", ".join(
            f"{name} {number(e.value)} [{number(e.low)}, {number(e.high)}]{'' if e.trusted else '*'}"
            for name, e in self.within.items()
        )
        return f"{across} (Pearson; {certainty})." + (f" Over the items of a run: {within}." if within else "")


def correlate_across_runs(
    metric_set: MetricSet,
    metrics: Mapping[str, Mapping[str, Estimate]],
    records: Mapping[str, Records],
    clusters: Mapping[str, str],
) -> list[RunCorrelation]:
    """Correlate the pairs of metrics that the benchmark names, over the runs that have both; needs three runs.

    `metrics` are by metric and run; `records` by run and key; `clusters` has the compared items.
    """
    found = []
    for pair in metric_set.correlated:
        first, second = (metrics.get(name, {}) for name in (pair.first, pair.second))
        runs = [name for name in first if name in second]
        value = pearson([first[name].value for name in runs], [second[name].value for name in runs])
        if len(runs) < LEAST_RUNS or value is None:
            continue
        within = {name: _within(metric_set, pair, records[name], clusters) for name in runs}
        known = {name: estimate for name, estimate in within.items() if estimate is not None}
        interval = fisher_interval(value, len(runs))
        found.append(RunCorrelation(pair.first, pair.second, len(runs), value, interval, known))
    return found


def _within(metric_set: MetricSet, pair: Correlated, records: Records, clusters: Mapping[str, str]) -> Estimate | None:
    measures = [metric_set.measures[name] for name in pair.by_item]

    def rows() -> Iterator[Row]:
        for key, cluster in clusters.items():
            parts = [measure.parts(records[key]) for measure in measures]
            if None not in parts:
                x, y = (values[0] for part in parts if part is not None for values in part.values())
                yield cluster, x, y

    return correlation(list(rows()))
