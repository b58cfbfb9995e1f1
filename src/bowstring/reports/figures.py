"""The figures of a run or a sweep, as what they show: drawn on the page by `drawing`, for papers by `plots`."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bowstring.benchmarks.hicupid.types import QUESTION_TYPES
from bowstring.benchmarks.of_run import metrics_of
from bowstring.metrics.measures import MetricSet

Record = Mapping[str, Any]


class Mark(NamedTuple):
    """An estimate with its interval; drawn hollow where that is not to be trusted."""

    label: str
    value: float
    low: float
    high: float
    n: int
    trusted: bool


@dataclass(frozen=True, slots=True)
class Intervals:
    name: str
    title: str
    marks: Sequence[Mark]
    limits: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Stack:
    """Shares of a whole, a bar a row."""

    name: str
    title: str
    rows: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often values fall between two edges, a line a series."""

    name: str
    title: str
    unit: str
    series: Mapping[str, Sequence[float]]
    edges: Sequence[float]

    def counts(self, name: str) -> list[int]:
        found = [0] * (len(self.edges) - 1)
        for value in self.series[name]:
            found[min(max(bisect_right(self.edges, value) - 1, 0), len(found) - 1)] += 1
        return found


@dataclass(frozen=True, slots=True)
class Scatter:
    name: str
    title: str
    across: str
    up: str
    points: Sequence[tuple[float, float]]
    limits: tuple[tuple[float, float], tuple[float, float]]


class Point(NamedTuple):
    name: str
    family: str
    tokens: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Score against context: a point a setting; a line joins those of a family."""

    name: str
    title: str
    points: Sequence[Point]
    limits: tuple[float, float]


Figure = Intervals | Stack | Histogram | Scatter | Curve

# What bars are made of, the best first; in this order everywhere.
SEGMENTS = ("win", "yes", "tie", "lose", "no", "unparsed", "failed")


def figures_of(metrics: Mapping[str, Any], records: Sequence[Record]) -> list[Figure]:
    """Of one run; a figure that has nothing to show is left out."""
    metric_set = metrics_of(metrics)
    of_records = _cupid(records, metric_set) if metrics["benchmark"] == "cupid" else _hicupid(records)
    of_axes = axis_figures(metrics["groups"], metric_set)
    found: list[Figure] = [*_families(metrics["metrics"], metric_set), *of_records, *of_axes]
    return [figure for figure in found if not _is_empty(figure)]


def axis_figures(groups: Mapping[str, Mapping[str, Mapping[str, Any]]], metric_set: MetricSet) -> list[Intervals]:
    """Every breakdown, by the metrics that a group is described by: a mark per group."""
    found = []
    for axis, of_axis in groups.items():
        if axis in metric_set.axes_without_figure:
            continue
        has = {metric for group in of_axis.values() for metric in group}
        for metric in metric_set.describing(has.__contains__):
            marks = [_mark(group, g[metric]) for group, g in of_axis.items() if metric in g]
            name, title = f"{metric.replace('.', '-')}-by-{axis}", f"{metric} by {axis}"
            found.append(Intervals(name, title, marks, metric_set.range(metric)))
    return found


def _families(metrics: Mapping[str, Mapping[str, Any]], metric_set: MetricSet) -> Iterable[Intervals]:
    for family, about in metric_set.families.items():
        names = [n for n in metrics if n.startswith(f"{family}.") and n not in metric_set.secondary]
        marks = [_mark(name.partition(".")[2], metrics[name]) for name in names]
        if marks:
            yield Intervals(family, about.title, marks, metric_set.range(names[0]))


def _mark(label: str, e: Mapping[str, Any]) -> Mark:
    return Mark(label, e["value"], e["low"], e["high"], e["n"], e["trusted"])


def _hicupid(records: Sequence[Record]) -> Iterable[Figure]:
    kinds = {r["type"] for r in records if "judgement" in r or "failure" in r}
    rows: dict[str, Counter[str]] = {kind: Counter() for kind in QUESTION_TYPES if kind in kinds}
    for r in records:
        if "judgement" in r or "failure" in r:
            said = "failed" if "failure" in r else r["verdict"] or "unparsed"
            rows.setdefault(r["type"], Counter())[said] += 1
    yield Stack("verdicts", "Verdicts", rows)
    answered = [r for r in records if "answer" in r]
    fields = {"answer": "answers", "personalized_answer": "personalized gold", "general_answer": "general gold"}
    series = {label: [float(len(r[f].split())) for r in answered] for f, label in fields.items()}
    yield _lengths(series)


def _lengths(series: Mapping[str, Sequence[float]]) -> Histogram:
    """In some twenty steps, up to the longest but for the last percent, which fall into the last step."""
    found = sorted(value for values in series.values() for value in values)
    most = found[min(len(found) - 1, int(0.99 * len(found)))] if found else 1.0
    step = next(s for s in _STEPS if most < 20 * s or s == _STEPS[-1])
    edges = [float(step * n) for n in range(int(most // step) + 2)]
    return Histogram("lengths", "Length of answers", "words", series, edges)


_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)


def _cupid(records: Sequence[Record], metric_set: MetricSet) -> Iterable[Figure]:
    scored = [r["generation"] for r in records if r.get("generation", {}).get("score") is not None]
    rated = {"answers": [float(g["score"]) for g in scored]}
    yield Histogram("ratings", "Ratings of answers", "score", rated, [n + 0.5 for n in range(11)])
    yield Scatter(
        "inference-generation",
        "Inference against generation, an instance a point",
        "recall of the gold checklist",
        "score of the answer",
        [
            (100 * sum(r["inference"]["recall"]) / len(r["inference"]["recall"]), float(r["generation"]["score"]))
            for r in records
            if r.get("inference", {}).get("recall") and r.get("generation", {}).get("score") is not None
        ],
        ((0.0, 100.0), metric_set.range("generation.score")),
    )
    yield _lengths({"answers": [float(len(g["response"].split())) for g in scored]})


def _is_empty(figure: Figure) -> bool:
    if isinstance(figure, Histogram):
        return not any(figure.series.values())
    return not (figure.rows if isinstance(figure, Stack) else getattr(figure, "marks", getattr(figure, "points", ())))
