"""Linearized statistics: what each score contributes to the error of a statistic, and how clusters add up.

A metric is a statistic of component means: one mean, a weighted total, an F1 over pooled items. To first order its
error is a sum over scores, each weighted by the derivative of the statistic. Scores of one user depend on each other,
and so do scores of one persona; the variance of the sum is the variance of independent scores plus that of all pairs
that share a user or a persona.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Means, Score

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Statistic = Callable[[Means], Floats]
Ends = tuple[float, float] | Mapping[str, tuple[float, float]]  # the lowest and highest score, of all or by component
_STEP = 1e-5


@dataclass(frozen=True, slots=True)
class Linearized:
    """A statistic and its scores, by item: `weight` times the score, scaled to 0..1, is what an item adds to it.

    `value` is the statistic of the sample; `smoothed` and `spread` (a standard deviation per item) belong to the
    sample with half a score added at both ends of each component's range, so that scores that are all alike are not
    taken for certainty.
    """

    value: float
    smoothed: float
    least: float  # the statistic where all scores are lowest or highest
    most: float
    weight: Floats
    scaled: Floats  # the score itself
    residual: Floats  # from the mean of its component
    n_of: Floats  # the number of scores of its component
    spread: Floats
    cluster: Places
    clusters: int
    group: Places  # a second way in which items share a cluster; -1: none
    item: Places  # the same for two scores of an item, in the linearized statistics of two sides

    @property
    def n(self) -> int:
        return len(self.weight)

    @property
    def influence(self) -> Floats:
        """What each item adds to the statistic's distance from its expected value."""
        product: Floats = self.weight * self.residual
        return product

    @property
    def moved(self) -> Floats:
        """What each item adds to the statistic."""
        product: Floats = self.weight * self.scaled
        return product


class Column(NamedTuple):
    """The scores of a component, with numbered clusters and groups."""

    values: Floats
    cluster: Places
    group: Places
    item: Places


def columns_of(*sides: Mapping[str, Sequence[Score]]) -> tuple[list[dict[str, Column]], int]:
    """Return the scores of each side as columns, numbered alike, and the number of clusters. The first scores of a
    component in a cluster are taken to be of one item on all sides, then the second ones, and so on."""
    items: dict[tuple[str, str, int], int] = {}
    clusters: dict[str, int] = {}
    groups: dict[str | None, int] = {None: -1}
    for side in sides:
        for scores in side.values():
            for score in scores:
                clusters.setdefault(score.cluster, len(clusters))
                groups.setdefault(score.group, len(groups) - 1)

    def column(name: str, scores: Sequence[Score]) -> Column:
        seen: Counter[str] = Counter()
        item: Iterable[int] = range(len(scores))
        if len(sides) > 1:  # a single side has nothing to pair
            item = []
            for score in scores:
                item.append(items.setdefault((name, score.cluster, seen[score.cluster]), len(items)))
                seen[score.cluster] += 1
        return Column(
            np.asarray([s.value for s in scores], dtype=np.float64),
            np.asarray([clusters[s.cluster] for s in scores], dtype=np.intp),
            np.asarray([groups[s.group] for s in scores], dtype=np.intp),
            np.asarray(item, dtype=np.intp),
        )

    return [{name: column(name, scores) for name, scores in side.items()} for side in sides], len(clusters)


def ends_by_component(ends: Ends, components: Iterable[str]) -> dict[str, tuple[float, float]]:
    return {name: ends if isinstance(ends, tuple) else ends[name] for name in components}


def linearize(columns: Mapping[str, Column], statistic: Statistic, ends: Ends, clusters: int) -> Linearized:
    """Linearize a statistic of component means. `ends` are the lowest and highest possible score."""
    of = ends_by_component(ends, columns)
    scaled = {name: (column.values - of[name][0]) / (of[name][1] - of[name][0]) for name, column in columns.items()}
    counts = {name: len(x) for name, x in scaled.items()}
    means = {name: float(x.mean()) for name, x in scaled.items()}
    smoothed = {name: (float(x.sum()) + 0.5) / (counts[name] + 1) for name, x in scaled.items()}
    spread = {name: _smoothed_spread(x, smoothed[name]) for name, x in scaled.items()}
    gradient = gradient_of(statistic, smoothed, of)
    least, most = sorted(value_at(statistic, dict.fromkeys(means, end), of) for end in (0.0, 1.0))

    def per_item(by_name: Mapping[str, float]) -> Floats:
        return np.concatenate([np.full(counts[name], by_name[name]) for name in columns])

    return Linearized(
        value=_evaluate(statistic, {name: float(c.values.sum()) / len(c.values) for name, c in columns.items()}),
        smoothed=value_at(statistic, smoothed, of),
        least=least,
        most=most,
        weight=per_item({name: gradient[name] / counts[name] for name in columns}),
        scaled=np.concatenate(list(scaled.values())),
        residual=np.concatenate([x - means[name] for name, x in scaled.items()]),
        n_of=per_item(counts),
        spread=per_item(spread),
        cluster=np.concatenate([column.cluster for column in columns.values()]),
        clusters=clusters,
        group=np.concatenate([column.group for column in columns.values()]),
        item=np.concatenate([column.item for column in columns.values()]),
    )


def changes(before: Linearized, after: Linearized) -> tuple[Linearized, Linearized]:
    """Return the gains and the losses from one side to the other as statistics of their own: each item's gain, or
    loss, as a share of the most that the item can change."""
    size = 1 + int(max(before.item.max(), after.item.max()))
    change = sums_by(after.item, after.moved, size) - sums_by(before.item, before.moved, size)
    sides = (before, after)
    most = np.maximum(*(sums_by(side.item, np.abs(side.weight), size) for side in sides))
    cluster, group = (np.zeros(size, dtype=np.intp) for _ in range(2))
    for side in sides:
        cluster[side.item], group[side.item] = side.cluster, side.group
    there = most > 0
    share = change[there] / most[there]
    one, other = (
        _of_shares(np.clip(sign * share, 0.0, 1.0), most[there], cluster[there], group[there], before.clusters)
        for sign in (1, -1)
    )
    return one, other


def net_change(before: Linearized, after: Linearized) -> Linearized:
    """Return the change from one side to the other as one statistic, from -1 to 1 of what each item can change."""
    gains, losses = changes(before, after)
    share = gains.scaled - losses.scaled
    mean = (gains.value - losses.value) / max(1e-300, gains.most)
    spread = math.sqrt(float((share**2).mean()) + 1 / len(share))
    return replace(
        gains, value=after.value - before.value, scaled=share, residual=share - mean, spread=np.full(len(share), spread)
    )


def _of_shares(share: Floats, most: Floats, cluster: Places, group: Places, clusters: int) -> Linearized:
    n = len(share)
    total = float(most.sum())
    smoothed = (float((most * share).sum()) / total * n + 0.5) / (n + 1)
    return Linearized(
        value=float((most * share).sum()),
        smoothed=smoothed * total,
        least=0.0,
        most=total,
        weight=most,
        scaled=share,
        residual=share - float((most * share).sum()) / total,
        n_of=np.full(n, float(n)),
        spread=np.full(n, _smoothed_spread(share, smoothed)),
        cluster=cluster,
        clusters=clusters,
        group=group,
        item=np.arange(n),
    )


def _smoothed_spread(scaled: Floats, mean: float) -> float:
    """Return the standard deviation of the scores and half a score at both ends."""
    squares = float(((scaled - mean) ** 2).sum()) + 0.5 * mean**2 + 0.5 * (1 - mean) ** 2
    return math.sqrt(squares / (len(scaled) + 1))


EndsOf = Mapping[str, tuple[float, float]]


def value_at(statistic: Statistic, means: Mapping[str, float], of: EndsOf) -> float:
    """Return the statistic at means that are scaled to 0..1."""
    return _evaluate(statistic, {name: of[name][0] + (of[name][1] - of[name][0]) * x for name, x in means.items()})


def _evaluate(statistic: Statistic, means: Mapping[str, float]) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        found = statistic({name: np.asarray([mean]) for name, mean in means.items()})
    return float(np.nan_to_num(found[0]))


def gradient_of(statistic: Statistic, at: Mapping[str, float], of: EndsOf) -> dict[str, float]:
    """Return the derivative of the statistic by each component's mean, scaled to 0..1."""
    return {
        name: (
            value_at(statistic, {**at, name: mean + _STEP}, of) - value_at(statistic, {**at, name: mean - _STEP}, of)
        )
        / (2 * _STEP)
        for name, mean in at.items()
    }


def sums_by(places: Places, values: Floats, size: int) -> Floats:
    """Return the sum of the values at each place; items at -1 are left out."""
    there = places >= 0
    return np.asarray(np.bincount(places[there], weights=values[there], minlength=size), dtype=np.float64)


def numbered(names: Sequence[str]) -> Places:
    """Return the number of each name, in order of appearance."""
    places = {name: n for n, name in enumerate(dict.fromkeys(names))}
    return np.asarray([places[name] for name in names], dtype=np.intp)


def number_of_events(influence: Floats) -> float:
    """Return the number of items that would have this influence if they shared it equally; 0 if there is none."""
    squares = influence**2
    fourth = float((squares**2).sum())
    return float(squares.sum()) ** 2 / fourth if fourth > 0 else 0.0
