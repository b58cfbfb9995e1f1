"""The page of a sweep: the curve of score against context, and a table of its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bowstring.benchmarks.figures import Curve, Point
from bowstring.benchmarks.of_run import benchmark_of, metrics_of
from bowstring.benchmarks.standing import abouts_of_points
from bowstring.reports.page import draw_markup, rendered
from bowstring.reports.points import columns_of, lead_of
from bowstring.runs.about import of_several


def write_sweep_page(summary: Mapping[str, Any]) -> str:
    points, metric_set = summary["points"], metrics_of(summary)
    return rendered(
        "sweep.html",
        metric_set,
        s=summary,
        benchmark=benchmark_of(summary),
        about=of_several(abouts_of_points(summary)),
        metric=lead_of(points, metric_set),
        curves=[draw_markup(figure) for figure in sweep_figures(summary)],
        columns=(columns := columns_of(points, metric_set)),
        direction=metric_set.direction_note(columns),
        config=summary["config"],
    )


def sweep_figures(summary: Mapping[str, Any]) -> list[Curve]:
    """The curve of the leading metric; none if the context sizes are unknown."""
    metric_set = metrics_of(summary)
    metric = lead_of(summary["points"], metric_set)
    found = _points(summary["points"], metric) if metric else ()
    across = f"history shown, tokens per {benchmark_of(summary).item.one}"
    return [Curve("context", metric, found, metric_set.scale(metric), across)] if metric and found else []


def _points(points: Mapping[str, Mapping[str, Any]], metric: str) -> Sequence[Point]:
    found = []
    for name, point in points.items():
        e = point["metrics"].get(metric)
        if e is not None and point["context_tokens"] is not None:
            found.append(Point(name, _family(name), point["context_tokens"], e["value"], e["low"], e["high"]))
    return found


def _family(name: str) -> str:
    """The family of a point, joined by one line: a kind of history of any size; none and full belong to the newest."""
    history, _, rest = name.partition(", ")
    kind = history.rpartition("/")[0] or history.partition(":")[0]
    family = "last" if kind in ("none", "last", "full") else kind
    return f"{family}, {rest}" if rest else family
