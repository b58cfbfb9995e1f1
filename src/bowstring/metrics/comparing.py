"""Paired comparison of two runs on the same items: difference, interval, p-value, and the sample size needed.

before = {"x": [Score("user 1", 1.0), Score("user 2", 0.0)]}
after = {"x": [Score("user 1", 1.0), Score("user 2", 1.0)]}
difference(before, after, lambda mean: 100 * mean["x"], items=2)

Both sides are resampled together, by cluster: a user's difficulty affects both runs and cancels out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from itertools import count
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import (
    ClusterSums,
    Means,
    Score,
    bootstrap_weights,
    clusters_of,
    draw_cluster_weights,
    percentile_interval,
)
from bowstring.metrics.intervals import TRUSTED_CLUSTERS, unseen_cluster_bounds, zero_event_upper_bound

FINE_DRAWS = 10_000  # when every pair is compared: p must stay small after correction for multiple comparisons
LEVEL = 0.05
POWER = 0.8
_ROUNDING = 1e-9  # a difference this small is rounding error

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
        """The smallest true difference detectable with 80% power; None if there are too few clusters."""
        return _power_multiplier(self.level) * self.error if self.clusters >= self.least_clusters else None

    def as_json(self) -> dict[str, Any]:
        told = {"trusted": self.trusted, "least_clusters": self.least_clusters, "detectable": self.detectable}
        return asdict(self) | told


@dataclass(frozen=True, slots=True)
class CorrectedDifference(Difference):
    """One of several comparisons. `corrected` is the Holm-corrected p, `comparisons` the smallest factor Holm
    multiplies it by, `left_out` counts the items that only one side has."""

    corrected: float
    comparisons: int
    left_out: int

    @property
    def level(self) -> float:
        return LEVEL / self.comparisons

    @property
    def significant(self) -> bool:
        return self.corrected < LEVEL

    def swapped(self) -> CorrectedDifference:
        """Return the same comparison with the sides exchanged."""
        return replace(self, value=-self.value, low=-self.high, high=-self.low)


def _power_multiplier(level: float) -> float:
    """Return how many standard errors a true difference must be for 80% power, two-sided."""
    return NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(POWER)


def difference(
    first: Mapping[str, Sequence[Score]],
    second: Mapping[str, Sequence[Score]],
    statistic: Callable[[Means], Floats],
    *,
    items: int,
    ends: tuple[float, float] | None = None,
    fine: bool = False,
) -> Difference | None:
    """Estimate a paired difference of a statistic of component means, with a bootstrap interval and p-value.

    Both sides must have scores of the same items. Return None if a side lacks a component. `ends` are the lowest and
    highest possible score, used as in `estimate` if all clusters differ alike. `fine` takes more draws.
    """
    if not first or not all(first.values()) or not all(second.values()):
        return None
    clusters = clusters_of(first, second)
    weights = (_fine_bootstrap_weights if fine else bootstrap_weights)(len(clusters))
    value, drawn, means = np.zeros(1), np.zeros(len(weights)), []
    for sign, side in ((-1, first), (1, second)):
        sums = ClusterSums(side, clusters)
        means.append(sums.means())
        value = value + sign * statistic(means[-1])
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = drawn + sign * statistic(sums.drawn_means(weights))
    drawn = drawn[np.isfinite(drawn)]  # a draw may contain no score of some component; it is skipped
    low, high = percentile_interval(drawn) or (float(value[0]), float(value[0]))
    # With few clusters the bootstrap underestimates the variance by a factor (n-1)/n, as the plain sample variance
    # does.
    widened = math.sqrt(len(clusters) / (len(clusters) - 1)) if len(clusters) > 1 else 0.0
    error = widened * float(drawn.std()) if len(drawn) else 0.0
    p = _p_value(drawn, len(clusters))
    if ends is not None and high - low < _ROUNDING:
        low, high = _unseen_difference_bounds(means[0], means[1], statistic, ends, len(clusters))
        error = (high - low) / 2 / NormalDist().inv_cdf(0.975)
    return Difference(float(value[0]), float(low), float(high), p, error, items, len(clusters))


def _unseen_difference_bounds(
    first: Means, second: Means, statistic: Callable[[Means], Floats], ends: tuple[float, float], clusters: int
) -> tuple[float, float]:
    """Return the range of a difference if all clusters differ alike: unseen clusters could differ in any way or, with
    enough clusters to show a direction, at worst not at all."""
    others = zero_event_upper_bound(clusters)
    (least, most), (low, high) = (unseen_cluster_bounds(side, statistic, ends, others) for side in (first, second))
    value = float((statistic(second) - statistic(first))[0])
    if abs(value) <= _ROUNDING or clusters < least_clusters():
        return low - most, high - least
    unmoved = {name: (1 - others) * mean + others * first[name] for name, mean in second.items()}
    nearest = float((statistic(unmoved) - statistic(first))[0])
    return (nearest, high - least) if value > 0 else (low - most, nearest)


@lru_cache(maxsize=1)  # 100 MB at the published size
def _fine_bootstrap_weights(clusters: int) -> Floats:
    return draw_cluster_weights(clusters, FINE_DRAWS)


def _p_value(drawn: Floats, clusters: int) -> float:
    """Return the two-sided p-value consistent with the interval: the smallest level whose interval excludes zero.

    One is added to numerator and denominator, because the observed outcome is one of the possible ones.
    """
    beyond = min(int((drawn <= _ROUNDING).sum()), int((drawn >= -_ROUNDING).sum()))
    p = 2 * (1 + beyond) / (1 + len(drawn))
    return min(1.0, max(p, _least_p(clusters)))


def _least_p(clusters: int) -> float:
    """Return the smallest possible p: c clusters all point the same way by chance with probability 2^(1-c)."""
    return 2.0 ** (1 - clusters)


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
    below the minimum at which anything can be significant. None if undefined.
    """
    if found.clusters < 2 or found.error <= _ROUNDING or abs(apart) <= _ROUNDING:
        return None
    enough = math.ceil(found.clusters * (_power_multiplier(found.level) * found.error / apart) ** 2)
    return max(found.least_clusters, enough)


def rank_ranges(names: Sequence[str], beaten: Collection[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Return the best and worst rank each name can have, given significant pairs (better, worse)."""
    return {
        name: (1 + sum(worse == name for _, worse in beaten), len(names) - sum(better == name for better, _ in beaten))
        for name in names
    }
