"""The metrics of the points of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowstring.metrics.measures import MetricSet

Points = Mapping[str, Mapping[str, Any]]


def lead_of(points: Points, metric_set: MetricSet) -> str | None:
    """The main metric of a sweep, shown by its curve."""
    return metric_set.lead(_names(points))


def columns_of(points: Points, metric_set: MetricSet) -> list[str]:
    """The metrics of its table."""
    return metric_set.sweep_columns(_names(points))


def _names(points: Points) -> set[str]:
    return {name for point in points.values() for name in point["metrics"]}
