"""The largest gap between groups of users, and a permutation test of it.

The gap is the difference between the best and the worst group. Its interval resamples the users of these two groups;
because they were selected for being extreme, the interval describes the precision of the gap, not whether it is real.
`p` tests that: the share of random regroupings of the same users whose largest gap is at least as large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import DRAWS, ClusterSums, Means, Score, draw_cluster_weights, percentile_interval
from bowstring.metrics.intervals import ROUNDING, TRUSTED_CLUSTERS, unseen_cluster_bounds, zero_event_upper_bound

SHUFFLES = 1000
FEWEST = 10  # minimum users per compared group, if at least two groups have that many
_ENDS = (0.0, 1.0)  # range of the scores

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gap:
    value: float
    low: float
    high: float
    n: int  # users
    best: str
    worst: str
    p: float
    trusted: bool

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def largest_gap(groups: Mapping[str, Mapping[str, Sequence[Score]]], statistic: Callable[[Means], Array]) -> Gap | None:
    """Return the largest gap between groups in a statistic of component means; each group is {component: scores}.

    None if there is no gap.
    """
    tables = {name: ClusterSums(components) for name, components in groups.items() if all(components.values())}
    large = {name: table for name, table in tables.items() if len(table.clusters) >= FEWEST}
    tables = large if len(large) > 1 else tables
    if len(tables) < 2:
        return None
    values = {name: float(statistic(table.means())[0]) for name, table in tables.items()}
    best, worst = max(values, key=lambda g: values[g]), min(values, key=lambda g: values[g])
    rng = np.random.default_rng(20250603)
    with np.errstate(invalid="ignore", divide="ignore"):
        above, below = (statistic(_drawn_means(tables[name], rng)) for name in (best, worst))
        shuffled = _shuffled_gaps(list(tables.values()), statistic, rng)
    gap = values[best] - values[worst]
    if gap <= 0:
        return None
    interval = percentile_interval(above - below)
    if min(_spread(above), _spread(below)) > ROUNDING and interval is not None:
        low, high = interval
    else:  # users all alike, or only one: allow for unseen users
        least, most = (
            unseen_cluster_bounds(
                tables[name].means(), statistic, _ENDS, zero_event_upper_bound(len(tables[name].clusters))
            )
            for name in (worst, best)
        )
        low, high = most[0] - least[1], most[1] - least[0]
    # One is added to numerator and denominator: the observed grouping is one of the possible ones.
    p = (1 + int((shuffled >= gap - 1e-9).sum())) / (1 + len(shuffled))
    users = sum(len(table.clusters) for table in tables.values())
    trusted = min(len(tables[best].clusters), len(tables[worst].clusters)) >= TRUSTED_CLUSTERS
    return Gap(gap, low, high, users, best, worst, p, trusted)


def _spread(drawn: Array) -> float:
    found = drawn[np.isfinite(drawn)]
    return float(np.ptp(found)) if len(found) else 0.0


def _drawn_means(table: ClusterSums, rng: np.random.Generator) -> dict[str, Array]:
    return table.drawn_means(draw_cluster_weights(len(table.clusters), DRAWS, rng))


def _shuffled_gaps(
    tables: Sequence[ClusterSums], statistic: Callable[[Means], Array], rng: np.random.Generator
) -> Array:
    """Return the largest gaps when users are assigned at random to groups of the same sizes."""
    sizes = [len(table.clusters) for table in tables]
    starts = np.cumsum([0, *sizes[:-1]])
    order = rng.permuted(np.tile(np.arange(sum(sizes)), (SHUFFLES, 1)), axis=1)
    means = {}
    for component in tables[0].sums:
        sums = np.concatenate([table.sums[component] for table in tables])[order]
        counts = np.concatenate([table.counts[component] for table in tables])[order]
        means[component] = np.add.reduceat(sums, starts, axis=1) / np.add.reduceat(counts, starts, axis=1)
    found = statistic(means)
    found = found[np.isfinite(found).all(axis=1)]  # a random group may lack some question type
    gaps: Array = found.max(axis=1) - found.min(axis=1)
    return gaps
