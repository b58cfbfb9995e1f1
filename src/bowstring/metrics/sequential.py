"""A test of a mean that may be looked at after every observation, and stopped as soon as it is clear.

    test = SequentialTest(0.05)  # differences from -1 to 1
    for difference in differences:
        test.add(difference)
        if test.established:
            break

The evidence is the wealth of a gambler who stakes a fixed share of it on every difference, in several shares and both
directions at once. If the mean is zero, no bet wins on average, whatever the distribution: the wealth exceeds 1/level
at any time in at most a share `level` of all sequences. Nothing is assumed except the range. A test that takes
differences for normal stops earlier, but is wrong far more often where a model fails on few users, which looks like no
failure at first (bench/sequential.py).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bowstring.metrics.comparing import least_clusters

# Shares of the wealth that are staked, and how much of it goes to each. Users' differences vary little, compared with
# their range, so that high stakes win fastest.
_STAKES = np.asarray([0.1, 0.3, 0.6, 0.95])
_PARTS = np.tile(np.asarray([1, 1, 1, 3]) / 12, 2)
_BETS = np.concatenate([_STAKES, -_STAKES])
_ROUNDING = 1e-12
_STEPS = 40  # of the search for an end of the interval


class SequentialTest:
    def __init__(self, level: float) -> None:
        self.level = level
        self._values: list[float] = []
        self._differing = 0
        self._won = np.zeros(2 * len(_STAKES))  # log wealth of every stake, against a mean of zero

    def add(self, difference: float) -> None:
        """Add a difference from -1 to 1."""
        value = min(1.0, max(-1.0, difference))
        self._values.append(value)
        self._differing += abs(value) > _ROUNDING
        self._won += np.log1p(_BETS * value)

    @property
    def n(self) -> int:
        return len(self._values)

    @property
    def mean(self) -> float:
        return sum(self._values) / self.n if self.n else 0.0

    @property
    def evidence(self) -> float:
        """The wealth that betting against a mean of zero has made of 1."""
        return _total(self._won)

    @property
    def established(self) -> bool:
        return self._differing >= least_clusters(self.level) and self.evidence >= 1 / self.level

    @property
    def interval(self) -> tuple[float, float]:
        """The means that the evidence does not speak against: it contains the true mean at all times in all but a share
        `level` of sequences."""
        return self._end(-1.0), self._end(1.0)

    def _end(self, limit: float) -> float:
        """The farthest mean, towards a limit, that is not ruled out."""
        inside, outside = self.mean, limit
        if self._wealth(outside) < 1 / self.level:
            return outside
        for _ in range(_STEPS):
            middle = (inside + outside) / 2
            if self._wealth(middle) < 1 / self.level:
                inside = middle
            else:
                outside = middle
        return outside

    def _wealth(self, mean: float) -> float:
        """The wealth after betting that the mean is another than this one."""
        apart: npt.NDArray[np.float64] = np.asarray(self._values, dtype=np.float64) - mean
        bets = _BETS / (1 + abs(mean))  # nothing more than what there is can be lost
        return _total(np.log1p(np.outer(bets, apart)).sum(axis=1))


def _total(won: npt.NDArray[np.float64]) -> float:
    """The wealth of all stakes together, from their logarithms."""
    most = float(won.max())
    return math.exp(min(700.0, most + math.log(float(_PARTS @ np.exp(won - most)))))
