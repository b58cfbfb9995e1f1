"""Statistics that are known by the residuals of their items: agreement, correlations, slopes.

To first order, such a statistic is a mean of what its items add to it, and its interval is that of other scores
(`intervals.interval_of`). There is no range of scores from which it would follow what an unseen item could add, so
`Unseen` says it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bowstring.metrics.linear import Floats, Linearized, Places, number_of_events

_FIRST_LOSSES = 2.0  # so few are taken to be as large as expected


class Half(NamedTuple):
    """Half an item that the sample may lack: the mean of its possible residuals, of their sizes and their squares."""

    mean: float
    size: float
    square: float

    @classmethod
    def of(cls, residual: Floats, chance: Floats) -> Half:
        """Return the half item that has each residual with some chance."""
        return cls(*(float((chance * x).sum()) for x in (residual, np.abs(residual), residual**2)))


class Unseen(NamedTuple):
    """What is added to a sample so that items that are all alike are not taken for certainty: half an item at either
    end of the scale."""

    below: Half
    above: Half

    @classmethod
    def between(cls, value: float, worst: float, best: float) -> Unseen:
        """Of a statistic that is a mean of scores from `worst` to `best`."""
        below, above = (Half(end - value, abs(end - value), (end - value) ** 2) for end in (worst, best))
        return cls(below, above)

    @property
    def mean(self) -> float:
        return (self.below.mean + self.above.mean) / 2

    @property
    def square(self) -> float:
        return (self.below.square + self.above.square) / 2

    @property
    def variance_per_loss(self) -> float:
        """The variance of a statistic near its upper end, by its distance from there, if all losses are like the one
        below."""
        return self.below.square / self.below.size if self.below.size > 0 else 0.0


def from_residuals(
    value: float,
    residual: Floats,
    cluster: Places,
    ends: tuple[float, float],
    unseen: Unseen,
    share: Floats | None = None,
) -> Linearized:
    """Return a statistic whose error is the sum of `share` times `residual` over items. The shares add up to 1; by
    default they are equal. `ends` are the lowest and highest value of the statistic.

    The first losses may be smaller than those that were expected. One or two of them do not show that all are, so the
    spread does not become smaller until there are more.
    """
    n, (least, most) = len(residual), ends
    span = most - least
    each = np.full(n, 1 / n) if share is None else share
    seen = float(((each * residual) ** 2).sum() / (each**2).sum())
    expected = unseen.variance_per_loss * (most - value) * (value - least) / span
    seen = max(seen, expected * min(1.0, _FIRST_LOSSES / max(1.0, number_of_events(each * residual))))
    off, margin = unseen.mean / (n + 1), span / (4 * (n + 1))
    return Linearized(
        value=value,
        smoothed=min(most - margin, max(least + margin, value + off)),
        least=least,
        most=most,
        weight=span * each,
        scaled=(value - least + residual) / span,
        residual=residual / span,
        n_of=1 / each,
        spread=np.full(n, math.sqrt((n * seen + unseen.square) / (n + 1) - off**2) / span),
        cluster=cluster,
        clusters=int(cluster.max()) + 1,
        group=np.full(n, -1, dtype=np.intp),
        item=np.arange(n),
    )


def linearize_slope(x: Floats, y: Floats, cluster: Places) -> Linearized:
    """Linearize the least-squares slope of scores from 0 to 1: a sum of the scores, with weights that add up to 0. Its
    range is that of any scores at these `x`."""
    n, off = len(x), x - x.mean()
    weight = off / float((off**2).sum())
    value, mean = float((weight * y).sum()), float(y.mean())
    most = float(np.abs(weight).sum()) / 2
    residual = y - mean - value * off
    squares = float((residual**2).sum()) + 0.5 * mean**2 + 0.5 * (1 - mean) ** 2
    return Linearized(
        value=value,
        smoothed=value,
        least=-most,
        most=most,
        weight=weight,
        scaled=y,
        residual=residual,
        n_of=np.full(n, float(n)),
        spread=np.full(n, math.sqrt(squares / (n + 1))),
        cluster=cluster,
        clusters=int(cluster.max()) + 1,
        group=np.full(n, -1, dtype=np.intp),
        item=np.arange(n),
    )
