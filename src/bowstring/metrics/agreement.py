"""How far two raters agree on the same items: accuracy, macro F1 and Cohen's kappa, all of one table of counts.

>>> agreement(["A", "B", "tie", "A"], ["A", "B", "A", None])
Agreement(n=3, missing=1, accuracy=0.6666666666666666, macro_f1=0.5555555555555555, kappa=0.5)

None for a label is one that is missing: an item that either rater left open is counted and left out. None for a
number is one that the labels do not define.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bowstring.metrics.intervals import Estimate, resampled

# How often each pair of labels occurs: a row a label of the reference, a column a label of the other, in one order.
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """`n` items have both labels, `missing` lack one."""

    n: int
    missing: int
    accuracy: float | None
    macro_f1: float | None
    kappa: float | None


def agreement(reference: Sequence[Hashable], predicted: Sequence[Hashable]) -> Agreement:
    """Of labels in the same order of items. All three numbers stay the same when the raters change places."""
    counts = count_pairs(reference, predicted)
    n = int(counts.sum())
    return Agreement(n, len(reference) - n, accuracy(counts), macro_f1(counts), cohen_kappa(counts))


def agreement_intervals(
    reference: Sequence[Hashable], predicted: Sequence[Hashable], clusters: Sequence[str]
) -> dict[str, Estimate | None]:
    """The three numbers with intervals, resampled by cluster: labels on one user's questions are not independent."""
    names = {cluster: n for n, cluster in enumerate(dict.fromkeys(clusters))}
    places = {label: n for n, label in enumerate(dict.fromkeys(x for x in (*reference, *predicted) if x is not None))}
    tables = np.zeros((len(names), len(places), len(places)), dtype=np.int64)
    for a, b, cluster in zip(reference, predicted, clusters, strict=True):
        if a is not None and b is not None:
            tables[names[cluster], places[a], places[b]] += 1
    tables = tables[tables.any(axis=(1, 2))]  # a cluster without a readable label says nothing
    whole = tables.sum(axis=0)
    draws = np.tensordot(resampled(len(tables)).astype(np.int64), tables, 1) if len(tables) else whole[None]
    numbers = {"accuracy": accuracy, "macro_f1": macro_f1, "kappa": cohen_kappa}
    return {name: _with_interval(number, whole, draws, len(tables)) for name, number in numbers.items()}


def _with_interval(
    number: Callable[[Counts], float | None], whole: Counts, draws: Counts, clusters: int
) -> Estimate | None:
    value = number(_given(whole))
    if value is None:
        return None
    drawn = [found for counts in draws if (found := number(_given(counts))) is not None]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Estimate(value, float(low), float(high), int(whole.sum()), clusters)


def _given(counts: Counts) -> Counts:
    """Without the labels that neither rater gave."""
    used = np.flatnonzero(counts.sum(axis=0) + counts.sum(axis=1))
    return counts[np.ix_(used, used)]


def count_pairs(reference: Sequence[Hashable], predicted: Sequence[Hashable]) -> Counts:
    pairs = [pair for pair in zip(reference, predicted, strict=True) if None not in pair]
    places: dict[Hashable, int] = {}
    for label in (label for pair in pairs for label in pair):
        places.setdefault(label, len(places))
    counts = np.zeros((len(places), len(places)), dtype=np.int64)
    for a, b in pairs:
        counts[places[a], places[b]] += 1
    return counts


def accuracy(counts: Counts) -> float | None:
    """The share of items with the same label; None of no items."""
    n = counts.sum()
    return float(np.trace(counts) / n) if n else None


def macro_f1(counts: Counts) -> float | None:
    """The mean F1 of the labels that either rater gave; one that they never share scores 0. None of no items."""
    if not counts.size:
        return None
    given = counts.sum(axis=0) + counts.sum(axis=1)  # at least 1: a label is here because somebody gave it
    return float(np.mean(2 * np.diagonal(counts) / given))


def cohen_kappa(counts: Counts) -> float | None:
    """Agreement beyond what the raters' own habits would give by chance, for labels without an order.

    None of no items, and where both raters gave one and the same label throughout: chance alone gives full agreement
    then, so the labels say nothing about the raters, and neither 0 nor 1 would be true.
    """
    n = counts.sum()
    by_chance = int(counts.sum(axis=0) @ counts.sum(axis=1))  # times n²: whole numbers, so that equal is equal
    if by_chance == n * n:
        return None
    return float((np.trace(counts) * n - by_chance) / (n * n - by_chance))
