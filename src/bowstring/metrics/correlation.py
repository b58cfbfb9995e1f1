"""Correlation with a clustered interval: Pearson's, and Spearman's by ranks. From means, so that clusters can be drawn.

correlation([("user 1", 0.2, 7.0), ("user 2", 0.9, 9.0), …]), rank_correlation(…)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from bowstring.metrics.intervals import Estimate, Means, Score, estimate, zero_event_upper_bound

Row = tuple[str, float, float]  # cluster, x, y
_ROUNDING = 1e-9  # what differences of squares leave of nothing


def correlation(rows: Sequence[Row]) -> Estimate | None:
    """Pearson's. None where x or y does not vary."""
    if len({x for _, x, _ in rows}) < 2 or len({y for _, _, y in rows}) < 2:
        return None
    columns = {
        "x": [Score(c, x) for c, x, _ in rows],
        "y": [Score(c, y) for c, _, y in rows],
        "xx": [Score(c, x * x) for c, x, _ in rows],
        "yy": [Score(c, y * y) for c, _, y in rows],
        "xy": [Score(c, x * y) for c, x, y in rows],
    }
    found = estimate(columns, _pearson)
    if found is None:
        return None
    if found.high - found.low < _ROUNDING:  # all clusters on one line, or one alone: others may be anywhere
        off = 2 * zero_event_upper_bound(found.clusters)
        found = replace(found, low=max(-1.0, found.value - off), high=min(1.0, found.value + off))
    return replace(found, n=len(rows))


def rank_correlation(rows: Sequence[Row]) -> Estimate | None:
    """Spearman's: of the ranks among all, equal values sharing the mean of theirs."""
    ranks = _ranks([x for _, x, _ in rows]), _ranks([y for _, _, y in rows])
    return correlation([(row[0], float(x), float(y)) for row, x, y in zip(rows, *ranks, strict=True)])


def _ranks(values: Sequence[float]) -> npt.NDArray[np.float64]:
    _, at, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: npt.NDArray[np.float64] = (last - (counts - 1) / 2)[np.asarray(at).ravel()] / max(1, len(values))
    return ranks


def _pearson(m: Means) -> npt.NDArray[np.float64]:
    spread = (m["xx"] - m["x"] ** 2) * (m["yy"] - m["y"] ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((m["xy"] - m["x"] * m["y"]) / np.sqrt(np.where(spread > 1e-12, spread, np.nan)))
