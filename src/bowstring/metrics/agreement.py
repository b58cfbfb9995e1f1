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

from bowstring.metrics.clusters import sums_of_draws
from bowstring.metrics.intervals import Estimate, agreement_interval, zero_event_upper_bound

# Confusion tables: one row per label of the reference, one column per label of the other rater, in the same order. With
# more axes, the last two are a table's, and the result has one number per table; NaN if undefined.
Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Number = Callable[[Counts], Floats]


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
    """Return the three measures with clustered bootstrap intervals: labels of one user's questions are not
    independent."""
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
    """Return measures of the summed tables, with percentile intervals over resampled clusters. If all clusters are
    alike, the interval allows for unseen clusters."""
    whole = tables.sum(axis=0)
    # Integers are exact as floats, and float matrices multiply much faster.
    drawn_tables = sums_of_draws(tables.astype(np.float64)) if len(tables) else whole[None]
    draws = np.rint(drawn_tables).astype(np.int64)
    found: dict[str, Estimate | None] = {}
    for name, number in numbers.items():
        value, drawn = _or_none(number(whole)), number(draws)
        if value is None:
            found[name] = None
            continue
        unsigned = getattr(number, "func", number) in (accuracy, macro_f1)  # also as a partial function
        low, high = agreement_interval(value, drawn, tables, signed=not unsigned)
        if high == 0 and not np.trace(whole):
            high = zero_event_upper_bound(len(tables))
        found[name] = Estimate(value, low, high, int(whole.sum()), len(tables), "bootstrap")
    return found


def accuracy(counts: Counts) -> Floats:
    """Return the share of items with the same label; undefined without items."""
    return _divided(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-1, -2)))


def macro_f1(counts: Counts, averaged: Sequence[int] | None = None) -> Floats:
    """Return the mean F1 of all labels of the table, or of those at the places `averaged`, as `f1_score(labels=…,
    zero_division=0)` of scikit-learn does. A label that the raters never share scores 0, also if neither gives it: the
    average is over the same labels for every pair of raters and every resample. Undefined without items."""
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
