"""A test that may be looked at after every user: errors under continuous looking, power, and its interval."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from bowstring.metrics.sequential import _EFFECT, SequentialTest


def looked_at(differences, level=0.05):
    """Return after how many observations the difference is established, or None, and the test."""
    test = SequentialTest(level)
    for n, difference in enumerate(differences, 1):
        test.add(float(difference))
        if test.established:
            return n, test
    return None, test


def test_the_evidence_is_the_ratio_of_two_likelihoods():
    """Against the integral over effect sizes of the noncentral t distribution."""
    values = np.random.default_rng(1).normal(0.4, 1, size=15)
    test = SequentialTest(0.05)
    for value in values:
        test.add(value)
    t = stats.ttest_1samp(values, 0).statistic
    prior = stats.norm(0, math.sqrt(_EFFECT))
    with_effect = integrate.quad(lambda d: prior.pdf(d) * stats.nct.pdf(t, 14, d * math.sqrt(15)), -4, 4)[0]
    assert test.evidence == pytest.approx(with_effect / stats.t.pdf(t, 14), rel=1e-4)
    assert test.mean == pytest.approx(values.mean())


def test_the_interval_is_where_the_evidence_stays_below_the_level():
    values = np.random.default_rng(2).normal(0.5, 1, size=40)

    def evidence_against(mean):
        test = SequentialTest(0.05)
        for value in values:
            test.add(value - mean)
        return test.evidence

    test = SequentialTest(0.05)
    for value in values:
        test.add(value)
    low, high = test.interval
    for limit in (low, high):
        assert evidence_against(limit) == pytest.approx(20, rel=1e-6)
    assert evidence_against((low + high) / 2) < 1


@pytest.mark.parametrize(("items", "right"), [(3, 0.5), (10, 0.97), (40, 0.5), (10, 0.05)])
def test_equal_models_are_rarely_told_apart_however_often_one_looks(items, right):
    rng = np.random.default_rng(items)
    samples, users = 400, 120
    wrong, naive = 0, 0
    for _ in range(samples):
        chances = rng.beta(right * 5, (1 - right) * 5, size=users)
        d = (rng.binomial(items, chances) - rng.binomial(items, chances)) / items
        wrong += looked_at(d)[0] is not None
        n = np.arange(1, users + 1)
        mean = np.cumsum(d) / n
        error = np.sqrt(np.maximum(np.cumsum(d * d) / n - mean**2, 1e-12) / n)
        naive += bool((np.abs(mean / error)[5:] > 1.96).any())
    assert wrong <= 0.05 * samples + 2 * math.sqrt(0.05 * 0.95 * samples)
    assert naive > 0.2 * samples, "a test for one look is wrong far more often: the simulation can fail"


def test_a_difference_is_found_early_and_in_the_right_direction():
    rng = np.random.default_rng(7)
    found = [looked_at(rng.normal(0.05, 0.12, size=250)) for _ in range(200)]
    assert all(n is not None and test.mean > 0 for n, test in found)
    assert np.median([n for n, _ in found]) < 100


def test_the_interval_contains_the_truth_at_all_times():
    rng = np.random.default_rng(8)
    outside = 0
    for _ in range(300):
        test, missed = SequentialTest(0.05), False
        for value in rng.normal(0.3, 1, size=100):
            test.add(value)
            low, high = test.interval
            missed |= not low <= 0.3 <= high
        outside += missed
    assert outside <= 0.05 * 300 + 2 * math.sqrt(0.05 * 0.95 * 300)


def test_a_few_users_that_differ_establish_nothing():
    alike = [0.0] * 100 + [0.1] * 5
    assert looked_at(alike)[0] is None
    assert looked_at([0.1] * 5)[0] is None, "the ratio is infinite, but five coins fall alike in one case of 16"
    assert looked_at([0.1] * 6)[0] == 6
    assert looked_at([0.0] * 300)[0] is None
    assert SequentialTest(0.05).interval == (-math.inf, math.inf)
