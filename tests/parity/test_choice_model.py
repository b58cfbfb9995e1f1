"""The choice model is scikit-learn's logistic regression: two classes, several classes, and weighted by class."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from bowstring.metrics.choice_model import Choices, Rows, fit

COLUMNS, N = 12, 300


def sample(seed, classes):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, COLUMNS)) * (rng.random((N, COLUMNS)) < 0.4)
    scores = x @ rng.normal(size=(COLUMNS, classes)) + rng.gumbel(size=(N, classes)) + [1.0, *[0.0] * (classes - 1)]
    return x, scores.argmax(axis=1)


def entries(row, offset=0):
    return [(offset + int(c), float(row[c])) for c in np.flatnonzero(row)]


def sklearn(x, y, penalty, **more):
    model = LogisticRegression(C=1 / penalty, fit_intercept=False, tol=1e-10, max_iter=10_000, **more)
    return model.fit(csr_matrix(x), y).coef_


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
def test_two_classes(seed, penalty):
    x, y = sample(seed, 2)
    rows = Rows.of([own for row in x for own in ([], entries(row))], COLUMNS)
    found = fit(Choices.of(rows, [2] * N, y), penalty, tolerance=1e-9)
    assert found == pytest.approx(sklearn(x, y, penalty)[0], abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_several_classes(seed):
    x, y = sample(seed, 4)
    rows = Rows.of([entries(row, offset=COLUMNS * k) for row in x for k in range(4)], 4 * COLUMNS)
    found = fit(Choices.of(rows, [4] * N, y), 1.0, tolerance=1e-9)
    assert found.reshape(4, COLUMNS) == pytest.approx(sklearn(x, y, 1.0), abs=1e-5)


def test_classes_with_weights():
    x, y = sample(5, 2)
    weight = [N / (2 * np.sum(y == label)) for label in y]
    rows = Rows.of([own for row in x for own in ([], entries(row))], COLUMNS)
    found = fit(Choices.of(rows, [2] * N, y, weight), 1.0, tolerance=1e-9)
    assert found == pytest.approx(sklearn(x, y, 1.0, class_weight="balanced")[0], abs=1e-5)


def test_what_it_predicts_is_what_theirs_predicts():
    x, y = sample(6, 2)
    rows = Rows.of([own for row in x for own in ([], entries(row))], COLUMNS)
    choices = Choices.of(rows, [2] * N, y)
    model = LogisticRegression(C=10, fit_intercept=False).fit(x, y)
    hits = choices.hits(fit(choices, 0.1, tolerance=1e-9))
    assert (hits == (model.predict(x) == y)).mean() > 0.99
