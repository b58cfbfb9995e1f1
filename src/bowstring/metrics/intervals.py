"""Means with 95% intervals, resampled by cluster: questions of one user are not independent.

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
TRUSTED_CLUSTERS = 30  # below this the interval is given, and marked
ROUNDING = 1e-12  # a spread that is rounding

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
    """A statistic of the components' means, with a percentile interval over resampled clusters.

    None where a component has no scores at all. All components share the clusters that are drawn. `ends` are the least
    and the greatest score there can be: where all clusters are alike (or there is but one), resampling would be
    certain, and the interval is instead that of so many clusters without exception, by the exact binomial bound.
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
        # A draw may hold no score of some component; it says nothing then.
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
    """What a statistic may be where all clusters were alike, but a share of `other` ones could be anything."""
    low, high = sorted(
        float(statistic({n: (1 - other) * m + other * end for n, m in means.items()})[0]) for end in ends
    )
    return low, high


def zero_event_upper_bound(clusters: int) -> float:
    """How many there may be, as a share, where none of so many clusters was one: the exact binomial bound of 97.5%."""
    return 1.0 - float(0.025 ** (1 / clusters))


def agreement_interval(
    value: float, drawn: npt.NDArray[np.float64], rows: npt.NDArray[Any], *, signed: bool
) -> tuple[float, float]:
    """The interval of an agreement by its draws; `rows` are what each cluster adds to it. Where all clusters are alike,
    a share of others could agree throughout, or not at all: that is 0, and for a number with a sign, which is 0 by
    chance, less where no more than chance was seen."""
    low, high = np.percentile(drawn[np.isfinite(drawn)], [2.5, 97.5])
    if high - low >= ROUNDING and not _alike(rows):
        return float(low), float(high)
    other, least = zero_event_upper_bound(len(rows)), -1 if signed and value < ROUNDING else 0
    return (1 - other) * value + other * least, (1 - other) * value + other


def _alike(rows: npt.NDArray[Any]) -> bool:
    """Whether clusters differ in nothing but how much they add."""
    flat = rows.reshape(len(rows), -1)
    shares = flat / np.abs(flat).sum(axis=1, keepdims=True)
    return bool(np.ptp(shares, axis=0).max() < ROUNDING)


@lru_cache(maxsize=8)
def bootstrap_weights(clusters: int) -> npt.NDArray[np.float64]:
    """How often each cluster is drawn, draw by draw; the same for every statistic, so that intervals compare."""
    return draw_cluster_weights(clusters, DRAWS)


def draw_cluster_weights(clusters: int, draws: int) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(20250601)
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws).astype(np.float64)
