"""Paired comparison of two runs on the same items: difference, interval, p-value, and the sample size needed.

before = {"x": [Score("user 1", 1.0), Score("user 2", 0.0)]}
after = {"x": [Score("user 1", 1.0), Score("user 2", 1.0)]}
difference(before, after, lambda mean: 100 * mean["x"], items=2)

Differences are taken per user: a user's difficulty affects both runs and cancels out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Means, Score
from bowstring.metrics.distributions import student_t_p_value, student_t_quantile
from bowstring.metrics.intervals import (
    OF_CHANGES,
    TRUSTED_CLUSTERS,
    contributing_clusters,
    df_of_sizes,
    effective_df,
    interval_of,
    without_own_mean,
)
from bowstring.metrics.linear import Ends, Linearized, Places, changes, columns_of, linearize, net_change, sums_by

LEVEL = 0.05
POWER = 0.8
_ROUNDING = 1e-9  # a difference this small is rounding error
_ROUNDS = 20  # of a search that settles in a few

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """The second run minus the first, in the units of the metric; `n` counts the items that both have."""

    value: float
    low: float
    high: float
    p: float
    error: float  # clustered standard error
    n: int
    clusters: int

    @property
    def trusted(self) -> bool:
        return self.clusters >= TRUSTED_CLUSTERS

    @property
    def level(self) -> float:
        """The significance threshold for p; with several comparisons, before Holm's correction."""
        return LEVEL

    @property
    def least_clusters(self) -> int:
        """The minimum number of clusters at which any difference can be significant."""
        return least_clusters(self.level)

    @property
    def detectable(self) -> float | None:
        """The smallest true difference detectable with 80% power; None if there are too few clusters to say. It is not
        smaller than what the interval leaves open."""
        if self.clusters < self.least_clusters + _SPARE_CLUSTERS:
            return None
        return max(_power_multiplier(self.level, self.clusters - 1) * self.error, (self.high - self.low) / 2)

    def as_json(self) -> dict[str, Any]:
        told = {"trusted": self.trusted, "least_clusters": self.least_clusters, "detectable": self.detectable}
        return asdict(self) | told


@dataclass(frozen=True, slots=True)
class CorrectedDifference(Difference):
    """One of several comparisons. `corrected` is the Holm-corrected p, `comparisons` the smallest factor Holm
    multiplies it by, `left_out` counts the items that only one side has. `contested`: with the failures of both sides
    at the worst score the difference would not have this sign, so that it shows nothing."""

    corrected: float
    comparisons: int
    left_out: int
    contested: bool = False

    @property
    def level(self) -> float:
        return LEVEL / self.comparisons

    @property
    def significant(self) -> bool:
        return self.corrected < LEVEL and not self.contested

    def swapped(self) -> CorrectedDifference:
        """Return the same comparison with the sides exchanged."""
        return replace(self, value=-self.value, low=-self.high, high=-self.low)


# So many clusters more than can show anything: with fewer, power depends on whether every one of them differs.
_SPARE_CLUSTERS = 2


def _power_multiplier(level: float, df: float) -> float:
    """Return how many standard errors a true difference must be for 80% power, two-sided."""
    return student_t_quantile(1 - level / 2, df) + student_t_quantile(POWER, df)


def difference(
    first: Mapping[str, Sequence[Score]],
    second: Mapping[str, Sequence[Score]],
    statistic: Callable[[Means], Floats],
    *,
    items: int,
    ends: Ends | None = None,
) -> Difference | None:
    """Estimate a paired difference of a statistic of component means, with an interval and a p-value.

    Both sides must have scores of the same items. Return None if a side lacks a component. `ends` are the lowest and
    highest possible score; by default those that occur.

    The test is a t-test of the users' contributions. Its degrees of freedom count the users that contribute, so that
    a few users who differ are not taken for many; one item more in each direction is added to the variance, so that
    runs without any difference are not taken for certainly equal; and p is never below that of a sign test in which
    all users that differ agree.
    """
    if not first or not all(first.values()) or not all(second.values()):
        return None
    if ends is None:
        values = [score.value for side in (first, second) for scores in side.values() for score in scores]
        low, high = min(values), max(values)
        ends = (low, high if high > low else low + 1)
    (one, other), clusters = columns_of(first, second)
    before, after = (linearize(side, statistic, ends, clusters) for side in (one, other))
    return difference_of(before, after, items)


def difference_of(before: Linearized, after: Linearized, items: int, *, by_item: bool = True) -> Difference:
    """Return the difference of two linearized statistics; `by_item`: their scores are of the same items."""
    value, clusters = after.value - before.value, after.clusters
    signed = np.concatenate([-before.influence, after.influence])
    places = np.concatenate([before.cluster, after.cluster])
    span = max(before.most, after.most) - min(before.least, after.least)
    if clusters < 2:
        return Difference(value, -span, span, 1.0, span, items, clusters)
    sums = sums_by(places, signed, clusters)
    raw = sums_by(places, np.concatenate([-before.moved, after.moved]), clusters)
    one_more = sum(float((side.weight**2 / side.n_of).sum()) for side in (before, after)) / 2
    weights = np.concatenate([before.weight, after.weight])
    variance = without_own_mean(places, weights, sums) + one_more
    variance += _shared_by_groups(signed, places, np.concatenate([before.group, after.group]), clusters)
    error = math.sqrt(variance)
    differing = int((np.abs(raw) > _ROUNDING * span / max(1, items)).sum())
    df = degrees_of_freedom(raw)
    if by_item:
        df = min(df, df_of_sizes(net_change(before, after), OF_CHANGES))
    p = min(1.0, max(student_t_p_value(value / error, df), _least_p(differing)))
    reach = student_t_quantile(0.975, df) * error
    low, high = _limits(value, before, after, reach) if by_item else (value - reach, value + reach)
    low, high = max(-span, low), min(span, high)
    if p >= LEVEL:  # the sign test may be the stricter one
        low, high = min(low, 0.0), max(high, 0.0)
    return Difference(value, low, high, p, error, items, clusters)


def _limits(value: float, before: Linearized, after: Linearized, reach: float) -> tuple[float, float]:
    """Return the limits of the interval; `reach` is that of the t-test.

    Gains and losses may be rare and come in clusters: a sample shows few of them, or none. The limit away from zero
    allows for those that were not seen, as the interval of a single score does. The limit towards zero is that of the
    test if the difference is significant, and approaches the wider one as the difference approaches zero.
    """
    gains, losses = changes(before, after)
    (least_gained, most_gained), (least_lost, most_lost) = (
        interval_of(side, prior=OF_CHANGES) for side in (gains, losses)
    )
    up = max(reach, math.hypot(most_gained - gains.value, losses.value - least_lost))
    down = max(reach, math.hypot(most_lost - losses.value, gains.value - least_gained))
    certain = min(1.0, abs(value) / reach) ** 4
    if value >= 0:
        down = certain * reach + (1 - certain) * down
    else:
        up = certain * reach + (1 - certain) * up
    return value - down, value + up


_PRIOR_CLUSTERS = 4.0  # added to the number of clusters that contribute, for the degrees of freedom
_CLUSTER_DF = 1.5  # degrees of freedom per contributing cluster: 2, less what few clusters hide


def degrees_of_freedom(sums: Floats) -> float:
    """Return the degrees of freedom of a t-test of contributions by cluster: few where few clusters contribute."""
    return min(len(sums) - 1, max(1.0, _CLUSTER_DF * (contributing_clusters(sums) + _PRIOR_CLUSTERS)))


def _shared_by_groups(signed: Floats, clusters: Places, groups: Places, size: int) -> float:
    """Return the variance of pairs of items that share a group but not a cluster."""
    there = groups >= 0
    if not there.any():
        return 0.0
    both = np.unique(groups[there] * size + clusters[there], return_inverse=True)[1].reshape(-1)
    in_groups, in_both = (float((np.bincount(at, weights=signed[there]) ** 2).sum()) for at in (groups[there], both))
    return max(0.0, in_groups - in_both)


def _least_p(clusters: int) -> float:
    """Return the smallest possible p: c clusters all point the same way by chance with probability 2^(1-c)."""
    return float(2.0 ** (1 - max(1, clusters)))


@cache
def least_clusters(level: float = LEVEL) -> int:
    """Return the minimum number of users or personas for a p below `level` to be possible."""
    return next(clusters for clusters in count(1) if _least_p(clusters) < level)


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple comparisons by Holm's method."""
    corrected = [0.0] * len(ps)
    at_least = 0.0
    for rank, n in enumerate(sorted(range(len(ps)), key=lambda n: ps[n])):
        at_least = max(at_least, min(1.0, (len(ps) - rank) * ps[n]))
        corrected[n] = at_least
    return corrected


def minimum_holm_factors(clusters: Sequence[int]) -> list[int]:
    """Return the smallest factor that Holm applies to each p, given the cluster counts of all comparisons: only
    comparisons with more clusters can have a p below this one's minimum."""
    return [sum(other <= own for other in clusters) for own in clusters]


def clusters_needed(found: Difference, apart: float) -> int | None:
    """Return how many users or personas would detect a true difference of `apart` with 80% power.

    Extrapolated from the observed standard error, which shrinks with the square root of the cluster count, and never
    below the number from which power can be stated. None if undefined.
    """
    if found.clusters < 2 or found.error <= _ROUNDING or abs(apart) <= _ROUNDING:
        return None
    enough = found.least_clusters + _SPARE_CLUSTERS
    for _ in range(_ROUNDS):  # the fewer clusters, the larger the multiplier
        needed = found.clusters * (_power_multiplier(found.level, enough - 1) * found.error / apart) ** 2
        enough = max(found.least_clusters + _SPARE_CLUSTERS, math.ceil(needed))
    return enough


# What two runs are assumed to be like before either has started (docs/statistics.md).
DIFFERING = 0.25  # the share of items on which they differ
_ALIKE = 0.1  # the correlation of differences within a cluster


def planned_difference(sizes: Sequence[int]) -> float | None:
    """Return the smallest true difference that clusters with so many items can show with 80% power, as a share of the
    range of a score; None if they are too few for any."""
    if len(sizes) < least_clusters():
        return None
    items = np.asarray(sizes, dtype=np.float64)
    variances = items * (1 + (items - 1) * _ALIKE)
    error = math.sqrt(DIFFERING * float(variances.sum())) / float(items.sum())
    found = error * _power_multiplier(LEVEL, effective_df(variances))
    return found if found < DIFFERING else None  # runs that differ on a quarter of the items differ by no more


def rank_ranges(names: Sequence[str], beaten: Collection[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Return the best and worst rank each name can have, given significant pairs (better, worse)."""
    return {
        name: (1 + sum(worse == name for _, worse in beaten), len(names) - sum(better == name for better, _ in beaten))
        for name in names
    }
