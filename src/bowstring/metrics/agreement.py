"""Agreement of two raters on the same items: accuracy, macro F1 and Cohen's kappa, from one confusion table.

>>> agreement(["A", "B", "tie", "A"], ["A", "B", "A", None])
Agreement(n=3, missing=1, accuracy=0.6666666666666666, macro_f1=0.5555555555555555, kappa=0.5)

A label of None is missing: items that either rater did not label are counted and excluded. A result of None is
undefined for these labels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bowstring.metrics.intervals import Estimate, interval_of
from bowstring.metrics.residuals import Half, Unseen, from_residuals

# Confusion tables: one row per label of the reference, one column per label of the other rater, in the same order. With
# more axes, the last two are a table's, and the result has one number per table; NaN if undefined.
Counts = npt.NDArray[np.int64 | np.float64]  # parts of an item only in derivatives
Floats = npt.NDArray[np.float64]
Number = Callable[[Counts], Floats]
_STEP = 1e-3  # of an item, for derivatives


@dataclass(frozen=True, slots=True)
class Agreement:
    """`n` items have both labels; `missing` items lack one."""

    n: int
    missing: int
    accuracy: float | None
    macro_f1: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class LabelScore:
    """One label against the reference, which gave it `n` times. None if a rater never gave the label."""

    precision: float | None
    recall: float | None
    f1: float
    n: int


def agreement(
    reference: Sequence[Hashable], predicted: Sequence[Hashable], labels: Sequence[Hashable] = ()
) -> Agreement:
    """Measure the agreement of labels in the same item order. All three measures are symmetric in the raters.

    `labels` are the labels of the task, which macro F1 averages over; by default those that occur.
    """
    counts = count_pairs(reference, predicted, labels)
    n = int(counts.sum())
    numbers = (_or_none(number(counts)) for number in (accuracy, macro_f1, cohen_kappa))
    return Agreement(n, len(reference) - n, *numbers)


def agreement_intervals(
    reference: Sequence[Hashable], predicted: Sequence[Hashable], clusters: Sequence[str]
) -> dict[str, Estimate | None]:
    """Return the three measures with clustered intervals: labels of one user's questions are not independent."""
    pairs = (pair for pair in zip(reference, predicted, strict=True) if None not in pair)
    labels = list(dict.fromkeys(label for pair in pairs for label in pair))
    tables = count_by_cluster(reference, predicted, clusters, labels)
    return with_intervals(tables, {"accuracy": accuracy, "macro_f1": macro_f1, "kappa": cohen_kappa})


def count_pairs(
    reference: Sequence[Hashable], predicted: Sequence[Hashable], labels: Sequence[Hashable] = ()
) -> Counts:
    """Return the confusion table, with labels in this order; by default in order of appearance."""
    pairs = [pair for pair in zip(reference, predicted, strict=True) if None not in pair]
    order = labels or list(dict.fromkeys(label for pair in pairs for label in pair))
    places = {label: n for n, label in enumerate(order)}
    counts = np.zeros((len(places), len(places)), dtype=np.int64)
    for a, b in pairs:
        counts[places[a], places[b]] += 1
    return counts


def count_by_cluster(
    reference: Sequence[Hashable],
    predicted: Sequence[Hashable],
    clusters: Sequence[str],
    labels: Sequence[Hashable],
) -> Counts:
    """Return one table per cluster; clusters without a pair of labels are omitted."""
    names = {cluster: n for n, cluster in enumerate(dict.fromkeys(clusters))}
    places = {label: n for n, label in enumerate(labels)}
    tables = np.zeros((len(names), len(places), len(places)), dtype=np.int64)
    for a, b, cluster in zip(reference, predicted, clusters, strict=True):
        if a is not None and b is not None:
            tables[names[cluster], places[a], places[b]] += 1
    found: Counts = tables[tables.any(axis=(1, 2))]
    return found


def with_intervals(tables: Counts, numbers: Mapping[str, Number]) -> dict[str, Estimate | None]:
    """Return measures of the summed tables, one table per cluster, with clustered intervals."""
    whole = tables.sum(axis=0)
    counts = tables[tables > 0].astype(np.int64)
    cluster, row, column = (np.repeat(places, counts) for places in np.nonzero(tables))
    found: dict[str, Estimate | None] = {}
    for name, number in numbers.items():
        value = _or_none(number(whole))
        if value is None:
            found[name] = None
            continue
        least, most = _ends(number, whole)
        low, high = least, 1.0
        if least < most:  # otherwise nothing is known about the labels of the average
            residual = _residuals(number, whole)
            unseen = _unseen(residual, value, whole)
            low, high = interval_of(from_residuals(value, residual[row, column], cluster, (least, most), unseen))
        found[name] = Estimate(value, low, high, len(cluster), len(tables))
    return found


def _ends(number: Number, whole: Counts) -> tuple[float, float]:
    """Return the lowest value, and that of raters who give these labels and always agree: for macro F1 below 1 if they
    never give some of the labels that it averages over, and 0 if they give none of them."""
    unsigned = getattr(number, "func", number) in (accuracy, macro_f1)  # also as a partial function
    return 0.0 if unsigned else -1.0, float(number(np.diag(_given(whole))))


def _residuals(number: Number, whole: Counts) -> Floats:
    """Return the derivative of a measure by the share of each cell, less its mean: what an item adds to the measure."""
    rows, columns = np.nonzero(np.outer(_given(whole), _given(whole)))
    steps = np.zeros((len(rows), *whole.shape))
    steps[np.arange(len(rows)), rows, columns] = _STEP
    found = np.zeros(whole.shape)
    found[rows, columns] = (number(whole + steps) - number(whole - steps)) * (whole.sum() / (2 * _STEP))
    centred: Floats = found - (found * whole).sum() / whole.sum()
    return centred


def _unseen(residual: Floats, value: float, whole: Counts) -> Unseen:
    """Return half an item with two labels that differ and half an item with equal ones, drawn from all labels given."""
    shares = _given(whole) / _given(whole).sum()
    differ = np.outer(shares, shares)
    np.fill_diagonal(differ, 0.0)
    if not differ.any():  # of a single label, measures are means
        return Unseen.between(value, 0.0, value)
    return Unseen(Half.of(residual, differ / differ.sum()), Half.of(residual, np.diag(shares)))


def _given(whole: Counts) -> Counts:
    """Return how often each label was given, by either rater."""
    given: Counts = whole.sum(axis=0) + whole.sum(axis=1)
    return given


def accuracy(counts: Counts) -> Floats:
    """Return the share of items with the same label; undefined without items."""
    return _divided(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-1, -2)))


def macro_f1(counts: Counts, averaged: Sequence[int] | None = None) -> Floats:
    """Return the mean F1 of all labels of the table, or of those at the places `averaged`, as `f1_score(labels=…,
    zero_division=0)` of scikit-learn does. A label that the raters never share scores 0, also if neither gives it: the
    average is over the same labels for every pair of raters. Undefined without items."""
    given = counts.sum(axis=-1) + counts.sum(axis=-2)
    each = np.nan_to_num(_divided(2 * np.diagonal(counts, axis1=-2, axis2=-1), given))
    chosen = each if averaged is None else each[..., list(averaged)]
    return _divided(chosen.sum(axis=-1), np.where(given.any(axis=-1), chosen.shape[-1], 0))


def cohen_kappa(counts: Counts, apart: npt.NDArray[np.float64 | np.int64] | None = None) -> Floats:
    """Return the agreement beyond chance, given each rater's label frequencies.

    `apart` holds the distance between any two labels; by default all are equally distant (nominal labels). Undefined
    without items, and if both raters gave one and the same label throughout: chance alone then gives full agreement, so
    neither 0 nor 1 would be meaningful.
    """
    if apart is None:
        apart = 1 - np.eye(counts.shape[-1], dtype=np.int64)  # integers, so that equality is exact
    n = counts.sum(axis=(-1, -2))
    seen = (counts * apart).sum(axis=(-1, -2))
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    by_chance = (rows[..., :, None] * columns[..., None, :] * apart).sum(axis=(-1, -2))
    found: Floats = 1 - _divided(n * seen, by_chance)
    return found


def distances(values: Sequence[float], power: int) -> Floats:
    """Return the distances between labels with these values: linear kappa weights with power 1, quadratic with 2."""
    at = np.asarray(values, dtype=np.float64)
    found: Floats = np.abs(at[:, None] - at[None, :]) ** power
    return found


def label_scores(counts: Counts) -> list[LabelScore]:
    """Return precision, recall and F1 of every label of one table, in its order."""
    right, given, wanted = np.diagonal(counts), counts.sum(axis=0), counts.sum(axis=1)
    rows = zip(
        _divided(right, given).tolist(),
        _divided(right, wanted).tolist(),
        np.nan_to_num(_divided(2 * right, given + wanted)).tolist(),
        wanted.tolist(),
        strict=True,
    )
    return [LabelScore(_finite(precision), _finite(recall), f1, n) for precision, recall, f1, n in rows]


def _divided(above: npt.ArrayLike, below: npt.ArrayLike) -> Floats:
    """Divide elementwise; NaN where the divisor is 0."""
    above, below = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    found: Floats = np.divide(above, below, out=np.full(below.shape, np.nan), where=below != 0)
    return found


def _or_none(number: Floats) -> float | None:
    return _finite(float(number))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
