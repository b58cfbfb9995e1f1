"""Scores corrected for judge errors, using the items that people have labelled too.

    items = {"x": [JudgedItem("user 1", judge=1.0, human=0.5), JudgedItem("user 1", judge=None), …]}
    corrected(items, lambda mean: 100 * mean["x"]).estimate
    corrected_difference(items, items_of_another_run, lambda mean: 100 * mean["x"])

Prediction-powered inference: the mean prediction of all items, plus the mean of (human − prediction) where people have
labelled. The prediction is the judge's score times the weight that minimizes the variance (power tuning), from 0 (human
labels alone) to 1. An item whose verdict is missing stays in: its prediction is one constant, the same for all such
items. Leaving it out would be wrong, because the judge fails on hard items. The estimate is unbiased whatever the judge
is like, if the labelled items are a random sample of all items.

Intervals are those of other scores (`intervals.interval_of`): the estimate is linear in what each item contributes. A
few labels show few of a judge's errors; the variance allows for an unseen error of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Means, Score
from bowstring.metrics.comparing import Difference, difference_of
from bowstring.metrics.intervals import Estimate, estimate, interval_of
from bowstring.metrics.linear import Ends, EndsOf, Linearized, Places, ends_by_component, gradient_of, value_at

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Means], Floats]
LEAST = 10  # minimum number of labels for a correction
_PRIOR_LABELS = 2.0  # labels at the overall mean, added to those of items without a verdict
_UNSEEN = 0.7  # unseen errors of each kind, added to those of the labelled items (tuned with bench/correction.py)


class JudgedItem(NamedTuple):
    """An item with an answer. `judge` is None if its verdict is missing, `human` if nobody labelled it."""

    cluster: str
    judge: float | None
    human: float | None = None
    group: str | None = None  # shared with items of other clusters, as in `Score`


Items = Mapping[str, Sequence[JudgedItem]]  # by component


@dataclass(frozen=True, slots=True)
class Corrected:
    """`estimate` counts the labelled items and, for the component with fewest, their clusters, because these limit its
    precision. `judge` is the judge's score on the items with a verdict, `people` the human score on the labelled items,
    `trust` the weight of the judge by component, and `unread` the number of items without a verdict."""

    estimate: Estimate
    judge: Estimate
    people: Estimate
    trust: Mapping[str, float]
    unread: int

    def as_json(self) -> dict[str, Any]:
        return {
            "corrected": self.estimate.as_json(),
            "judge": self.judge.as_json(),
            "people": self.people.as_json(),
            "trust": dict(self.trust),
            "unread": self.unread,
        }


def enough_labels(items: Items) -> bool:
    """Return whether every component has the labels that a correction needs."""
    return all(sum(item.human is not None for item in own) >= LEAST for own in items.values())


def corrected(items: Items, statistic: Statistic, *, ends: Ends = (0.0, 1.0)) -> Corrected | None:
    """Return a statistic of corrected component means. None if a component has no verdicts or too few labels. `ends`
    are the lowest and highest possible score."""
    if not enough_labels(items):
        return None
    by_judge, by_people = (
        estimate({name: _scores(own, of) for name, own in items.items()}, statistic, ends=ends)
        for of in ("judge", "human")
    )
    if by_judge is None or by_people is None:
        return None
    numbered = _numbers([items], "cluster"), _numbers([items], "group")
    of_component = ends_by_component(ends, items)
    parts = {name: _Component.of(own, of_component[name], *numbered) for name, own in items.items()}
    found = _linearized(parts, statistic, of_component, len(numbered[0]))
    low, high = interval_of(found)
    fewest = min(len({x.cluster for x in own if x.human is not None}) for own in items.values())
    value = Estimate(found.value, low, high, by_people.n, fewest, "Wilson, clustered, prediction-powered")
    unread = sum(item.judge is None for own in items.values() for item in own)
    return Corrected(value, by_judge, by_people, {name: part.trust for name, part in parts.items()}, unread)


def corrected_difference(
    first: Items, second: Items, statistic: Statistic, *, ends: Ends = (0.0, 1.0)
) -> Difference | None:
    """Return the paired difference of two corrected scores, second − first, clustered over both; None if a component of
    a side has too few labels. Labels may be of different items on the two sides. `n` counts the labels of the side with
    fewer, and `clusters` their clusters, for the component with fewest."""
    if not first or not enough_labels(first) or not enough_labels(second):
        return None
    numbered = _numbers([first, second], "cluster"), _numbers([first, second], "group")
    of_component = ends_by_component(ends, first)
    before, after = (
        _linearized(
            {name: _Component.of(own, of_component[name], *numbered) for name, own in side.items()},
            statistic,
            of_component,
            len(numbered[0]),
        )
        for side in (first, second)
    )
    labels = [[{x.cluster for x in own if x.human is not None} for own in side.values()] for side in (first, second)]
    fewest = min(len(clusters) for side in labels for clusters in side)
    n = min(sum(x.human is not None for own in side.values() for x in own) for side in (first, second))
    return replace(difference_of(before, after, n, by_item=False), clusters=fewest)


def _scores(items: Sequence[JudgedItem], of: str) -> list[Score]:
    return [Score(x.cluster, value, x.group) for x in items if (value := getattr(x, of)) is not None]


def _numbers(sides: Sequence[Items], of: str) -> dict[str | None, int]:
    """Return the numbers of the clusters or groups of all items."""
    names = dict.fromkeys(getattr(item, of) for side in sides for own in side.values() for item in own)
    return {name: n for n, name in enumerate(name for name in names if name is not None)}


@dataclass(frozen=True, slots=True)
class _Component:
    """The items of a component, with scores scaled to 0..1.

    An unlabelled item adds its prediction / N to the mean; a labelled one adds (human − prediction) / n as well. So
    with `share` = n / N a labelled item counts as a score of human − (1 − share) * prediction with weight 1 / n.
    """

    trust: float
    predicted: Floats
    human: Floats  # of labelled items
    labelled: npt.NDArray[np.bool_]
    cluster: Places
    group: Places
    parameters: int  # fitted to the labels

    @classmethod
    def of(
        cls,
        items: Sequence[JudgedItem],
        ends: tuple[float, float],
        clusters: Mapping[str | None, int],
        groups: Mapping[str | None, int],
    ) -> _Component:
        low, high = ends

        def scaled(values: Sequence[float | None]) -> Floats:
            given = np.asarray([np.nan if value is None else value for value in values], dtype=np.float64)
            return np.asarray((given - low) / (high - low), dtype=np.float64)

        judge, human = scaled([x.judge for x in items]), scaled([x.human for x in items])
        trust, predicted = _predict(judge, human)
        labelled = ~np.isnan(human)
        places = (
            np.asarray([clusters[x.cluster] for x in items], dtype=np.intp),
            np.asarray([groups.get(x.group, -1) for x in items], dtype=np.intp),
        )
        fitted = 1 + (trust > 0) + bool((labelled & np.isnan(judge)).any())
        return cls(trust, predicted, human[labelled], labelled, *places, int(fitted))

    @property
    def counts(self) -> Floats:
        """The number of scores that each item is averaged with."""
        return np.where(self.labelled, float(self.labelled.sum()), float(len(self.labelled)))

    @property
    def share(self) -> float:
        return float(self.labelled.mean())

    @property
    def rest(self) -> Floats:
        """human − prediction, of labelled items."""
        rest: Floats = self.human - self.predicted[self.labelled]
        return rest

    @property
    def mean(self) -> float:
        return min(1.0, max(0.0, float(self.predicted.mean() + self.rest.mean())))

    @property
    def contributed(self) -> Floats:
        """What each item adds to the mean, times `counts`."""
        found = self.predicted.copy()
        found[self.labelled] = self.rest + self.share * self.predicted[self.labelled]
        return found

    @property
    def residual(self) -> Floats:
        """The same, less what is expected."""
        n = len(self.human)
        apart: Floats = self.predicted - self.predicted.mean()
        apart[self.labelled] *= self.share
        apart[self.labelled] += (self.rest - self.rest.mean()) * np.sqrt(n / (n - self.parameters))
        return apart

    @property
    def spread(self) -> Floats:
        """The standard deviation of `residual` with unseen errors: a bad answer that passes, a good one that fails."""
        n, rest = len(self.human), self.rest
        centre = rest.mean()
        errors = np.asarray([1.0, -self.trust]) - centre
        squares = float(((rest - centre) ** 2).sum()) * n / (n - self.parameters) + _UNSEEN * float((errors**2).sum())
        of_rest, of_all = squares / (n + 2 * _UNSEEN), float(self.predicted.var())
        return np.sqrt(np.where(self.labelled, of_rest + self.share**2 * of_all, of_all))


def _predict(judge: Floats, human: Floats) -> tuple[float, Floats]:
    """Return the weight of the judge and the prediction of each item. Only differences between predictions matter.

    The weight is the slope of human labels on judge scores, from 0 to 1; a judge with constant scores gets 0. Items
    without a verdict are predicted by the mean of their labels, drawn towards the mean of all labels.
    """
    read, labelled = ~np.isnan(judge), ~np.isnan(human)
    f, y = judge[read & labelled], human[read & labelled]
    spread = float(f.var()) if len(f) else 0.0
    trust = min(1.0, max(0.0, float(np.cov(f, y, bias=True)[0, 1]) / spread)) if spread > 1e-12 else 0.0
    overall = float(human[labelled].mean())
    base = float(y.mean() - trust * f.mean()) if len(f) else overall
    unread = human[labelled & ~read]
    constant = (float(unread.sum()) + _PRIOR_LABELS * overall) / (len(unread) + _PRIOR_LABELS) - base
    return trust, np.where(read, trust * np.nan_to_num(judge), constant)


def _linearized(parts: Mapping[str, _Component], statistic: Statistic, ends: EndsOf, clusters: int) -> Linearized:
    smoothed = {name: (part.mean * len(part.human) + 0.5) / (len(part.human) + 1) for name, part in parts.items()}
    gradient = gradient_of(statistic, smoothed, ends)
    least, most = sorted(value_at(statistic, dict.fromkeys(parts, end), ends) for end in (0.0, 1.0))

    def joined(of: Callable[[str, _Component], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate([of(name, part) for name, part in parts.items()])

    return Linearized(
        value=value_at(statistic, {name: part.mean for name, part in parts.items()}, ends),
        smoothed=value_at(statistic, smoothed, ends),
        least=least,
        most=most,
        weight=joined(lambda name, part: gradient[name] / part.counts),
        scaled=joined(lambda _, part: part.contributed),
        residual=joined(lambda _, part: part.residual),
        n_of=joined(lambda _, part: part.counts),
        spread=joined(lambda _, part: part.spread),
        cluster=joined(lambda _, part: part.cluster),
        clusters=clusters,
        group=joined(lambda _, part: part.group),
        item=np.arange(sum(len(part.cluster) for part in parts.values())),
    )
