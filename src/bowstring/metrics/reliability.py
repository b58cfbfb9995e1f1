"""Agreement of any number of raters beyond chance: Krippendorff's alpha and Fleiss' kappa, with clustered intervals.

>>> items = [{"ann": "A", "bob": "A"}, {"ann": "B", "bob": "B", "cy": "B"}, {"ann": "A", "bob": "B"}]
>>> round(krippendorff_alpha(items).value, 3)
0.5

An item maps its raters to their labels; absent raters are omitted. Alpha uses items with two or more ratings; kappa
needs the same number on every item. None if undefined: no such item, or a single label throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import sums_of_draws
from bowstring.metrics.intervals import Estimate, agreement_interval

Item = Mapping[str, Any]  # rater: label
Level = Literal["nominal", "ordinal", "interval"]
Floats = npt.NDArray[np.float64]


def krippendorff_alpha(
    items: Sequence[Item], level: Level = "nominal", clusters: Sequence[str] | None = None
) -> Estimate | None:
    """Return alpha for nominal labels, ordinal ones (numbers, or texts that sort), or interval ones (numbers)."""
    rated = [(item, cluster) for item, cluster in _clustered(items, clusters) if len(item) > 1]
    if not rated:
        return None
    of = {"nominal": _nominal_alpha, "ordinal": _ordinal_alpha, "interval": _interval_alpha}
    return of[level](rated)


def _nominal_alpha(rated: Sequence[tuple[Item, str]]) -> Estimate | None:
    places = {label: n for n, label in enumerate(_labels([item for item, _ in rated]))}
    at = {name: n for n, name in enumerate(dict.fromkeys(cluster for _, cluster in rated))}
    sums = np.zeros((len(at), len(places) + 1))  # by label; then what differs within items
    for item, cluster in rated:
        counts = np.bincount([places[label] for label in item.values()], minlength=len(places)).astype(float)
        differ = (counts.sum() ** 2 - (counts**2).sum()) / (counts.sum() - 1)
        sums[at[cluster]] += (*counts, differ)
    return _estimate(sums, _alpha_of_counts, sum(len(item) for item, _ in rated))


def _ordinal_alpha(rated: Sequence[tuple[Item, str]]) -> Estimate | None:
    labels = _labels([item for item, _ in rated])
    places = {label: n for n, label in enumerate(labels)}
    at = {name: n for n, name in enumerate(dict.fromkeys(cluster for _, cluster in rated))}
    # Coincidences of two ratings of one item; each item is weighted by its number of ratings.
    met = np.zeros((len(at), len(labels), len(labels)))
    for item, cluster in rated:
        counts = np.bincount([places[label] for label in item.values()], minlength=len(labels)).astype(float)
        met[at[cluster]] += (np.outer(counts, counts) - np.diag(counts)) / (counts.sum() - 1)
    return _estimate(met, _alpha_of_tables, sum(len(item) for item, _ in rated))


def _interval_alpha(rated: Sequence[tuple[Item, str]]) -> Estimate | None:
    """Compute alpha from sums and sums of squares, without a label table: numbers may all differ."""
    numbers = [(np.asarray(list(item.values()), dtype=float), cluster) for item, cluster in rated]
    middle = float(np.mean(np.concatenate([values for values, _ in numbers])))  # centring keeps the squares small
    at = {name: n for n, name in enumerate(dict.fromkeys(cluster for _, cluster in numbers))}
    sums = np.zeros((len(at), 4))  # ratings, their sum, the sum of their squares, what differs within items
    for values, cluster in numbers:
        off = values - middle
        within = 2 * (len(off) * (off**2).sum() - off.sum() ** 2) / (len(off) - 1)
        sums[at[cluster]] += (len(off), off.sum(), (off**2).sum(), within)
    if all((values == numbers[0][0][0]).all() for values, _ in numbers):
        return None
    return _estimate(sums, _alpha_of_sums, int(sums[:, 0].sum()))


def fleiss_kappa(items: Sequence[Item], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Return kappa for nominal labels; only items with the most common number of ratings are used."""
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
    """Return a statistic of sums over clusters, with a percentile interval over resampled clusters. If all clusters are
    alike, the interval allows for unseen ones."""
    value = statistic(by_cluster.sum(axis=0)[None])[0]
    if not np.isfinite(value):
        return None
    drawn = statistic(sums_of_draws(by_cluster))
    low, high = agreement_interval(float(value), drawn, by_cluster, signed=True)
    return Estimate(float(value), low, high, n, len(by_cluster), "bootstrap")


def _alpha_of_counts(sums: Floats) -> Floats:
    """Return 1 - observed disagreement / expected disagreement."""
    given, differ = sums[:, :-1], sums[:, -1]
    total = given.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = 1 - (total - 1) * differ / (total**2 - (given**2).sum(axis=-1))
    return found


def _alpha_of_tables(tables: Floats) -> Floats:
    """Return the same for tables (draws, labels, labels); the distance of two labels is the number of ratings between
    them."""
    given = tables.sum(axis=-1)  # (draws, labels)
    middle = given.cumsum(axis=-1) - given / 2  # half of a label's own ratings included
    apart = (middle[:, :, None] - middle[:, None, :]) ** 2
    seen = (tables * apart).sum(axis=(-1, -2))
    by_chance = (given[:, :, None] * given[:, None, :] * apart).sum(axis=(-1, -2))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = 1 - (given.sum(axis=-1) - 1) * seen / by_chance
    return found


def _alpha_of_sums(sums: Floats) -> Floats:
    ratings, total, squares, within = sums.T
    by_chance = 2 * (ratings * squares - total**2)
    # If a draw holds a single value, what remains is rounding error, not a distance.
    by_chance = np.where(by_chance > 1e-9 * ratings * np.maximum(squares, 1e-300), by_chance, np.nan)
    found: Floats = 1 - (ratings - 1) * within / by_chance
    return found


def _kappa(sums: Floats) -> Floats:
    given, agreed, items = sums[:, :-2], sums[:, -2], sums[:, -1]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = given / given.sum(axis=-1, keepdims=True)
        by_chance = (shares**2).sum(axis=-1)
        found: Floats = (agreed / items - by_chance) / (1 - by_chance)
    return np.where(np.isclose(by_chance, 1.0), np.nan, found)
