"""The figures of a run: metrics, the figures of its benchmark, and breakdowns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bowstring.benchmarks.figures import Figure, Intervals, Mark, is_empty
from bowstring.benchmarks.of_run import benchmark_of, metrics_of
from bowstring.benchmarks.view import Record
from bowstring.metrics.measures import Family, MetricSet, Scale

Estimates = Mapping[str, Mapping[str, Any]]  # by metric


def figures_of(metrics: Mapping[str, Any], records: Sequence[Record]) -> list[Figure]:
    """All figures of a run, without empty ones."""
    of_axes = [figure for figures in axis_figures(metrics).values() for figure in figures]
    return [*main_figures(metrics, records), *of_axes]


def main_figures(metrics: Mapping[str, Any], records: Sequence[Record]) -> list[Figure]:
    """The figures of all records."""
    metric_set = metrics_of(metrics)
    of_records = benchmark_of(metrics).view().figures(records, metric_set)
    found: list[Figure] = [*_families(metrics["metrics"], metric_set), *of_records]
    return [figure for figure in found if not is_empty(figure)]


def axis_figures(metrics: Mapping[str, Any]) -> dict[str, list[Figure]]:
    """One figure per breakdown and metric, with one mark per group."""
    metric_set = metrics_of(metrics)
    found: dict[str, list[Figure]] = {}
    for axis, groups in metrics["groups"].items():
        has = {metric for group in groups.values() for metric in group}
        shown = () if axis in metric_set.axes_without_figure else metric_set.group_metrics(has.__contains__)
        found[axis] = [_by_axis(axis, groups, metric, metric_set) for metric in shown]
    return found


def _by_axis(axis: str, groups: Mapping[str, Estimates], metric: str, metric_set: MetricSet) -> Intervals:
    scale = metric_set.scale(metric)
    marks = [_mark(group, own[metric], scale, scale) for group, own in groups.items() if metric in own]
    name = f"{metric.replace('.', '-')}-by-{axis}"
    return Intervals(name, f"{metric} by {axis}", marks, scale)


def _families(metrics: Estimates, metric_set: MetricSet) -> Iterable[Intervals]:
    """One figure per family of metrics; without families, one figure of all metrics on the scale of the leading one."""
    primary = [name for name in metrics if name not in metric_set.secondary]
    for family, about in metric_set.families.items():
        names = [name for name in primary if name.startswith(f"{family}.")]
        yield from _family(family, about, {name.partition(".")[2]: name for name in names}, metrics, metric_set)
    if not metric_set.families and (lead := metric_set.lead(metrics)) is not None:
        alike = [name for name in primary if metric_set.range(name) == metric_set.range(lead)]
        yield from _family("metrics", Family("Scores"), {name: name for name in alike}, metrics, metric_set)


def _family(
    name: str, about: Family, labels: Mapping[str, str], metrics: Estimates, metric_set: MetricSet
) -> Iterable[Intervals]:
    if labels:
        scales = {label: metric_set.scale(metric) for label, metric in labels.items()}
        low, high = min(one.low for one in scales.values()), max(one.high for one in scales.values())
        axis = replace(next(iter(scales.values())), low=low, high=high)
        marks = [_mark(label, metrics[metric], scales[label], axis) for label, metric in labels.items()]
        yield Intervals(name, about.title, marks, axis)


def _mark(label: str, e: Mapping[str, Any], scale: Scale, axis: Scale) -> Mark:
    most = scale.high if scale.high < axis.high else None
    return Mark(label, e["value"], e["low"], e["high"], e["n"], e["trusted"], most, scale.ceiling)
