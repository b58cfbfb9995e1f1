"""Scores with their clusters, and their sums by cluster.

ClusterSums({"x": [Score("user 1", 1.0), Score("user 2", 0.0)]}).means()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Means = Mapping[str, Floats]


class Score(NamedTuple):
    """A score, the cluster that it belongs to (its user), and a group that it may share with scores of other clusters
    (its persona)."""

    cluster: str
    value: float
    group: str | None = None


class ClusterSums:
    """Sums and counts of each component by cluster, sorted by cluster."""

    def __init__(self, components: Mapping[str, Sequence[Score]]) -> None:
        self.clusters = sorted({score.cluster for scores in components.values() for score in scores})
        index = {cluster: n for n, cluster in enumerate(self.clusters)}
        self.sums, self.counts = ({name: np.zeros(len(index)) for name in components} for _ in range(2))
        for name, scores in components.items():
            at = [index[score.cluster] for score in scores]
            np.add.at(self.sums[name], at, [score.value for score in scores])
            np.add.at(self.counts[name], at, 1.0)

    def means(self) -> dict[str, Floats]:
        """Return each component's mean over all clusters."""
        return {name: np.asarray([self.sums[name].sum() / self.counts[name].sum()]) for name in self.sums}
