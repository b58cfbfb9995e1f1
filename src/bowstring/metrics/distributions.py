"""Student's t distribution: tail probabilities and quantiles, for any positive degrees of freedom.

>>> round(student_t_quantile(0.975, 10), 3)
2.228
>>> round(student_t_p_value(2.228, 10), 3)
0.05
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_STEPS = 500


def student_t_p_value(t: float, df: float) -> float:
    """Return the two-sided tail probability of a t statistic."""
    if not math.isfinite(t):
        return 0.0
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


@lru_cache(maxsize=4096)
def student_t_quantile(probability: float, df: float) -> float:
    """Return the value that a t statistic stays below with this probability, at least one half."""
    tail = 2 * (1 - probability)
    t = NormalDist().inv_cdf(probability)
    # The tail is convex and falls, and the normal quantile lies below: Newton's steps approach from below.
    for _ in range(_STEPS):
        step = (student_t_p_value(t, df) - tail) / (2 * _density(t, df))
        t += step
        if step <= 1e-12 * t:
            break
    return t


def _density(t: float, df: float) -> float:
    log = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    return math.exp(log - (df + 1) / 2 * math.log1p(t * t / df))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function, by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x) - math.log(a)
    )
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            fraction *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return front * fraction


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
