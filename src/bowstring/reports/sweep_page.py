"""The page of a sweep: the curve of score against context, and a table of its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bowstring.reports.figures import Curve, Point
from bowstring.reports.numbers import in_range
from bowstring.reports.page import drawn, rendered

# What a sweep is about, the first that its points have; and what else its table shows.
_MAIN = ("score.total", "score.persona", "score.profile", "score.schedule", "inference.f1", "generation.score")
_RECALL = "recall.total"
_COLUMNS = (
    *_MAIN[:4],
    "win",
    "tie",
    "lose",
    "bleu",
    "rouge_l",
    "consistency",
    "inference.precision",
    "inference.recall",
    *_MAIN[4:],
    _RECALL,
    "recall.persona",
    "recall.profile",
    "recall.schedule",
)


def main_metric(points: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The metric that a sweep's curve shows."""
    names = (*_MAIN, _RECALL, "recall.persona", "recall.profile", "recall.schedule")
    return next((name for name in names if any(name in p["metrics"] for p in points.values())), None)


def columns(points: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [name for name in _COLUMNS if any(name in p["metrics"] for p in points.values())]


def write_sweep_page(summary: Mapping[str, Any]) -> str:
    points = summary["points"]
    metric = main_metric(points)
    return rendered(
        "sweep.html",
        s=summary,
        metric=metric,
        curves=[drawn(figure) for figure in sweep_figures(summary)],
        columns=columns(points),
        config=summary["config"],
    )


def sweep_figures(summary: Mapping[str, Any]) -> list[Curve]:
    """The curve of the main metric; none where nothing says how much the points saw."""
    metric = main_metric(summary["points"])
    found = _points(summary["points"], metric) if metric else ()
    return [Curve("context", metric, found, in_range(metric))] if metric and found else []


def _points(points: Mapping[str, Mapping[str, Any]], metric: str) -> Sequence[Point]:
    found = []
    for name, point in points.items():
        e = point["metrics"].get(metric)
        if e is not None and point["context_tokens"] is not None:
            found.append(Point(name, _family(name), point["context_tokens"], e["value"], e["low"], e["high"]))
    return found


def _family(name: str) -> str:
    """Points that one line joins: those of a kind of history, whatever its size; none and full end the newest's."""
    history, _, rest = name.partition(", ")
    kind = history.rpartition("/")[0] or history.partition(":")[0]
    family = "last" if kind in ("none", "last", "full") else kind
    return f"{family}, {rest}" if rest else family
