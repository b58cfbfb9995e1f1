"""Means with 95% clustered bootstrap intervals: questions of one user are not independent.

scores = [Score("user 1", 1.0), Score("user 1", 0.5), Score("user 2", 0.0)]
estimate({"x": scores}, lambda mean: 100 * mean["x"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import ClusterSums, Means, Score, bootstrap_weights, percentile_interval

TRUSTED_CLUSTERS = 30  # with fewer, the interval is reported but marked
ROUNDING = 1e-12  # a spread this small is rounding error


@dataclass(frozen=True, slots=True)
class Estimate:
    value: float
    low: float
    high: float
    n: int
    clusters: int

    @property
    def trusted(self) -> bool:
        return self.clusters >= TRUSTED_CLUSTERS

    def as_json(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "clusters": self.clusters,
            "trusted": self.trusted,
        }


def estimate(
    components: Mapping[str, Sequence[Score]],
    statistic: Callable[[Means], npt.NDArray[np.float64]],
    *,
    ends: tuple[float, float] | None = None,
) -> Estimate | None:
    """Estimate a statistic of component means, with a percentile interval over resampled clusters.

    Return None if a component has no scores. All components share the resampled clusters. `ends` are the lowest and
    highest possible score. If all clusters are alike (or there is only one), resampling would give a zero-width
    interval; the interval then allows for unseen clusters, by the exact binomial bound.
    """
    if not components or not all(components.values()):
        return None
    sums = ClusterSums(components)
    clusters = len(sums.clusters)
    means = sums.means()
    value = float(statistic(means)[0])
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = statistic(sums.drawn_means(bootstrap_weights(clusters)))
    low, high = percentile_interval(drawn) or (value, value)
    if ends is not None and high - low < ROUNDING:
        low, high = unseen_cluster_bounds(means, statistic, ends, zero_event_upper_bound(clusters))
    n = sum(len(scores) for scores in components.values())
    return Estimate(value, low, high, n, clusters)


def unseen_cluster_bounds(
    means: Means, statistic: Callable[[Means], npt.NDArray[np.float64]], ends: tuple[float, float], other: float
) -> tuple[float, float]:
    """Return the range of a statistic if a share `other` of unseen clusters had the lowest or the highest score."""
    low, high = sorted(
        float(statistic({n: (1 - other) * m + other * end for n, m in means.items()})[0]) for end in ends
    )
    return low, high


def zero_event_upper_bound(clusters: int) -> float:
    """Return the upper bound on a share of which none was seen in `clusters` clusters (exact binomial, 97.5%)."""
    return 1.0 - float(0.025 ** (1 / clusters))


def agreement_interval(
    value: float, drawn: npt.NDArray[np.float64], rows: npt.NDArray[Any], *, signed: bool
) -> tuple[float, float]:
    """Return the bootstrap interval of an agreement measure; `rows` holds each cluster's contribution.

    If all clusters are alike, the interval allows for unseen clusters that agree fully or not at all. Not at all is 0,
    or, for a chance-corrected measure at or below chance level, -1.
    """
    interval = percentile_interval(drawn)
    if interval is not None and interval[1] - interval[0] >= ROUNDING and not _alike(rows):
        return interval
    other, least = zero_event_upper_bound(len(rows)), -1 if signed and value < ROUNDING else 0
    return (1 - other) * value + other * least, (1 - other) * value + other


def _alike(rows: npt.NDArray[Any]) -> bool:
    """Return whether clusters differ in nothing but size."""
    flat = rows.reshape(len(rows), -1)
    shares = flat / np.abs(flat).sum(axis=1, keepdims=True)
    return bool(np.ptp(shares, axis=0).max() < ROUNDING)
