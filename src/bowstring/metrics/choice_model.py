"""A linear choice model on sparse features: which of several options is the right one?

    choices = Choices.of(Rows.of([[(3, 1.0)], [(7, 1.0)], [(3, 1.0)], [(9, 1.0)]], width=16), [2, 2], [0, 0])
    choices.hits(fit(choices))  # 1.0 and 1.0

The probability of an option is proportional to exp(features · coefficients), and the coefficients minimize the weighted
negative log-likelihood plus penalty / 2 times their squares. Logistic regression is a choice between an item and
nothing (a row without features); multinomial regression is a choice between copies of the item, one per class.
Newton's method with conjugate gradients: no matrix larger than the data is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

PENALTY = 0.1
_ROUNDS = 50  # Newton steps, at most
_INNER = 60  # conjugate gradient steps per Newton step, at most
_TIE = 1e-9  # scores that differ by less are equal: rounding differs between machines


@dataclass(frozen=True, slots=True)
class Rows:
    """Sparse rows: the entries of row n are those from starts[n] to starts[n + 1]."""

    starts: Places
    columns: npt.NDArray[np.int32]
    values: Floats
    width: int  # number of columns

    @classmethod
    def of(cls, rows: Iterable[Iterable[tuple[int, float]]], width: int) -> Rows:
        listed = [list(row) for row in rows]
        entries = [entry for row in listed for entry in row]
        return cls(
            np.concatenate([[0], np.cumsum([len(row) for row in listed], dtype=np.intp)]).astype(np.intp),
            np.asarray([column for column, _ in entries], dtype=np.int32),
            np.asarray([value for _, value in entries], dtype=np.float64),
            width,
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def row_of(self) -> Places:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def take(self, rows: Places) -> Rows:
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        entries = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Rows(starts, self.columns[entries], self.values[entries], self.width)

    def times(self, coefficients: Floats) -> Floats:
        products = coefficients[self.columns] * self.values
        return np.asarray(np.bincount(self.row_of, weights=products, minlength=len(self)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Choices:
    """Options in consecutive rows: choice n has the rows from first[n] to first[n + 1]; `right` is the row of its right
    option."""

    rows: Rows
    first: Places
    right: Places
    weight: Floats

    @classmethod
    def of(
        cls, rows: Rows, sizes: Sequence[int], right: Sequence[int], weight: Sequence[float] | None = None
    ) -> Choices:
        """`right` is the place of the right option within its choice."""
        first = np.concatenate([[0], np.cumsum(sizes, dtype=np.intp)]).astype(np.intp)
        weights = np.ones(len(sizes)) if weight is None else np.asarray(weight, dtype=np.float64)
        return cls(rows, first, first[:-1] + np.asarray(right, dtype=np.intp), weights)

    def __len__(self) -> int:
        return len(self.right)

    def take(self, chosen: Places) -> Choices:
        sizes = np.diff(self.first)[chosen]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        rows = np.arange(first[-1]) + np.repeat(self.first[chosen] - first[:-1], sizes)
        right = first[:-1] + self.right[chosen] - self.first[chosen]
        return Choices(self.rows.take(rows), first, right, self.weight[chosen])

    def hits(self, coefficients: Floats) -> Floats:
        """Return for each choice 1 if its right option has the highest score, its share if several do, otherwise 0."""
        scores = self.rows.times(coefficients)
        begins = self.first[:-1]
        best = np.maximum.reduceat(scores, begins) if len(self) else scores
        tied = np.add.reduceat((scores >= np.repeat(best, np.diff(self.first)) - _TIE).astype(np.float64), begins)
        return np.where(scores[self.right] >= best - _TIE, 1.0 / tied, 0.0)


def fit(choices: Choices, penalty: float = PENALTY, *, tolerance: float = 1e-2) -> Floats:
    """Return the coefficients. `tolerance` is the length of the gradient at which to stop, relative to the first."""
    found = np.zeros(choices.rows.width)
    if not len(choices):
        return found
    problem = _Problem.of(choices, penalty)
    loss, gradient, shares = problem.at(found)
    begun = float(np.linalg.norm(gradient))
    for _ in range(_ROUNDS):
        length = float(np.linalg.norm(gradient))
        if length <= tolerance * begun or begun == 0.0:
            break
        step = problem.newton_step(gradient, shares, min(0.1, length / begun))
        slope, size = float(gradient @ step), 1.0
        while True:
            moved = found + size * step
            after = problem.at(moved)
            if after[0] <= loss + 1e-4 * size * slope or size < 1e-6:
                break
            size /= 2
        found, (loss, gradient, shares) = moved, after
    return found


@dataclass(frozen=True, slots=True)
class _Problem:
    """The penalized loss with what its derivatives need, on the columns that occur."""

    choices: Choices
    penalty: float
    row_of: Places
    choice_of: Places  # of each row
    weight: Floats  # of each row

    @classmethod
    def of(cls, choices: Choices, penalty: float) -> _Problem:
        choice_of = np.repeat(np.arange(len(choices)), np.diff(choices.first))
        return cls(choices, penalty, choices.rows.row_of, choice_of, choices.weight[choice_of])

    def _times(self, coefficients: Floats) -> Floats:
        rows = self.choices.rows
        products = coefficients[rows.columns] * rows.values
        return np.asarray(np.bincount(self.row_of, weights=products, minlength=len(rows)), dtype=np.float64)

    def _transposed(self, of_rows: Floats) -> Floats:
        rows = self.choices.rows
        sums = np.bincount(rows.columns, weights=of_rows[self.row_of] * rows.values, minlength=rows.width)
        return np.asarray(sums, dtype=np.float64)

    def at(self, coefficients: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss, its gradient, and the probability of each option."""
        scores, begins = self._times(coefficients), self.choices.first[:-1]
        top = np.maximum.reduceat(scores, begins)
        powers = np.exp(scores - top[self.choice_of])
        total = np.add.reduceat(powers, begins)
        shares = powers / total[self.choice_of]
        likely = np.log(total) + top - scores[self.choices.right]
        loss = float(self.choices.weight @ likely) + self.penalty / 2 * float(coefficients @ coefficients)
        wrong = self.weight * shares
        wrong[self.choices.right] -= self.choices.weight
        return loss, self._transposed(wrong) + self.penalty * coefficients, shares

    def _curvature(self, direction: Floats, shares: Floats) -> Floats:
        scores = self._times(direction)
        means = np.add.reduceat(shares * scores, self.choices.first[:-1])
        return self._transposed(self.weight * shares * (scores - means[self.choice_of])) + self.penalty * direction

    def newton_step(self, gradient: Floats, shares: Floats, accuracy: float) -> Floats:
        """Solve curvature · step = −gradient by conjugate gradients, to a relative accuracy."""
        step = np.zeros_like(gradient)
        rest = -gradient
        direction, left = rest.copy(), float(rest @ rest)
        enough = accuracy**2 * left
        for _ in range(_INNER):
            curved = self._curvature(direction, shares)
            size = left / float(direction @ curved)
            step += size * direction
            rest -= size * curved
            now = float(rest @ rest)
            if now <= enough:
                break
            direction = rest + now / left * direction
            left = now
        return step


def cross_validated(
    choices: Choices,
    fold: Places,
    *,
    text: Places | None = None,
    label: Places | None = None,
    penalty: float = PENALTY,
) -> Floats:
    """Return the hits of each choice by a model that was fitted on the other folds. With `text`, choices whose text
    occurs in a fold are not used for it, in whatever fold they are. With `label`, all labels weigh the same in every
    fit: a label that is rare in a fold is frequent in the others, and would be guessed there for that alone."""
    found = np.zeros(len(choices))
    for one in np.unique(fold):
        held_out, others = np.flatnonzero(fold == one), fold != one
        if text is not None:
            others &= ~np.isin(text, text[held_out])
        known = choices.take(np.flatnonzero(others))
        if label is not None:
            number = np.bincount(label[others], minlength=1)
            known = replace(known, weight=len(known) / max(1, int((number > 0).sum())) / number[label[others]])
        found[held_out] = choices.take(held_out).hits(fit(known, penalty))
    return found
