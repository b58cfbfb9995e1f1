"""The logistic fit matches statsmodels, also with ties as halves and with difficulties, which are penalized."""

import numpy as np
import pytest
import statsmodels.api as sm

from bowstring.metrics.difficulty_regression import PENALTY, Observations, fit
from bowstring.metrics.length_control import Comparison, length_controlled

ONE = np.tanh(1)


def one_group(y, x):
    return fit(Observations(y, sm.add_constant(x), np.zeros(len(y), dtype=np.intp)))


@pytest.mark.parametrize("seed", range(5))
def test_coefficients_are_those_of_logit(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(rng.normal(), 1, size=200)
    y = (rng.random(200) < 1 / (1 + np.exp(-(0.3 - 0.8 * x)))).astype(float)
    theirs = sm.Logit(y, sm.add_constant(x)).fit(disp=0, tol=1e-12)
    assert one_group(y, x).free == pytest.approx(theirs.params, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_with_ties_they_are_those_of_a_binomial_model(seed):
    rng = np.random.default_rng(seed)
    words = rng.normal(5, 12, size=150)
    y = rng.choice([0.0, 0.5, 1.0], p=[0.4, 0.25, 0.35], size=150)
    x = np.tanh(words / words.std())
    theirs = sm.GLM(y, sm.add_constant(x), family=sm.families.Binomial()).fit(tol=1e-12)
    found = length_controlled([Comparison(str(n), o, w) for n, (o, w) in enumerate(zip(y, words, strict=True))])
    assert found.rate.value == pytest.approx(100 / (1 + np.exp(-theirs.params[0])), rel=1e-6)
    assert found.slope.value == pytest.approx(ONE * theirs.params[1], rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_difficulties_are_those_of_a_ridge_penalty(seed):
    """statsmodels minimizes -loglik / n + alpha * b^2 / 2, with a weight per parameter."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(6, size=120)
    x = rng.normal(size=120)
    p = 1 / (1 + np.exp(-(0.4 + 0.9 * x + rng.normal(size=6)[groups])))
    y = (rng.random(120) < p).astype(float)
    columns = np.column_stack([sm.add_constant(x), np.eye(6)[groups]])
    model = sm.GLM(y, columns, family=sm.families.Binomial())
    alpha = np.concatenate([np.zeros(2), np.full(6, PENALTY / 120)])
    theirs = model.fit_regularized(alpha=alpha, L1_wt=0.0, opt_method="bfgs")
    found = fit(Observations(y, sm.add_constant(x), groups))
    assert np.concatenate([found.free, found.difficulty]) == pytest.approx(np.asarray(theirs.params), abs=1e-3)


def test_the_interval_of_the_slope_is_about_that_of_clustered_errors():
    rng = np.random.default_rng(7)
    users = np.repeat(np.arange(80), 6)
    words = rng.normal(0, 10, size=480)
    p = 1 / (1 + np.exp(-(rng.normal(0, 0.8, size=80)[users] + 0.05 * words)))
    y = (rng.random(480) < p).astype(float)
    fitted = sm.GLM(y, sm.add_constant(np.tanh(words / words.std())), family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": users}
    )
    rows = [Comparison(str(u), o, w) for u, o, w in zip(users, y, words, strict=True)]
    found = length_controlled(rows)
    low, high = ONE * np.asarray(fitted.conf_int())[1]
    assert found.slope.high - found.slope.low == pytest.approx(high - low, rel=0.05)
