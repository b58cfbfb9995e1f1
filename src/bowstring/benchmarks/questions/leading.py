"""The main metric of a question benchmark, for a single record: what an audit and people's labels are measured in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bowstring.metrics.measures import Measure, MetricSet


@dataclass(frozen=True, slots=True)
class LeadingMetric:
    name: str
    measure: Measure

    def of(self, record: Mapping[str, Any]) -> float | None:
        """The value of one record on the scale of the metric; None if it contributes nothing."""
        parts = self.measure.parts(record)
        if parts is None or set(parts) != set(self.measure.components):
            return None
        means = {name: np.array([sum(values) / len(values)]) for name, values in parts.items()}
        return float(self.measure.statistic(means)[0])

    @property
    def higher_is_better(self) -> bool:
        return self.measure.higher_is_better

    @property
    def unit(self) -> str:
        """The metric with its range, and its direction where lower is better."""
        scale = self.measure.scale
        return f"{self.name} {scale.low:g}–{scale.high:g}{'' if self.higher_is_better else ', lower is better'}"

    @property
    def places(self) -> int:
        """Decimals to print."""
        decimals = self.measure.scale.decimals
        return 2 if decimals is None else decimals

    @property
    def span(self) -> float:
        return self.measure.scale.high - self.measure.scale.low

    def level(self, share: float) -> float:
        """The value at this share of the way from the worst to the best value."""
        low, high = self.measure.scale.limits
        worst, best = (low, high) if self.higher_is_better else (high, low)
        return round(worst + share * (best - worst), 6)


def leading_metric(metrics: MetricSet) -> LeadingMetric:
    name = metrics.lead(metrics.measures) or next(iter(metrics.measures))
    return LeadingMetric(name, metrics.measures[name])
