"""Whether any number of raters agree beyond chance: Krippendorff's alpha and Fleiss' kappa, with clustered intervals.

>>> items = [{"ann": "A", "bob": "A"}, {"ann": "B", "bob": "B", "cy": "B"}, {"ann": "A", "bob": "B"}]
>>> round(krippendorff_alpha(items).value, 3)
0.5

An item is what its raters said of it; who said nothing is not in it. Alpha takes items with two ratings or more, kappa
needs as many on every item. None where there is nothing to go by: no such item, or one and the same label throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowstring.metrics.intervals import Estimate, resampled

Item = Mapping[str, Any]  # rater: label
Level = Literal["nominal", "ordinal", "interval"]
Floats = npt.NDArray[np.float64]


def krippendorff_alpha(
    items: Sequence[Item], level: Level = "nominal", clusters: Sequence[str] | None = None
) -> Estimate | None:
    """Alpha for labels without an order, with one (numbers, or texts that sort), or with distances (numbers)."""
    labels = _labels(items)
    rated = [(item, cluster) for item, cluster in _clustered(items, clusters) if len(item) > 1]
    if not rated:
        return None
    places = {label: n for n, label in enumerate(labels)}
    names = list(dict.fromkeys(cluster for _, cluster in rated))
    # How often two ratings of one item meet, each item counting as much as it has ratings.
    met = np.zeros((len(names), len(labels), len(labels)))
    at = {name: n for n, name in enumerate(names)}
    for item, cluster in rated:
        counts = np.bincount([places[label] for label in item.values()], minlength=len(labels)).astype(float)
        met[at[cluster]] += (np.outer(counts, counts) - np.diag(counts)) / (counts.sum() - 1)
    distance = _DISTANCES[level](labels)
    return _estimate(met, lambda tables: _alpha(tables, distance), sum(len(item) for item, _ in rated))


def fleiss_kappa(items: Sequence[Item], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Kappa for labels without an order; only items that have as many ratings as most of them take part."""
    labels = _labels(items)
    sizes = [len(item) for item in items if len(item) > 1]
    if not sizes:
        return None
    ratings = max(sorted(set(sizes), reverse=True), key=sizes.count)
    rated = [(item, cluster) for item, cluster in _clustered(items, clusters) if len(item) == ratings]
    places = {label: n for n, label in enumerate(labels)}
    names = list(dict.fromkeys(cluster for _, cluster in rated))
    at = {name: n for n, name in enumerate(names)}
    sums = np.zeros((len(names), len(labels) + 2))  # by label; then agreement, and items
    for item, cluster in rated:
        counts = np.bincount([places[label] for label in item.values()], minlength=len(labels)).astype(float)
        agreed = ((counts**2).sum() - ratings) / (ratings * (ratings - 1))
        sums[at[cluster]] += (*counts, agreed, 1.0)
    return _estimate(sums, _kappa, len(rated) * ratings)


def _labels(items: Sequence[Item]) -> list[Any]:
    found = {label for item in items for label in item.values()}
    return sorted(found, key=lambda label: (isinstance(label, str), label))


def _clustered(items: Sequence[Item], clusters: Sequence[str] | None) -> list[tuple[Item, str]]:
    return list(zip(items, clusters if clusters is not None else map(str, range(len(items))), strict=True))


def _estimate(by_cluster: Floats, statistic: Callable[[Floats], Floats], n: int) -> Estimate | None:
    """A statistic of sums over clusters, with a percentile interval over resampled ones."""
    value = statistic(by_cluster.sum(axis=0)[None])[0]
    if not np.isfinite(value):
        return None
    drawn = statistic(np.tensordot(resampled(len(by_cluster)), by_cluster, 1))
    low, high = np.percentile(drawn[np.isfinite(drawn)], [2.5, 97.5])
    return Estimate(float(value), float(low), float(high), n, len(by_cluster))


def _alpha(tables: Floats, distance: Callable[[Floats], Floats]) -> Floats:
    """Of tables (draws, labels, labels): 1 - what differs, over what would differ by chance."""
    given = tables.sum(axis=-1)  # (draws, labels)
    apart = distance(given)
    total = given.sum(axis=-1)
    seen = (tables * apart).sum(axis=(-1, -2))
    by_chance = (given[:, :, None] * given[:, None, :] * apart).sum(axis=(-1, -2))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = 1 - (total - 1) * seen / by_chance
    return found


def _kappa(sums: Floats) -> Floats:
    given, agreed, items = sums[:, :-2], sums[:, -2], sums[:, -1]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = given / given.sum(axis=-1, keepdims=True)
        by_chance = (shares**2).sum(axis=-1)
        found: Floats = (agreed / items - by_chance) / (1 - by_chance)
    return np.where(np.isclose(by_chance, 1.0), np.nan, found)


def _nominal(labels: Sequence[Any]) -> Callable[[Floats], Floats]:
    apart = 1.0 - np.eye(len(labels))
    return lambda given: apart


def _interval(labels: Sequence[Any]) -> Callable[[Floats], Floats]:
    numbers = np.asarray(labels, dtype=float)
    apart = (numbers[:, None] - numbers[None, :]) ** 2
    return lambda given: apart


def _ordinal(labels: Sequence[Any]) -> Callable[[Floats], Floats]:  # noqa: ARG001 - their order is all that counts
    def distance(given: Floats) -> Floats:
        """How many ratings lie between two labels, half of their own included."""
        middle = given.cumsum(axis=-1) - given / 2
        found: Floats = (middle[:, :, None] - middle[:, None, :]) ** 2
        return found

    return distance


_DISTANCES: Mapping[str, Callable[[Sequence[Any]], Callable[[Floats], Floats]]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}
