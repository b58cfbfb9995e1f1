"""The logistic fit matches statsmodels, also with ties as halves."""

import numpy as np
import pytest
import statsmodels.api as sm

from bowstring.metrics.length_control import Comparison, fit_logistic, length_controlled


@pytest.mark.parametrize("seed", range(5))
def test_coefficients_are_those_of_logit(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(rng.normal(), 1, size=200)
    y = (rng.random(200) < 1 / (1 + np.exp(-(0.3 - 0.8 * x)))).astype(float)
    theirs = sm.Logit(y, sm.add_constant(x)).fit(disp=0, tol=1e-12)
    assert fit_logistic(y, x) == pytest.approx(theirs.params, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_with_ties_they_are_those_of_a_binomial_model(seed):
    rng = np.random.default_rng(seed)
    words = rng.normal(5, 12, size=150)
    y = rng.choice([0.0, 0.5, 1.0], p=[0.4, 0.25, 0.35], size=150)
    theirs = sm.GLM(y, sm.add_constant(words), family=sm.families.Binomial()).fit(tol=1e-12)
    found = length_controlled([Comparison(str(n), o, w) for n, (o, w) in enumerate(zip(y, words, strict=True))])
    assert found.rate.value == pytest.approx(100 / (1 + np.exp(-theirs.params[0])), rel=1e-6)
    assert found.slope.value / found.spread == pytest.approx(theirs.params[1], rel=1e-6)


def test_the_interval_of_the_slope_is_about_that_of_clustered_errors():
    rng = np.random.default_rng(7)
    users = np.repeat(np.arange(80), 6)
    words = rng.normal(0, 10, size=480)
    p = 1 / (1 + np.exp(-(rng.normal(0, 0.8, size=80)[users] + 0.05 * words)))
    y = (rng.random(480) < p).astype(float)
    fit = sm.GLM(y, sm.add_constant(words), family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": users}
    )
    rows = [Comparison(str(u), o, w) for u, o, w in zip(users, y, words, strict=True)]
    found = length_controlled(rows)
    low, high = (found.spread * end for end in fit.conf_int()[1])
    assert found.slope.high - found.slope.low == pytest.approx(high - low, rel=0.12)
