"""Length-controlled win rates: the win rate at equal answer length.

    length_controlled([Compared("user 1", 1.0, 12.0), Compared("user 2", 0.0, -3.0), …]).rate

A logistic regression of the outcome on the length difference, evaluated at zero difference. Ties are half a win. The
interval is a clustered bootstrap: every draw takes one Newton step from the full fit, which is as accurate as
refitting to the order of the bootstrap, and cannot diverge on a separable draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Score, sums_of_draws
from bowstring.metrics.intervals import Estimate, estimate

Floats = npt.NDArray[np.float64]
_STEPS = 50
_SETTLED = 1e-10
_RUNAWAY = 25.0  # log odds per standard deviation of length: beyond this the outcomes are separable
_EDGE = 0.05  # if a smaller share is on one side, equal length is an extrapolation


class Comparison(NamedTuple):
    cluster: str
    outcome: float  # 1 win, 0.5 tie, 0 lose
    longer: float  # length difference to the other answer, in words


@dataclass(frozen=True, slots=True)
class LengthControl:
    """`rate` at equal length, 0 to 100; `slope` in log odds per `spread` (standard deviation of the length difference).

    None if undefined, with the reason in `why`. `edge`: hardly any answer is longer, or hardly any is shorter, so the
    rate is an extrapolation.
    """

    rate: Estimate | None
    slope: Estimate | None
    spread: float
    edge: bool = False
    why: str | None = None

    def as_json(self) -> dict[str, Any]:
        rate, slope = (e.as_json() if e else None for e in (self.rate, self.slope))
        return {"rate": rate, "slope": slope, "spread": self.spread, "edge": self.edge, "why": self.why}


def length_controlled(compared: Sequence[Comparison]) -> LengthControl | None:
    """Return the length-controlled win rate; None without comparisons."""
    if not compared:
        return None
    outcomes = np.asarray([c.outcome for c in compared], dtype=np.float64)
    longer = np.asarray([c.longer for c in compared], dtype=np.float64)
    clusters, at = np.unique([c.cluster for c in compared], return_inverse=True)
    spread = float(longer.std())
    n = (len(compared), len(clusters))
    if np.ptp(outcomes) == 0 and outcomes[0] in (0.0, 1.0):
        what = "won" if outcomes[0] else "lost"
        scores = [Score(c.cluster, c.outcome) for c in compared]
        rate = estimate({"x": scores}, lambda means: 100 * means["x"], ends=(0.0, 1.0))
        return LengthControl(rate, None, spread, why=f"every answer {what}, whatever its length")
    if spread == 0 and longer[0] != 0:
        apart = f"every answer differs from the other by {longer[0]:+g} words: no pair is near equal length"
        return LengthControl(None, None, spread, why=apart)
    scaled = longer / spread if spread else longer  # not centred: zero must remain equal length
    found = fit_logistic(outcomes, scaled)
    if found is None:
        return LengthControl(
            None, None, spread, why="length alone separates wins from losses: the rate at equal length is undefined"
        )
    drawn = _drawn(outcomes, scaled, np.asarray(at).ravel(), len(clusters), found)
    rates = np.percentile(100 * _logistic(drawn[:, 0]), [2.5, 97.5])
    slopes = np.percentile(drawn[:, 1], [2.5, 97.5])
    at_zero = float(100 * _logistic(found[:1])[0])
    rate_at_zero = Estimate(at_zero, float(rates[0]), float(rates[1]), *n)
    slope = Estimate(float(found[1]), float(slopes[0]), float(slopes[1]), *n)
    edge = bool(min((longer <= 0).mean(), (longer >= 0).mean()) < _EDGE)
    why = None if spread else "all pairs are of equal length"
    return LengthControl(rate_at_zero, slope if spread else None, spread, edge, why)


def fit_logistic(outcomes: Floats, x: Floats) -> Floats | None:
    """Fit intercept and slope by iteratively reweighted least squares; None if they diverge: x separates the outcomes.

    Outcomes may lie between 0 and 1. If x is constant, the slope is 0.
    """
    beta: Floats = np.zeros(2)
    for _ in range(_STEPS):
        gradient, hessian = _parts(outcomes, x, beta)
        step = _solved(hessian.sum(axis=0)[None], gradient.sum(axis=0)[None])[0]
        beta = beta + step
        if not np.all(np.isfinite(beta)) or np.abs(beta).max() > _RUNAWAY:
            return None
        if np.abs(step).max() < _SETTLED:
            return beta
    return None


def _parts(outcomes: Floats, x: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Return each item's gradient of the log likelihood, and its contribution to the information matrix."""
    p = _logistic(beta[0] + beta[1] * x)
    rest, weight = outcomes - p, p * (1 - p)
    return np.stack([rest, rest * x], axis=1), np.stack([weight, weight * x, weight * x * x], axis=1)


def _drawn(outcomes: Floats, x: Floats, at: npt.NDArray[np.intp], clusters: int, beta: Floats) -> Floats:
    gradient, hessian = (np.zeros((clusters, k)) for k in (2, 3))
    of_items = _parts(outcomes, x, beta)
    np.add.at(gradient, at, of_items[0])
    np.add.at(hessian, at, of_items[1])
    drawn: Floats = beta + _solved(sums_of_draws(hessian), sums_of_draws(gradient))
    return drawn


def _solved(hessian: Floats, gradient: Floats) -> Floats:
    """Return Newton steps of two-by-two systems. If x is constant, only the intercept moves."""
    a, b, c = hessian.T
    g0, g1 = gradient.T
    determinant = a * c - b * b
    flat = determinant <= 1e-12 * np.maximum(a * c, 1e-300)
    with np.errstate(invalid="ignore", divide="ignore"):
        both = np.stack([(c * g0 - b * g1) / determinant, (a * g1 - b * g0) / determinant], axis=1)
        alone = np.stack([g0 / a, np.zeros_like(a)], axis=1)
    return np.where(flat[:, None], alone, both)


def _logistic(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(x, -700, 700)))
