"""How far two raters agree on the same items: accuracy, macro F1 and Cohen's kappa, all of one table of counts.

>>> agreement(["A", "B", "tie", "A"], ["A", "B", "A", None])
Agreement(n=3, missing=1, accuracy=0.6666666666666666, macro_f1=0.5555555555555555, kappa=0.5)

None for a label is one that is missing: an item that either rater left open is counted and left out. None for a
number is one that the labels do not define.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bowstring.metrics.intervals import Estimate, agreement_interval, bootstrap_weights, zero_event_upper_bound

# How often each pair of labels occurs: a row a label of the reference, a column a label of the other, in one order.
# Where there are more axes, the last two are a table's, and a number comes out for each table; NaN where it has none.
Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Number = Callable[[Counts], Floats]


@dataclass(frozen=True, slots=True)
class Agreement:
    """`n` items have both labels, `missing` lack one."""

    n: int
    missing: int
    accuracy: float | None
    macro_f1: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class LabelScore:
    """One label against the reference, which gave it `n` times. None where a rater never gave it."""

    precision: float | None
    recall: float | None
    f1: float
    n: int


def agreement(reference: Sequence[Hashable], predicted: Sequence[Hashable]) -> Agreement:
    """Of labels in the same order of items. All three numbers stay the same when the raters change places."""
    counts = count_pairs(reference, predicted)
    n = int(counts.sum())
    numbers = (_or_none(number(counts)) for number in (accuracy, macro_f1, cohen_kappa))
    return Agreement(n, len(reference) - n, *numbers)


def agreement_intervals(
    reference: Sequence[Hashable], predicted: Sequence[Hashable], clusters: Sequence[str]
) -> dict[str, Estimate | None]:
    """The three numbers with intervals, resampled by cluster: labels on one user's questions are not independent."""
    labels = list(dict.fromkeys(x for x in (*reference, *predicted) if x is not None))
    tables = count_by_cluster(reference, predicted, clusters, labels)
    return with_intervals(tables, {"accuracy": accuracy, "macro_f1": macro_f1, "kappa": cohen_kappa})


def count_pairs(
    reference: Sequence[Hashable], predicted: Sequence[Hashable], labels: Sequence[Hashable] = ()
) -> Counts:
    """The table, with its labels in this order; by default those that were given, as they come."""
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
    """A table a cluster; one without a readable label says nothing, and has none."""
    names = {cluster: n for n, cluster in enumerate(dict.fromkeys(clusters))}
    places = {label: n for n, label in enumerate(labels)}
    tables = np.zeros((len(names), len(places), len(places)), dtype=np.int64)
    for a, b, cluster in zip(reference, predicted, clusters, strict=True):
        if a is not None and b is not None:
            tables[names[cluster], places[a], places[b]] += 1
    found: Counts = tables[tables.any(axis=(1, 2))]
    return found


def with_intervals(tables: Counts, numbers: Mapping[str, Number]) -> dict[str, Estimate | None]:
    """Numbers of the clusters' tables together, with percentile intervals over resampled clusters. Where all clusters
    are alike that would be certain: the interval allows for the exceptions that so few may hide."""
    whole = tables.sum(axis=0)
    # Whole numbers are exact as floats, and multiply much faster.
    drawn_tables = (
        np.tensordot(bootstrap_weights(len(tables)), tables.astype(np.float64), 1) if len(tables) else whole[None]
    )
    draws = np.rint(drawn_tables).astype(np.int64)
    found: dict[str, Estimate | None] = {}
    for name, number in numbers.items():
        value, drawn = _or_none(number(whole)), number(draws)
        if value is None:
            found[name] = None
            continue
        low, high = agreement_interval(value, drawn, tables, signed=number not in (accuracy, macro_f1))
        if high == 0 and not np.trace(whole):
            high = zero_event_upper_bound(len(tables))
        found[name] = Estimate(value, low, high, int(whole.sum()), len(tables))
    return found


def accuracy(counts: Counts) -> Floats:
    """The share of items with the same label; undefined of no items."""
    return _divided(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-1, -2)))


def macro_f1(counts: Counts) -> Floats:
    """The mean F1 of the labels that either rater gave; one that they never share scores 0. Undefined of no items."""
    given = counts.sum(axis=-1) + counts.sum(axis=-2)
    each = np.nan_to_num(_divided(2 * np.diagonal(counts, axis1=-2, axis2=-1), given))
    return _divided(each.sum(axis=-1), (given > 0).sum(axis=-1))


def cohen_kappa(counts: Counts, apart: npt.NDArray[np.float64 | np.int64] | None = None) -> Floats:
    """Agreement beyond what the raters' own habits would give by chance.

    `apart` says how far two labels are from each other; by default all are equally far, as labels without an order
    are. Undefined of no items, and where both raters gave one and the same label throughout: chance alone gives full
    agreement then, so the labels say nothing about the raters, and neither 0 nor 1 would be true.
    """
    if apart is None:
        apart = 1 - np.eye(counts.shape[-1], dtype=np.int64)  # whole numbers, so that equal is equal
    n = counts.sum(axis=(-1, -2))
    seen = (counts * apart).sum(axis=(-1, -2))
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    by_chance = (rows[..., :, None] * columns[..., None, :] * apart).sum(axis=(-1, -2))
    found: Floats = 1 - _divided(n * seen, by_chance)
    return found


def distances(values: Sequence[float], power: int) -> Floats:
    """How far labels with these values are apart: linear weights of a kappa with power 1, quadratic ones with 2."""
    at = np.asarray(values, dtype=np.float64)
    found: Floats = np.abs(at[:, None] - at[None, :]) ** power
    return found


def label_scores(counts: Counts) -> list[LabelScore]:
    """Precision, recall and F1 of every label of one table, in its order."""
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
    """NaN where there is nothing to divide by."""
    above, below = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    found: Floats = np.divide(above, below, out=np.full(below.shape, np.nan), where=below != 0)
    return found


def _or_none(number: Floats) -> float | None:
    return _finite(float(number))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
