"""Two runs on the same items: how far apart they are, how well that is known, and what it would take to know it.

before = {"x": [Score("user 1", 1.0), Score("user 2", 0.0)]}
after = {"x": [Score("user 1", 1.0), Score("user 2", 1.0)]}
difference(before, after, lambda mean: 100 * mean["x"], items=2)

Both sides are resampled together, by cluster: what makes a user hard is hard for both runs, and cancels out.
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

from bowstring.metrics.intervals import (
    TRUSTED_CLUSTERS,
    Means,
    Score,
    bootstrap_weights,
    draw_cluster_weights,
    unseen_cluster_bounds,
    zero_event_upper_bound,
)

FINE_DRAWS = 10_000  # where every pair is compared: p has to stay small when it is corrected for their number
LEVEL = 0.05
POWER = 0.8
_ROUNDING = 1e-9  # a difference as small as this is rounding

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """The second less the first, in the units of the metric; n counts the items that both have."""

    value: float
    low: float
    high: float
    p: float
    error: float  # the standard error, by cluster
    n: int
    clusters: int

    @property
    def trusted(self) -> bool:
        return self.clusters >= TRUSTED_CLUSTERS

    @property
    def level(self) -> float:
        """What p has to be below; where there are several comparisons, this is before Holm."""
        return LEVEL

    @property
    def least_clusters(self) -> int:
        """With fewer, no difference can be shown, however large."""
        return least_clusters(self.level)

    @property
    def detectable(self) -> float | None:
        """The smallest true difference that so many clusters would show with 80% power; None where they show none."""
        return _power_multiplier(self.level) * self.error if self.clusters >= self.least_clusters else None

    def as_json(self) -> dict[str, Any]:
        told = {"trusted": self.trusted, "least_clusters": self.least_clusters, "detectable": self.detectable}
        return asdict(self) | told


@dataclass(frozen=True, slots=True)
class CorrectedDifference(Difference):
    """One of several comparisons: `corrected` is p as Holm corrects it for their number, `comparisons` how many times
    over at the least, `left_out` counts the items that only one side has."""

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
        """The same, with the sides exchanged."""
        return replace(self, value=-self.value, low=-self.high, high=-self.low)


def _power_multiplier(level: float) -> float:
    """How many standard errors a true difference has to be for 80% power, two-sided."""
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
    """A paired difference of a statistic of component means, with percentile interval and p over resampled clusters.

    The scores of both sides are of the same items. None where a side lacks a component. `ends` are the least and the
    greatest score there can be, for clusters that all differ alike, as in `estimate`. `fine` takes more draws.
    """
    if not first or not all(first.values()) or not all(second.values()):
        return None
    clusters = sorted({s.cluster for side in (first, second) for scores in side.values() for s in scores})
    weights = (_fine_bootstrap_weights if fine else bootstrap_weights)(len(clusters))
    index = {cluster: n for n, cluster in enumerate(clusters)}
    value, drawn, means = np.zeros(1), np.zeros(len(weights)), []
    for sign, side in ((-1, first), (1, second)):
        whole, each = _means(side, index, weights)
        means.append(whole)
        value = value + sign * statistic(whole)
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = drawn + sign * statistic(each)
    drawn = drawn[np.isfinite(drawn)]  # a draw may hold no score of some component; it says nothing then
    low, high = np.percentile(drawn, [2.5, 97.5]) if len(drawn) else (value[0], value[0])
    # A bootstrap of few clusters takes them for too much alike: by as much as a plain variance does.
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
    """What a difference may be where all clusters differ alike: there may be others among those who were not seen. For
    these it could be anything, or, where so many alike are enough to show a direction, nothing at the least."""
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


def _means(
    components: Mapping[str, Sequence[Score]], index: Mapping[str, int], weights: Floats
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Each component's mean over all clusters, and over the clusters of every draw."""
    whole, drawn = {}, {}
    for name, scores in components.items():
        at = [index[score.cluster] for score in scores]
        sums, counts = np.zeros(len(index)), np.zeros(len(index))
        np.add.at(sums, at, [score.value for score in scores])
        np.add.at(counts, at, 1.0)
        whole[name] = np.asarray([sums.sum() / counts.sum()])
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn[name] = (weights @ sums) / (weights @ counts)
    return whole, drawn


def _p_value(drawn: Floats, clusters: int) -> float:
    """Two-sided, in keeping with the interval: how small its share outside has to be to leave out zero.

    One is added on both sides, for what was found is one of the outcomes possible.
    """
    beyond = min(int((drawn <= _ROUNDING).sum()), int((drawn >= -_ROUNDING).sum()))
    p = 2 * (1 + beyond) / (1 + len(drawn))
    return min(1.0, max(p, _least_p(clusters)))


def _least_p(clusters: int) -> float:
    """c clusters that all point one way do so by chance once in 2^(c-1): no p from so few can be smaller."""
    return 2.0 ** (1 - clusters)


@cache
def least_clusters(level: float = LEVEL) -> int:
    """How many users or personas it takes for a p below `level` to be possible at all."""
    return next(clusters for clusters in count(1) if _least_p(clusters) < level)


def holm(ps: Sequence[float]) -> list[float]:
    """p values corrected for being several: the smallest times their number, the next times one less, and so on."""
    corrected = [0.0] * len(ps)
    at_least = 0.0
    for rank, n in enumerate(sorted(range(len(ps)), key=lambda n: ps[n])):
        at_least = max(at_least, min(1.0, (len(ps) - rank) * ps[n]))
        corrected[n] = at_least
    return corrected


def minimum_holm_factors(clusters: Sequence[int]) -> list[int]:
    """By how much Holm multiplies each p at the least, given the clusters of every comparison: only comparisons that
    have more of them can have a p below its own smallest one, and stand before it."""
    return [sum(other <= own for other in clusters) for own in clusters]


def clusters_needed(found: Difference, apart: float) -> int | None:
    """How many users or personas would show a true difference of `apart` in four comparisons out of five.

    From the standard error that was found, which shrinks with the root of their number; never fewer than can show
    anything. None where it says nothing.
    """
    if found.clusters < 2 or found.error <= _ROUNDING or abs(apart) <= _ROUNDING:
        return None
    enough = math.ceil(found.clusters * (_power_multiplier(found.level) * found.error / apart) ** 2)
    return max(found.least_clusters, enough)


def rank_ranges(names: Sequence[str], beaten: Collection[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """The best and the worst rank that each can have, given who is known to be behind whom: pairs (better, worse)."""
    return {
        name: (1 + sum(worse == name for _, worse in beaten), len(names) - sum(better == name for better, _ in beaten))
        for name in names
    }
