"""Correlation with a clustered interval: Pearson's, and Spearman's by ranks.

correlation([("user 1", 0.2, 7.0), ("user 2", 0.9, 9.0), …]), rank_correlation(…)

`pearson` and `fisher_interval` are for a few independent points, such as the scores of runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from bowstring.metrics.intervals import OF_CORRELATIONS, Estimate, interval_of
from bowstring.metrics.linear import Floats, Places, numbered
from bowstring.metrics.residuals import Unseen, from_residuals

Row = tuple[str, float, float]  # cluster, x, y
_ROUNDING = 1e-9


def correlation(rows: Sequence[Row]) -> Estimate | None:
    """Return Pearson's correlation. None if x or y is constant."""
    if len({x for _, x, _ in rows}) < 2 or len({y for _, _, y in rows}) < 2:
        return None
    x, y = (np.asarray([row[k] for row in rows], dtype=np.float64) for k in (1, 2))
    return correlation_of(x, y, numbered([cluster for cluster, _, _ in rows]))


def correlation_of(x: Floats, y: Floats, cluster: Places) -> Estimate:
    x, y = _standardized(x), _standardized(y)
    value = float((x * y).mean())
    if abs(value) > 1 - _ROUNDING:  # on a line
        value = math.copysign(1.0, value)
    residual = x * y - value * (x**2 + y**2) / 2
    linear = from_residuals(value, residual, cluster, (-1.0, 1.0), Unseen.between(value, -1.0, 1.0))
    return Estimate(value, *interval_of(linear, prior=OF_CORRELATIONS), len(x), linear.clusters)


def _standardized(values: Floats) -> Floats:
    off: Floats = values - values.mean()
    return off / math.sqrt(float((off**2).mean()))


def rank_correlation(rows: Sequence[Row]) -> Estimate | None:
    """Return Spearman's correlation: of ranks over all rows, with tied values sharing their mean rank."""
    ranks = (mean_ranks(np.asarray([row[k] for row in rows], dtype=np.float64)) for k in (1, 2))
    return correlation([(row[0], float(x), float(y)) for row, x, y in zip(rows, *ranks, strict=True)])


def mean_ranks(values: Floats | Places) -> Floats:
    """Return the ranks of values; equal ones share their mean rank."""
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[np.asarray(at).ravel()]
    return ranks


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Return Pearson's correlation of a few independent points. None if x or y is constant."""
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    return float(np.corrcoef(xs, ys)[0, 1])


def fisher_interval(value: float, n: int) -> tuple[float, float] | None:
    """Return the 95% interval of Pearson's correlation of `n` independent points, by Fisher's z transformation. None
    with fewer than four points, or if all points lie on one line."""
    if n < 4 or abs(value) > 1 - _ROUNDING:
        return None
    reach = NormalDist().inv_cdf(0.975) / math.sqrt(n - 3)
    return math.tanh(math.atanh(value) - reach), math.tanh(math.atanh(value) + reach)
