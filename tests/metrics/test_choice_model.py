"""The choice model: choices of different sizes, ties, folds."""

import numpy as np
import pytest

from bowstring.metrics.choice_model import Choices, Rows, cross_validated, fit


def choices_of(options, right, width=8):
    rows = Rows.of([[(c, 1.0) for c in one] for own in options for one in own], width)
    return Choices.of(rows, [len(own) for own in options], right)


def test_it_learns_which_feature_is_right_among_any_number_of_options():
    choices = choices_of([[{1}, {2}], [{3}, {1}, {2}], [{2}, {3}, {4}, {1}]], [0, 1, 3])
    coefficients = fit(choices)
    assert coefficients.argmax() == 1
    assert choices.hits(coefficients).tolist() == [1.0, 1.0, 1.0]


def test_ties_count_in_part():
    choices = choices_of([[{1}, {1}], [{1}, {2}, set()], [set(), set(), set()]], [0, 0, 2])
    assert choices.hits(np.zeros(8)).tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 3])


def test_the_gradient_is_zero_at_the_solution():
    rng = np.random.default_rng(0)
    options = [[set(rng.choice(30, 5).tolist()) for _ in range(4)] for _ in range(200)]
    choices = choices_of(options, rng.integers(4, size=200), width=30)
    found = fit(choices, 1.0, tolerance=1e-8)

    def loss(coefficients):
        scores = choices.rows.times(coefficients).reshape(200, 4)
        right = scores[np.arange(200), choices.right - choices.first[:-1]]
        return (np.log(np.exp(scores).sum(axis=1)) - right).sum() + 0.5 * coefficients @ coefficients

    for column in range(30):
        step = np.zeros(30)
        step[column] = 1e-4
        assert (loss(found + step) - loss(found - step)) / 2e-4 == pytest.approx(0, abs=1e-4)


def test_a_fold_is_judged_by_the_others():
    """Every fold has a feature of its own that would give it away: nothing can be learned from the other folds."""
    options = [[{fold}, {fold + 4}] for fold in range(4) for _ in range(10)]
    choices = choices_of(options, [0] * 40)
    assert choices.hits(fit(choices)).mean() == 1.0
    assert cross_validated(choices, np.repeat(np.arange(4), 10)).mean() == 0.5


def test_a_row_without_features_and_no_features_at_all():
    choices = choices_of([[set(), set()], [set(), set()]], [0, 1])
    assert fit(choices).tolist() == [0.0] * 8
