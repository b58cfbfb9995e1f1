"""Means with 95% clustered bootstrap intervals: questions of one user are not independent.

scores = [Score("user 1", 1.0), Score("user 1", 0.5), Score("user 2", 0.0)]
estimate({"x": scores}, lambda mean: 100 * mean["x"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

DRAWS = 2000
TRUSTED_CLUSTERS = 30  # with fewer, the interval is reported but marked
ROUNDING = 1e-12  # a spread this small is rounding error

Means = Mapping[str, npt.NDArray[np.float64]]


class Score(NamedTuple):
    cluster: str
    value: float


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
    clusters = sorted({score.cluster for scores in components.values() for score in scores})
    index = {cluster: i for i, cluster in enumerate(clusters)}
    sums = {name: np.zeros(len(clusters)) for name in components}
    counts = {name: np.zeros(len(clusters)) for name in components}
    for name, scores in components.items():
        at = [index[score.cluster] for score in scores]
        np.add.at(sums[name], at, [score.value for score in scores])
        np.add.at(counts[name], at, 1.0)
    means = {name: np.asarray([sums[name].sum() / counts[name].sum()]) for name in components}
    value = statistic(means)[0]
    weights = bootstrap_weights(len(clusters))
    with np.errstate(invalid="ignore", divide="ignore"):
        # A draw may contain no score of some component; it is skipped.
        drawn = statistic({name: (weights @ sums[name]) / (weights @ counts[name]) for name in components})
    drawn = drawn[np.isfinite(drawn)]
    low, high = np.percentile(drawn, [2.5, 97.5]) if len(drawn) else (value, value)
    if ends is not None and high - low < ROUNDING:
        low, high = unseen_cluster_bounds(means, statistic, ends, zero_event_upper_bound(len(clusters)))
    n = sum(len(scores) for scores in components.values())
    return Estimate(float(value), float(low), float(high), n, len(clusters))


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
    low, high = np.percentile(drawn[np.isfinite(drawn)], [2.5, 97.5])
    if high - low >= ROUNDING and not _alike(rows):
        return float(low), float(high)
    other, least = zero_event_upper_bound(len(rows)), -1 if signed and value < ROUNDING else 0
    return (1 - other) * value + other * least, (1 - other) * value + other


def _alike(rows: npt.NDArray[Any]) -> bool:
    """Return whether clusters differ in nothing but size."""
    flat = rows.reshape(len(rows), -1)
    shares = flat / np.abs(flat).sum(axis=1, keepdims=True)
    return bool(np.ptp(shares, axis=0).max() < ROUNDING)


@lru_cache(maxsize=8)
def bootstrap_weights(clusters: int) -> npt.NDArray[np.float64]:
    """Return how often each cluster is drawn in each resample; the same for every statistic, so that intervals
    compare."""
    return draw_cluster_weights(clusters, DRAWS)


def draw_cluster_weights(clusters: int, draws: int) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(20250601)
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws).astype(np.float64)
