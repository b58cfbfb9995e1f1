"""Correlation with a clustered bootstrap interval: Pearson's, and Spearman's by ranks, computed from means.

correlation([("user 1", 0.2, 7.0), ("user 2", 0.9, 9.0), …]), rank_correlation(…)

`pearson` and `fisher_interval` are for a few independent points, such as the scores of runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Means, Score
from bowstring.metrics.intervals import Estimate, bootstrap_estimate, zero_event_upper_bound

Row = tuple[str, float, float]  # cluster, x, y
_ROUNDING = 1e-9  # rounding error of differences of squares


def correlation(rows: Sequence[Row]) -> Estimate | None:
    """Return Pearson's correlation. None if x or y is constant."""
    if len({x for _, x, _ in rows}) < 2 or len({y for _, _, y in rows}) < 2:
        return None
    columns = {
        "x": [Score(c, x) for c, x, _ in rows],
        "y": [Score(c, y) for c, _, y in rows],
        "xx": [Score(c, x * x) for c, x, _ in rows],
        "yy": [Score(c, y * y) for c, _, y in rows],
        "xy": [Score(c, x * y) for c, x, y in rows],
    }
    found = bootstrap_estimate(columns, _pearson)
    if found is None:
        return None
    if found.high - found.low < _ROUNDING:  # all clusters on one line, or a single one: allow for unseen clusters
        off = 2 * zero_event_upper_bound(found.clusters)
        found = replace(found, low=max(-1.0, found.value - off), high=min(1.0, found.value + off))
    return replace(found, n=len(rows))


def rank_correlation(rows: Sequence[Row]) -> Estimate | None:
    """Return Spearman's correlation: of ranks over all rows, with tied values sharing their mean rank."""
    ranks = _ranks([x for _, x, _ in rows]), _ranks([y for _, _, y in rows])
    return correlation([(row[0], float(x), float(y)) for row, x, y in zip(rows, *ranks, strict=True)])


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


def _ranks(values: Sequence[float]) -> npt.NDArray[np.float64]:
    _, at, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: npt.NDArray[np.float64] = (last - (counts - 1) / 2)[np.asarray(at).ravel()] / max(1, len(values))
    return ranks


def _pearson(m: Means) -> npt.NDArray[np.float64]:
    spread = (m["xx"] - m["x"] ** 2) * (m["yy"] - m["y"] ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((m["xy"] - m["x"] * m["y"]) / np.sqrt(np.where(spread > 1e-12, spread, np.nan)))
