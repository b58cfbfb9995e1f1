"""The clustered bootstrap: sums by cluster, cluster weights of every draw, and percentile intervals.

sums = ClusterSums({"x": [Score("user 1", 1.0), Score("user 2", 0.0)]})
drawn = 100 * sums.drawn_means(bootstrap_weights(len(sums.clusters)))["x"]
percentile_interval(drawn)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

DRAWS = 2000
_SEED = 20250601

Floats = npt.NDArray[np.float64]
Means = Mapping[str, Floats]


class Score(NamedTuple):
    """A score, the cluster that it belongs to (its user), and a group that it may share with scores of other clusters
    (its persona)."""

    cluster: str
    value: float
    group: str | None = None


class ClusterSums:
    """Sums and counts of each component by cluster; by default the clusters that have scores, sorted."""

    def __init__(self, components: Mapping[str, Sequence[Score]], clusters: Sequence[str] | None = None) -> None:
        self.clusters = clusters_of(components) if clusters is None else list(clusters)
        index = {cluster: n for n, cluster in enumerate(self.clusters)}
        self.sums, self.counts = ({name: np.zeros(len(index)) for name in components} for _ in range(2))
        for name, scores in components.items():
            at = [index[score.cluster] for score in scores]
            np.add.at(self.sums[name], at, [score.value for score in scores])
            np.add.at(self.counts[name], at, 1.0)

    def means(self) -> dict[str, Floats]:
        """Return each component's mean over all clusters."""
        return {name: np.asarray([self.sums[name].sum() / self.counts[name].sum()]) for name in self.sums}

    def drawn_means(self, weights: Floats) -> dict[str, Floats]:
        """Return each component's mean per draw; NaN if the draw has no score of it."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return {name: (weights @ self.sums[name]) / (weights @ self.counts[name]) for name in self.sums}


def clusters_of(*sides: Mapping[str, Sequence[Score]]) -> list[str]:
    """Return the clusters of all scores, sorted."""
    return sorted({score.cluster for side in sides for scores in side.values() for score in scores})


@lru_cache(maxsize=8)
def bootstrap_weights(clusters: int) -> Floats:
    """Return how often each cluster is drawn in each resample; the same for every statistic, so that intervals
    compare."""
    return draw_cluster_weights(clusters, DRAWS)


def draw_cluster_weights(clusters: int, draws: int, rng: np.random.Generator | None = None) -> Floats:
    """Draw as many clusters as there are, with replacement, `draws` times; by default from a fixed seed."""
    generator = np.random.default_rng(_SEED) if rng is None else rng
    return generator.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws).astype(np.float64)


def sums_of_draws(by_cluster: Floats) -> Floats:
    """Return the sum over the clusters of every draw; the first axis is the cluster."""
    drawn: Floats = np.tensordot(bootstrap_weights(len(by_cluster)), by_cluster, 1)
    return drawn


def percentile_interval(drawn: Floats) -> tuple[float, float] | None:
    """Return the 95% percentile interval over the finite draws; None if there are none."""
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return None
    low, high = np.percentile(finite, [2.5, 97.5])
    return float(low), float(high)
