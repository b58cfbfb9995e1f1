"""Agreement of any number of raters beyond chance: Krippendorff's alpha and Fleiss' kappa, with clustered intervals.

>>> items = [{"ann": "A", "bob": "A"}, {"ann": "B", "bob": "B", "cy": "B"}, {"ann": "A", "bob": "B"}]
>>> round(krippendorff_alpha(items).value, 3)
0.5

An item maps its raters to their labels; absent raters are omitted. Alpha uses items with two or more ratings; kappa
needs the same number on every item. None if undefined: no such item, or a single label throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.correlation import mean_ranks
from bowstring.metrics.intervals import Estimate, interval_of
from bowstring.metrics.linear import Places, numbered, sums_by
from bowstring.metrics.residuals import Unseen, from_residuals

Item = Mapping[str, Any]  # rater: label
Level = Literal["nominal", "ordinal", "interval"]
Floats = npt.NDArray[np.float64]


class Rated(NamedTuple):
    """Ratings of items: the numbered label and item of every rating, and the cluster of every item. Labels are in
    order, and all occur; all items have two or more ratings."""

    label: Places
    item: Places
    cluster: Places


def krippendorff_alpha(
    items: Sequence[Item], level: Level = "nominal", clusters: Sequence[str] | None = None
) -> Estimate | None:
    """Return alpha for nominal labels, ordinal ones (numbers, or texts that sort), or interval ones (numbers)."""
    rated, labels = _number(items, clusters, {len(item) for item in items} - {0, 1})
    if len(labels) < 2:
        return None
    if level == "nominal":
        return nominal_agreement(rated, alpha=True)
    values = np.asarray(labels, dtype=np.float64)[rated.label] if level == "interval" else mean_ranks(rated.label)
    return alpha_of_numbers(values, rated)


def fleiss_kappa(items: Sequence[Item], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Return kappa for nominal labels; only items with the most common number of ratings are used."""
    sizes = [len(item) for item in items if len(item) > 1]
    if not sizes:
        return None
    ratings = max(sorted(set(sizes), reverse=True), key=sizes.count)
    rated, labels = _number(items, clusters, {ratings})
    return nominal_agreement(rated) if len(labels) > 1 else None


def _number(items: Sequence[Item], clusters: Sequence[str] | None, sizes: set[int]) -> tuple[Rated, list[Any]]:
    """Return the items that have one of these numbers of ratings, and their labels."""
    names = clusters if clusters is not None else list(map(str, range(len(items))))
    chosen = [(item, cluster) for item, cluster in zip(items, names, strict=True) if len(item) in sizes]
    given = {label for item, _ in chosen for label in item.values()}
    labels = sorted(given, key=lambda label: (isinstance(label, str), label))
    places = {label: n for n, label in enumerate(labels)}
    label = [places[label] for item, _ in chosen for label in item.values()]
    item = np.repeat(np.arange(len(chosen)), [len(item) for item, _ in chosen])
    return Rated(np.asarray(label, dtype=np.intp), item, numbered([cluster for _, cluster in chosen])), labels


def nominal_agreement(rated: Rated, *, alpha: bool = False) -> Estimate:
    """Return Fleiss' kappa, 1 - observed disagreement / expected disagreement; or alpha, in which no rating is expected
    to meet itself."""
    n, total = len(rated.cluster), len(rated.label)
    ratings = sums_by(rated.item, np.ones(total), n)
    shares = np.bincount(rated.label) / total
    cells, counts = np.unique(rated.item * len(shares) + rated.label, return_counts=True)
    item, label = np.divmod(cells, len(shares))
    differ = (ratings**2 - sums_by(item, counts**2, n)) / (ratings * (ratings - 1))
    common = sums_by(item, counts * shares[label], n) / ratings
    by_chance = float((shares**2).sum())
    expected, observed = 1 - by_chance, float((ratings * differ).sum()) / total
    residual = -(differ - observed) / expected - 2 * observed / expected**2 * (common - by_chance)
    value = 1 - (total - alpha) / total * observed / expected
    return _estimate(value, residual, ratings, rated.cluster, worst=1 - 1 / expected)


def alpha_of_numbers(values: Floats, rated: Rated) -> Estimate:
    """Return alpha of a number for every rating; distances are squared."""
    n, total = len(rated.cluster), len(values)
    off = values - values.mean()
    off /= np.sqrt((off**2).mean())
    ratings, sums, squares = (sums_by(rated.item, x, n) for x in (np.ones(total), off, off**2))
    differ = sums_by(rated.item, (off - (sums / ratings)[rated.item]) ** 2, n) / (ratings - 1)
    observed = float((ratings * differ).sum()) / total
    residual = -(differ - observed) + observed * (squares / ratings - 1)
    value = 1 - (total - 1) / total * observed
    return _estimate(value, residual, ratings, rated.cluster, worst=-1.0)


def _estimate(value: float, residual: Floats, ratings: Floats, cluster: Places, *, worst: float) -> Estimate:
    """Return a measure that is, to first order, a mean of what items add to it, from `worst` to 1."""
    total = float(ratings.sum())
    linear = from_residuals(value, residual, cluster, (-1.0, 1.0), Unseen.between(value, worst, 1.0), ratings / total)
    return Estimate(value, *interval_of(linear), int(total), linear.clusters)
