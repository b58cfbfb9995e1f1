"""The page of a sweep: the curve of score against context, and a table of its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from bowstring.reports.curve import Point, draw
from bowstring.reports.page import environment, in_range

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
    template = environment().from_string((files("bowstring.reports") / "sweep.html").read_text(encoding="utf-8"))
    return template.render(
        s=summary,
        metric=metric,
        curve=_curve(points, metric) if metric else None,
        columns=columns(points),
        config=summary["config"],
    )


def _curve(points: Mapping[str, Mapping[str, Any]], metric: str) -> str | None:
    from markupsafe import Markup

    found = _points(points, metric)
    return Markup(draw(found, metric, in_range(metric))) if found else None  # noqa: S704 - draw() escapes


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
