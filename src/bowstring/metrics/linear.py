"""Linearized statistics: what each score contributes to the error of a statistic, and how clusters add up.

A metric is a statistic of component means: one mean, a weighted total, an F1 over pooled items. To first order its
error is a sum over scores, each weighted by the derivative of the statistic. Scores of one user depend on each other,
and so do scores of one persona; the variance of the sum is the variance of independent scores plus that of all pairs
that share a user or a persona.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Means, Score

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Statistic = Callable[[Means], Floats]
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


def columns_of(*sides: Mapping[str, Sequence[Score]]) -> tuple[list[dict[str, Column]], int]:
    """Return the scores of each side as columns, numbered alike, and the number of clusters."""
    clusters: dict[str, int] = {}
    groups: dict[str | None, int] = {None: -1}
    for side in sides:
        for scores in side.values():
            for score in scores:
                clusters.setdefault(score.cluster, len(clusters))
                groups.setdefault(score.group, len(groups) - 1)

    def column(scores: Sequence[Score]) -> Column:
        values = np.asarray([s.value for s in scores], dtype=np.float64)
        cluster = np.asarray([clusters[s.cluster] for s in scores], dtype=np.intp)
        return Column(values, cluster, np.asarray([groups[s.group] for s in scores], dtype=np.intp))

    return [{name: column(scores) for name, scores in side.items()} for side in sides], len(clusters)


def linearize(
    columns: Mapping[str, Column], statistic: Statistic, ends: tuple[float, float], clusters: int
) -> Linearized:
    """Linearize a statistic of component means. `ends` are the lowest and highest possible score."""
    low, high = ends
    scaled = {name: (column.values - low) / (high - low) for name, column in columns.items()}
    counts = {name: len(x) for name, x in scaled.items()}
    means = {name: float(x.mean()) for name, x in scaled.items()}
    smoothed = {name: (float(x.sum()) + 0.5) / (counts[name] + 1) for name, x in scaled.items()}
    spread = {name: _smoothed_spread(x, smoothed[name]) for name, x in scaled.items()}
    gradient = gradient_of(statistic, smoothed, low, high)
    least, most = sorted(value_at(statistic, dict.fromkeys(means, end), low, high) for end in (0.0, 1.0))

    def per_item(by_name: Mapping[str, float]) -> Floats:
        return np.concatenate([np.full(counts[name], by_name[name]) for name in columns])

    return Linearized(
        value=_evaluate(statistic, {name: float(c.values.sum()) / len(c.values) for name, c in columns.items()}),
        smoothed=value_at(statistic, smoothed, low, high),
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
    )


def _smoothed_spread(scaled: Floats, mean: float) -> float:
    """Return the standard deviation of the scores and half a score at both ends."""
    squares = float(((scaled - mean) ** 2).sum()) + 0.5 * mean**2 + 0.5 * (1 - mean) ** 2
    return math.sqrt(squares / (len(scaled) + 1))


def value_at(statistic: Statistic, means: Mapping[str, float], low: float, high: float) -> float:
    """Return the statistic of means that are scaled to 0..1."""
    return _evaluate(statistic, {name: low + (high - low) * mean for name, mean in means.items()})


def _evaluate(statistic: Statistic, means: Mapping[str, float]) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        found = statistic({name: np.asarray([mean]) for name, mean in means.items()})
    return float(np.nan_to_num(found[0]))


def gradient_of(statistic: Statistic, at: Mapping[str, float], low: float, high: float) -> dict[str, float]:
    """Return the derivative of the statistic by each component's mean, scaled to 0..1."""
    return {
        name: (
            value_at(statistic, {**at, name: mean + _STEP}, low, high)
            - value_at(statistic, {**at, name: mean - _STEP}, low, high)
        )
        / (2 * _STEP)
        for name, mean in at.items()
    }


def sums_by(places: Places, values: Floats, size: int) -> Floats:
    """Return the sum of the values at each place; items at -1 are left out."""
    there = places >= 0
    return np.asarray(np.bincount(places[there], weights=values[there], minlength=size), dtype=np.float64)
