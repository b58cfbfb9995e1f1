"""Length-controlled win rates: the win rate at equal answer length.

    length_controlled([Comparison("user 1", 1.0, 12.0), Comparison("user 2", 0.0, -3.0), …]).rate
    length_controlled_runs({"a": […], "b": […]}).runs["b"].rate

A logistic regression of the outcome on tanh(length difference / its standard deviation), evaluated at zero difference,
as in length-controlled AlpacaEval: beyond a point, more words make no more difference, so a few very long answers do
not decide the slope. Questions differ in difficulty: by type in one run, by item where several runs answered the same
items. Ties are half a win. Intervals come from the clustered sandwich variance: the sums by user of each item's
influence on the rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import Difference, degrees_of_freedom, difference_of
from bowstring.metrics.difficulty_regression import Fit, Observations, fit
from bowstring.metrics.distributions import student_t_quantile
from bowstring.metrics.intervals import Estimate, estimate, wilson_interval
from bowstring.metrics.linear import Linearized, Places, numbered, sums_by

Floats = npt.NDArray[np.float64]
_EDGE = 0.05  # if a smaller share is on one side, equal length is an extrapolation
_ONE = math.tanh(1.0)  # the regressor where an answer is one standard deviation longer


class Comparison(NamedTuple):
    cluster: str
    outcome: float  # 1 win, 0.5 tie, 0 lose
    longer: float  # length difference to the other answer, in words
    kind: str = ""  # type of the question: types differ in difficulty
    item: str = ""  # the question; equal in runs that answered the same one


@dataclass(frozen=True, slots=True)
class LengthControl:
    """`rate` at equal length, 0 to 100; `slope` is the change in log odds from equal length to `spread` words longer
    (one standard deviation of the length difference).

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


@dataclass(frozen=True, slots=True)
class LengthControlledRuns:
    """Length-controlled rates of runs, and differences of all others from the first; runs whose rate does not come
    from the joint fit have no difference."""

    runs: dict[str, LengthControl]
    differences: dict[str, Difference]


def length_controlled(compared: Sequence[Comparison]) -> LengthControl | None:
    """Return the length-controlled win rate, with difficulty by question type; None without comparisons."""
    if not compared:
        return None
    if (special := _without_fit(compared)) is not None:
        return special
    found = _Fitted.of([compared], [c.kind for c in compared], np.arange(len(compared)))
    if found is None:
        why = "length alone separates wins from losses: the rate at equal length is undefined"
        return LengthControl(None, None, _spread(compared), why=why)
    return found.control(0)


def length_controlled_runs(runs: Mapping[str, Sequence[Comparison]]) -> LengthControlledRuns:
    """Return the length-controlled win rates of runs on the same items, with difficulty by item, fitted jointly.

    Answers to an easy item may be longer in every run. So the mean of an item's regressor over the runs is another
    regressor, and a slope is the effect of a run's own length.
    """
    alone = {name: found for name, own in runs.items() if (found := length_controlled(own)) is not None}
    joint = {name: runs[name] for name, found in alone.items() if found.rate and _without_fit(runs[name]) is None}
    items = [c.item for own in joint.values() for c in own]
    fitted = _Fitted.of(list(joint.values()), items, numbered(items)) if len(joint) > 1 else None
    if fitted is None:
        return LengthControlledRuns(alone, {})
    rates = {name: fitted.rate(n) for n, name in enumerate(joint)}
    first = next(iter(runs))
    differences = {
        name: difference_of(rates[first], own, len(fitted.cluster_of), by_item=False)
        for name, own in rates.items()
        if name != first and first in rates
    }
    return LengthControlledRuns(alone | {name: fitted.control(n) for n, name in enumerate(joint)}, differences)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A fit of one or more runs. `unit` is the place of each observation in `cluster_of`: its own, or its item's."""

    runs: Sequence[Sequence[Comparison]]
    fit: Fit
    unit: Places
    cluster_of: Places

    @classmethod
    def of(cls, runs: Sequence[Sequence[Comparison]], groups: Sequence[str], unit: Places) -> _Fitted | None:
        every = [c for own in runs for c in own]
        outcome = np.asarray([c.outcome for c in every], dtype=np.float64)
        found = fit(Observations(outcome, _columns(runs, unit), numbered(groups)))
        if found is None:
            return None
        cluster_of = np.zeros(int(unit.max()) + 1, dtype=np.intp)
        cluster_of[unit] = numbered([c.cluster for c in every])
        return cls(runs, found, unit, cluster_of)

    def rate(self, run: int) -> Linearized:
        """The win rate of a run at equal length, 0 to 100."""
        before = sum(map(len, self.runs[:run]))
        chosen = np.arange(before, before + len(self.runs[run]))
        at_zero = self.fit.seen.columns[chosen]
        at_zero[:, len(self.runs) : 2 * len(self.runs)] = 0.0
        value, influence = self.fit.rate(at_zero, chosen), self.fit.rate_influence(at_zero, chosen)
        return _linear(100 * value, 100 * influence, self.unit, self.cluster_of, most=100.0)

    def slope(self, run: int) -> Linearized:
        column = len(self.runs) + run
        return _linear(_ONE * self.fit.free[column], _ONE * self.fit.influence(column), self.unit, self.cluster_of)

    def control(self, run: int) -> LengthControl:
        compared = self.runs[run]
        longer = np.asarray([c.longer for c in compared])
        counts = len(compared), len({c.cluster for c in compared})
        rate = self.rate(run)
        estimated = Estimate(rate.value, *_interval(rate), *counts)
        edge = bool(min((longer <= 0).mean(), (longer >= 0).mean()) < _EDGE)
        if np.ptp(longer) == 0:
            return LengthControl(estimated, None, 0.0, edge, "all pairs are of equal length")
        slope = self.slope(run)
        if slope.clusters < 2:  # a change in log odds has no range to fall back on
            why = "all pairs are of one user: how far length matters to others is unknown"
            return LengthControl(estimated, None, _spread(compared), edge, why)
        effect = Estimate(slope.value, *_interval(slope), *counts, "t, clustered")
        return LengthControl(estimated, effect, _spread(compared), edge)


def _without_fit(compared: Sequence[Comparison]) -> LengthControl | None:
    """Return the result where there is nothing to fit; None if there is."""
    outcomes, spread = {c.outcome for c in compared}, _spread(compared)
    if outcomes in ({0.0}, {1.0}):
        what = "won" if outcomes == {1.0} else "lost"
        scores = [Score(c.cluster, c.outcome) for c in compared]
        rate = estimate({"x": scores}, lambda means: 100 * means["x"], ends=(0.0, 1.0))
        return LengthControl(rate, None, spread, why=f"every answer {what}, whatever its length")
    near = sum(abs(c.longer) <= spread for c in compared) / len(compared)
    if spread > 0 and near < _EDGE:
        far = f"fewer than {_EDGE:.0%} of the answers are within {spread:.0f} words of equal length"
        return LengthControl(None, None, spread, edge=True, why=far)
    if spread == 0 and compared[0].longer != 0:
        apart = f"every answer differs from the other by {compared[0].longer:+g} words: no pair is near equal length"
        return LengthControl(None, None, spread, why=apart)
    return None


def _spread(compared: Sequence[Comparison]) -> float:
    return float(np.std([c.longer for c in compared]))


def _columns(runs: Sequence[Sequence[Comparison]], unit: Places) -> Floats:
    """The level of each run, the regressor of each run and, with several runs, its mean over the runs of an item."""
    run = np.repeat(np.arange(len(runs)), [len(own) for own in runs])
    # Not centred: zero must remain equal length.
    x = np.concatenate([np.tanh(np.asarray([c.longer for c in own]) / (_spread(own) or 1.0)) for own in runs])
    level = np.eye(len(runs))[run]
    mean = (np.bincount(unit, weights=x) / np.bincount(unit))[unit]
    return np.column_stack([level, level * x[:, None], *([mean - mean.mean()] if len(runs) > 1 else [])])


def _interval(found: Linearized) -> tuple[float, float]:
    """Wilson's interval of a rate; a symmetric one of a slope, which has no range and needs two clusters."""
    if found.clusters < 2:
        return found.least, found.most
    sums = sums_by(found.cluster, found.influence, found.clusters)
    one_more = float((found.weight**2 / found.n_of).sum())  # so that answers that are all alike are not certain
    variance = found.clusters / (found.clusters - 1) * float((sums**2).sum()) + one_more
    t = student_t_quantile(0.975, degrees_of_freedom(sums))
    reach = t * math.sqrt(variance)
    return wilson_interval(found, variance, t) if found.most else (found.value - reach, found.value + reach)


def _linear(value: float, influence: Floats, unit: Places, cluster_of: Places, most: float = 0.0) -> Linearized:
    """A statistic whose error is the sum of `influence`; scores are not known apart from it. `most` is the end of its
    range, which starts at 0."""
    n, scale = len(cluster_of), most or 1.0
    residual = n / scale * sums_by(unit, influence, n)
    return Linearized(
        value=value,
        smoothed=(value * n + most / 2) / (n + 1),
        least=0.0,
        most=most,
        weight=np.full(n, scale / n),
        scaled=value / scale + residual,
        residual=residual,
        n_of=np.full(n, float(n)),
        spread=np.full(n, float(residual.std())),
        cluster=cluster_of,
        clusters=int(cluster_of.max()) + 1,
        group=np.full(n, -1, dtype=np.intp),
        item=np.arange(n),
    )
