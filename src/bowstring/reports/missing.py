"""Missing scores, as tables show them: how many, and what the value could be if they were there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

HEADS = ("missing", "as worst", "bounds")
ABOUT = (
    "missing: items whose request failed or whose verdict could not be parsed; they are left out of the value. as "
    "worst: the value if they had the worst possible score. bounds: the value if they had the lowest score, and if "
    "they had the highest; given where more than 2% are missing."
)


def shown_metrics(metrics: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the metrics of a run as tables show them: first those without a value, because no item has a score."""
    unscored = metrics.get("unscored") or {}
    nothing = {"value": None, "low": None, "high": None, "n": 0, "clusters": 0, "trusted": True}
    scored: Mapping[str, Mapping[str, Any]] = metrics["metrics"]
    return {name: nothing | {"missing": missing} for name, missing in unscored.items()} | dict(scored)


def missing_scores(e: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of items that an estimate in metrics.json lacks, and of records."""
    missing = e.get("missing") or {}
    items = int(missing.get("items", 0))
    return items, max(items, int(missing.get("records", 0)))


def any_missing(metrics: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(missing_scores(e)[1] for e in metrics.values())


def missing_cells(e: Mapping[str, Any], number: Callable[[float], str]) -> tuple[str, str, str]:
    """Return the number of missing items, the value with them as worst, and the bounds, as text."""
    items, records = missing_scores(e)
    if not e.get("missing"):
        return "", "", ""
    if not records:
        return "0", number(e["value"]), ""
    bounds = e["missing"]["bounds"]
    between = "" if bounds is None else f"{number(bounds[0])} – {number(bounds[1])}"
    lacking = f"{items:,}" if items == records else f"{items:,} ({records:,} records)"
    return lacking, number(e["missing"]["as_worst"]), between
