"""Logistic regression with intercepts for the difficulty of what was asked, and the mean outcome under another design.

    log odds = columns @ free parameters + difficulty of the group

A group is a question type or, with several runs, an item. Difficulties are drawn towards 0 (a ridge penalty: they are
assumed to vary by about one unit of log odds), so a group in which every answer wins is no problem. The parameters of
the columns are free. Outcomes may lie between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bowstring.metrics.linear import Places

Floats = npt.NDArray[np.float64]
PENALTY = 1.0  # 1 / variance of difficulties
_STEPS = 50
_SETTLED = 1e-10
_RUNAWAY = 25.0  # log odds: beyond this, the columns separate the outcomes


@dataclass(frozen=True, slots=True)
class Observations:
    """`columns` has one row per observation; `group` numbers the groups from 0."""

    outcome: Floats
    columns: Floats
    group: Places

    @property
    def groups(self) -> int:
        return int(self.group.max()) + 1


@dataclass(frozen=True, slots=True)
class Fit:
    seen: Observations
    free: Floats
    difficulty: Floats

    def rate(self, columns: Floats, chosen: Places) -> float:
        """The mean outcome of the chosen observations if their columns were these."""
        return float(self._predicted(columns, chosen).mean())

    def rate_influence(self, columns: Floats, chosen: Places) -> Floats:
        """What each observation adds to that mean, to first order."""
        p = self._predicted(columns, chosen)
        moves = p * (1 - p) / len(chosen)
        found = self._influence(moves @ columns, _by_group(moves, self.seen.group[chosen], self.seen.groups))
        found[chosen] += (p - p.mean()) / len(chosen)
        return found

    def influence(self, column: int) -> Floats:
        """What each observation adds to the parameter of a column."""
        return self._influence(np.eye(len(self.free))[column], np.zeros(self.seen.groups))

    def _predicted(self, columns: Floats, chosen: Places) -> Floats:
        return _logistic(columns @ self.free + self.difficulty[self.seen.group[chosen]])

    def _influence(self, by_free: Floats, by_group: Floats) -> Floats:
        """What each observation adds to a function of the parameters that has these derivatives."""
        seen = self.seen
        free, group = _System(seen, self.free, self.difficulty).solve(by_free, by_group)
        rest = seen.outcome - _logistic(seen.columns @ self.free + self.difficulty[seen.group])
        penalty = PENALTY * self.difficulty / np.bincount(seen.group)  # the share of each observation of the group
        found: Floats = (seen.columns @ free) * rest + group[seen.group] * (rest - penalty[seen.group])
        return found


def fit(seen: Observations) -> Fit | None:
    """Fit by Newton's method; None if the parameters diverge: the columns separate the outcomes."""
    free, difficulty = np.zeros(seen.columns.shape[1]), np.zeros(seen.groups)
    for _ in range(_STEPS):
        system = _System(seen, free, difficulty)
        step, of_groups = system.solve(*system.gradient())
        free, difficulty = free + step, difficulty + of_groups
        if not np.all(np.isfinite(free)) or np.abs(free).max() > _RUNAWAY:
            return None
        if max(np.abs(step).max(), np.abs(of_groups).max()) < _SETTLED:
            return Fit(seen, free, difficulty)
    return None


class _System:
    """The information matrix at these parameters. The part of the groups is diagonal, so it is eliminated first."""

    def __init__(self, seen: Observations, free: Floats, difficulty: Floats) -> None:
        self._seen, self._difficulty = seen, difficulty
        p = _logistic(seen.columns @ free + difficulty[seen.group])
        self._rest = seen.outcome - p
        weighted = (p * (1 - p))[:, None] * seen.columns
        self._groups = _by_group(p * (1 - p), seen.group, seen.groups) + PENALTY
        self._both = np.stack([_by_group(column, seen.group, seen.groups) for column in weighted.T])
        reduced = weighted.T @ seen.columns - (self._both / self._groups) @ self._both.T
        # A column of zeros leaves its parameter undetermined: the pseudo-inverse keeps it at 0.
        self._inverse = np.linalg.pinv(reduced, rcond=1e-10, hermitian=True)

    def gradient(self) -> tuple[Floats, Floats]:
        """Return the gradient of the penalized log likelihood."""
        of_groups = _by_group(self._rest, self._seen.group, self._seen.groups) - PENALTY * self._difficulty
        return self._rest @ self._seen.columns, of_groups

    def solve(self, by_free: Floats, by_group: Floats) -> tuple[Floats, Floats]:
        free: Floats = self._inverse @ (by_free - self._both @ (by_group / self._groups))
        return free, (by_group - self._both.T @ free) / self._groups


def _by_group(values: Floats, group: Places, groups: int) -> Floats:
    return np.asarray(np.bincount(group, weights=values, minlength=groups), dtype=np.float64)


def _logistic(x: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-np.clip(x, -700, 700)))
    return found
