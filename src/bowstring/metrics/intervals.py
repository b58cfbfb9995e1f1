"""Metrics with 95% intervals that allow for clusters: questions of one user are not independent.

scores = [Score("user 1", 1.0), Score("user 1", 0.5), Score("user 2", 0.0)]
estimate({"x": scores}, lambda mean: 100 * mean["x"], ends=(0.0, 1.0))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Means, Score
from bowstring.metrics.distributions import student_t_quantile
from bowstring.metrics.linear import Ends, Linearized, Places, columns_of, linearize, number_of_events, sums_by

METHOD = "Wilson, clustered"
NEGLIGIBLE = 0.02  # a larger share of missing scores is reported with bounds
TRUSTED_CLUSTERS = 30  # with fewer, the interval is reported but marked
ROUNDING = 1e-12  # a spread this small is rounding error


@dataclass(frozen=True, slots=True)
class Missing:
    """Items that should have a score and have none. `as_worst` is the metric if they had the worst possible score;
    `bounds`, where more than 2% of the scores are missing, if they had the lowest and if they had the highest. Where
    items have several answers or judgements, `records` counts those without a score, also of items that have one."""

    items: int
    as_worst: float
    bounds: tuple[float, float] | None
    records: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    value: float
    low: float
    high: float
    n: int
    clusters: int
    method: str = METHOD
    range: tuple[float, float] | None = None
    ceiling: float | None = None
    missing: Missing | None = None

    @property
    def trusted(self) -> bool:
        return self.clusters >= TRUSTED_CLUSTERS

    @property
    def missing_items(self) -> int:
        return 0 if self.missing is None else self.missing.items

    @property
    def as_worst(self) -> float:
        """The value with missing scores at the worst."""
        return self.value if self.missing is None else self.missing.as_worst

    @property
    def bounds(self) -> tuple[float, float]:
        """The values with missing scores at the lowest and at the highest; where few are missing, `as_worst` alone."""
        known = self.missing.bounds if self.missing is not None else None
        return known or (self.as_worst, self.as_worst)

    def as_json(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "clusters": self.clusters,
            "trusted": self.trusted,
            "level": 95,
            "method": self.method,
            **({"range": list(self.range)} if self.range is not None else {}),
            **({"ceiling": self.ceiling} if self.ceiling is not None else {}),
            **({"missing": asdict(self.missing)} if self.missing is not None else {}),
        }


def estimate(
    components: Mapping[str, Sequence[Score]],
    statistic: Callable[[Means], npt.NDArray[np.float64]],
    *,
    ends: Ends,
) -> Estimate | None:
    """Estimate a statistic of component means, with a 95% interval that allows for clusters. None if a component has
    no scores.

    `ends` are the lowest and highest possible score. The interval is Wilson's, for as many independent scores as would
    have the same variance: it stays inside the range, is not empty where all scores are alike, and does not shrink when
    an error is added.
    """
    if not components or not all(components.values()):
        return None
    (columns,), clusters = columns_of(components)
    found = linearize(columns, statistic, ends, clusters)
    return Estimate(found.value, *interval_of(found), found.n, found.clusters)


def mean_without_ends(scores: Sequence[Score]) -> Estimate | None:
    """Estimate the mean of scores that have no highest value, such as lengths, with a symmetric interval. None if the
    scores cannot show how much others differ: they are of one cluster, or all alike."""
    values = [score.value for score in scores]
    if len({score.cluster for score in scores}) < 2 or min(values) == max(values):
        return None
    (columns,), clusters = columns_of({"x": scores})
    found = linearize(columns, lambda means: means["x"], (min(values), max(values)), clusters)
    reach = _quantile(found) * math.sqrt(variance_of(found))
    return Estimate(found.value, found.value - reach, found.value + reach, found.n, found.clusters, "t, clustered")


# Tuned on simulated scores (bench/coverage.py; docs/statistics.md has the table).
class Prior(NamedTuple):
    """What is assumed about scores of one cluster before there are events: their correlation, and as how many events
    that counts."""

    correlation: float
    events: float


OF_SCORES = Prior(0.25, 16.0)
OF_CHANGES = Prior(0.15, 8.0)  # from one run to another
OF_CORRELATIONS = Prior(0.25, 4.0)  # all items contribute, but unequally: they count as few events
_FIRST_EVENTS = 40.0  # so many events tell half as much about correlations as they would if there were many
_GROUP_CORRELATION = 0.05
_PRIOR_CLUSTERS = 12.0  # added to the number of clusters that contribute, for the degrees of freedom
_CLUSTER_DF = 1.5  # degrees of freedom per contributing cluster: 2, less what few clusters hide


def interval_of(found: Linearized, *, prior: Prior = OF_SCORES) -> tuple[float, float]:
    if found.clusters < 2:
        return found.least, found.most
    variance, t = variance_of(found, prior), _quantile(found, prior)
    if found.most - found.least < ROUNDING:
        return found.value - t * math.sqrt(variance), found.value + t * math.sqrt(variance)
    return wilson_interval(found, variance, t)


def _quantile(found: Linearized, prior: Prior = OF_SCORES) -> float:
    """Return the quantile of Student's t; its degrees of freedom count the clusters that contribute, and fewer where
    some have many more items than others."""
    contributing = contributing_clusters(sums_by(found.cluster, found.influence, found.clusters))
    return student_t_quantile(0.975, min(df_of_sizes(found, prior), _CLUSTER_DF * (contributing + _PRIOR_CLUSTERS)))


def wilson_interval(found: Linearized, variance: float, t: float) -> tuple[float, float]:
    """Return Wilson's interval for as many independent scores as would have this variance."""
    span = found.most - found.least
    share, smoothed = (found.value - found.least) / span, (found.smoothed - found.least) / span
    scores = smoothed * (1 - smoothed) * span**2 / variance  # independent scores of the same variance
    centre = (share * scores + t * t / 2) / (scores + t * t)
    reach = t / (scores + t * t) * math.sqrt(max(0.0, scores * share * (1 - share)) + t * t / 4)
    low, high = max(0.0, centre - reach), min(1.0, centre + reach)
    return found.least + span * min(low, share), found.least + span * max(high, share)


def contributing_clusters(sums: npt.NDArray[np.float64]) -> float:
    """Return how many clusters, of equal size, would make the variance as uncertain as these clusters do."""
    squares = sums**2
    total, fourth = float(squares.sum()), float((squares**2).sum())
    spare = fourth - total**2 / len(sums)
    return total**2 / spare if spare > 1e-9 * total**2 else (len(sums) / 2 if total > ROUNDING**2 else 0.0)


def variance_of(found: Linearized, prior: Prior = OF_SCORES) -> float:
    """Return the variance of the statistic: of independent scores, plus that of pairs in one cluster or one group.

    The correlation of pairs is estimated, and drawn towards an assumed one where there are few events to tell: scores
    that differ from the rest. Without that, a sample with few errors would seem to show that errors are independent.
    """
    scaled, influence = np.abs(found.weight) * found.spread, found.influence
    alone = float((scaled**2).sum())
    if alone <= 0:
        return ROUNDING**2
    most = _squares(found.cluster, scaled) - alone
    in_clusters = most * _correlation(found, prior)
    if not (found.group >= 0).any():
        return alone + in_clusters
    both = np.where(found.group >= 0, found.group * found.clusters + found.cluster, -1)
    both = np.unique(both, return_inverse=True)[1].reshape(-1) - int((both < 0).any())
    most, seen = (_squares(found.group, x) - _squares(both, x) for x in (scaled, influence))
    centred = (alone + in_clusters) / float(scaled.sum()) ** 2  # the mean is the sample's own: pairs seem less alike
    assumed = Prior(_GROUP_CORRELATION, prior.events)
    return alone + in_clusters + most * _blended(assumed, _known(influence, alone), seen + centred * most, most, alone)


def df_of_sizes(found: Linearized, prior: Prior) -> float:
    """Return the degrees of freedom that clusters of these sizes leave."""
    scaled = np.abs(found.weight) * found.spread
    alone = sums_by(found.cluster, scaled**2, found.clusters)
    pairs = sums_by(found.cluster, scaled, found.clusters) ** 2 - alone
    return effective_df(alone + _correlation(found, prior) * pairs)


def effective_df(variances: npt.NDArray[np.float64]) -> float:
    """Return the degrees of freedom of clusters with these shares in the variance: one less than their number if the
    shares are equal, and fewer where some clusters have many more items than others."""
    total, clusters = float(variances.sum()), len(variances)
    effective = total**2 / float((variances**2).sum()) if total > 0 else float(clusters)
    return max(1.0, effective * (clusters - 1) / clusters)


def without_own_mean(places: Places, weights: npt.NDArray[np.float64], sums: npt.NDArray[np.float64]) -> float:
    """Return the sum of squares of clusters' sums, as if the mean were not the sample's own: a cluster with a large
    share of the weight has drawn the mean towards itself."""
    shares = sums_by(places, np.abs(weights), len(sums))
    left = 1 - shares / max(ROUNDING, float(shares.sum()))
    return float((sums**2 / np.maximum(left, 1e-3)).sum())


def _correlation(found: Linearized, prior: Prior) -> float:
    """Return the correlation of scores in one cluster: as seen, drawn towards the assumed one."""
    scaled, influence = np.abs(found.weight) * found.spread, found.influence
    alone = float((scaled**2).sum())
    sums = sums_by(found.cluster, influence, found.clusters)
    seen = without_own_mean(found.cluster, scaled, sums) - float((influence**2).sum())
    return _blended(prior, _known(influence, alone), seen, _squares(found.cluster, scaled) - alone, alone)


def _known(influence: npt.NDArray[np.float64], alone: float) -> float:
    """Return as how many events what was seen counts."""
    events = number_of_events(influence) if float((influence**2).sum()) > ROUNDING * alone else 0.0
    return events * events / (events + _FIRST_EVENTS)


def _blended(prior: Prior, known: float, seen: float, most: float, alone: float) -> float:
    """Return a correlation of pairs; `most` is their variance if they were fully correlated, `seen` what the sample
    shows."""
    if most <= 1e-12 * alone:
        return 0.0
    return min(1.0, max(0.0, (prior.events * prior.correlation + known * seen / most) / (prior.events + known)))


def _squares(places: Places, values: npt.NDArray[np.float64]) -> float:
    return float((sums_by(places, values, 0) ** 2).sum())
