"""A small classifier: a softmax over the options of each question, linear in their features, cross-validated.

The loss is the negative log-likelihood of the gold options with a penalty on the squared weights. It is minimized by
gradient descent with Adam's steps, without randomness.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bowstring.benchmarks.hicupid.choosing.features import Features, Floats

_STEPS = 120
_RATE = 0.05
_PENALTY = 3.0  # per weight, against a sum over all questions


def choose_across_folds(features: Features, gold: Sequence[int], folds: Sequence[int]) -> list[int]:
    """Return the option of each question that a classifier chooses which was trained on the other folds."""
    chosen = np.zeros(len(gold), dtype=np.int64)
    at, golds = np.asarray(folds), np.asarray(gold)
    for fold in sorted(set(folds)):
        utilities = _Problem(features, golds, at != fold).solve()
        for n in np.flatnonzero(at == fold):
            own = utilities[features.starts[n] : features.starts[n + 1]]
            chosen[n] = int(np.argmax(own))
    found: list[int] = chosen.tolist()
    return found


class _Problem:
    """Weights that explain the gold options of the questions in `trained`."""

    def __init__(self, features: Features, gold: npt.NDArray[np.int64], trained: npt.NDArray[np.bool_]) -> None:
        self._features = features
        self._sizes = np.diff(features.starts)
        self._mask = np.repeat(trained, self._sizes)
        self._gold = np.zeros(len(self._mask))
        self._gold[features.starts[:-1] + gold] = 1.0
        self._width = features.dense.shape[1]
        self._words = int(features.columns.max(initial=0)) + 1

    def solve(self) -> Floats:
        """Return the utility of every option, also of the questions that were not trained on."""
        weights = np.zeros(self._width + self._words)
        first, second = np.zeros_like(weights), np.zeros_like(weights)
        for step in range(1, _STEPS + 1):
            gradient = self._gradient(weights)
            first = 0.9 * first + 0.1 * gradient
            second = 0.99 * second + 0.01 * gradient**2
            moved = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-9)
            weights -= _RATE * moved
        return self._utilities(weights)

    def _utilities(self, weights: Floats) -> Floats:
        features = self._features
        of_words = weights[self._width :][features.columns]
        found: Floats = features.dense @ weights[: self._width] + np.bincount(
            features.rows, weights=of_words, minlength=len(self._mask)
        )
        return found

    def _gradient(self, weights: Floats) -> Floats:
        features, starts = self._features, self._features.starts[:-1]
        utilities = self._utilities(weights)
        highest = np.repeat(np.maximum.reduceat(utilities, starts), self._sizes)
        likely = np.exp(utilities - highest)
        likely /= np.repeat(np.add.reduceat(likely, starts), self._sizes)
        error = np.where(self._mask, likely - self._gold, 0.0)
        of_words = np.bincount(features.columns, weights=error[features.rows], minlength=self._words)
        found: Floats = np.concatenate([error @ features.dense, of_words]) + _PENALTY * weights
        return found
