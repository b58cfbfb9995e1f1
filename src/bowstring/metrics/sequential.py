"""A test of a mean that may be looked at after every observation, and stopped as soon as it is clear.

    test = SequentialTest(0.05)
    for difference in differences:
        test.add(difference)
        if test.established:
            break

The evidence is a ratio of likelihoods: of differences with a mean of some effect size (normal, with variance
`_EFFECT`), and of differences with mean zero, both with unknown variance. For normal differences it is a martingale if
the mean is zero, so that it ever exceeds 1/level in at most a share `level` of all sequences. Differences of users'
means are not quite normal; bench/sequential.py measures the errors for such as occur. Few users that differ say little
whatever the ratio is, so at least as many must differ as a sign test would need.
"""

from __future__ import annotations

import math

from bowstring.metrics.comparing import least_clusters

_EFFECT = 0.1  # variance of the effect size, in standard deviations of a difference
_ROUNDING = 1e-12


class SequentialTest:
    def __init__(self, level: float) -> None:
        self.level = level
        self.n = 0
        self._differing = 0
        self._sum = 0.0
        self._squares = 0.0

    def add(self, difference: float) -> None:
        self.n += 1
        self._differing += abs(difference) > _ROUNDING
        self._sum += difference
        self._squares += difference * difference

    @property
    def mean(self) -> float:
        return self._sum / self.n if self.n else 0.0

    @property
    def evidence(self) -> float:
        """The likelihood ratio: how many times more likely the differences are if there is an effect."""
        error = self._squared_error
        if self.n < 2 or error is None:
            return 1.0
        if error <= _ROUNDING:
            return math.inf if abs(self.mean) > _ROUNDING else 1.0
        return math.exp(min(700.0, self._log_ratio(self.mean**2 / error)))

    @property
    def established(self) -> bool:
        return self.evidence >= 1 / self.level and self._differing >= least_clusters(self.level)

    @property
    def interval(self) -> tuple[float, float]:
        """The means that the evidence does not speak against: it contains the true mean at all times in all but a share
        `level` of sequences. Unbounded while there are too few observations, or all are alike."""
        error, spare = self._squared_error, self.n - 1
        if error is None or error <= _ROUNDING**2:  # differences that are all alike say nothing about others
            return -math.inf, math.inf
        grown = 1 + self.n * _EFFECT
        needed = (math.sqrt(grown) / self.level) ** (2 / self.n)
        if needed >= grown:
            return -math.inf, math.inf
        reach = math.sqrt(spare * (needed - 1) / (1 - needed / grown) * error)
        return self.mean - reach, self.mean + reach

    @property
    def _squared_error(self) -> float | None:
        """The squared standard error of the mean; None for fewer than two observations."""
        if self.n < 2:
            return None
        return max(0.0, self._squares - self._sum**2 / self.n) / (self.n - 1) / self.n

    def _log_ratio(self, t_squared: float) -> float:
        spare, grown = self.n - 1, 1 + self.n * _EFFECT
        gained = math.log1p(t_squared / spare) - math.log1p(t_squared / (spare * grown))
        return -0.5 * math.log(grown) + self.n / 2 * gained
