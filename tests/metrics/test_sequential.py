"""A test that may be looked at after every user: errors under continuous looking, power, and its interval."""

import itertools
import math

import numpy as np
import pytest

from bowstring.metrics.sequential import SequentialTest


def looked_at(differences, level=0.05):
    """Return after how many observations the difference is established, or None, and the test."""
    test = SequentialTest(level)
    for n, difference in enumerate(differences, 1):
        test.add(float(difference))
        if test.established:
            return n, test
    return None, test


def test_no_bet_wins_on_average_if_the_mean_is_zero():
    """The expected evidence is 1, for any distribution; here of a skewed one, by all its outcomes."""
    unlikely, n = 0.1, 6
    outcomes = [(0.1, 1 - unlikely), (-0.9, unlikely)]
    assert sum(value * chance for value, chance in outcomes) == pytest.approx(0)
    expected = 0.0
    for drawn in itertools.product(outcomes, repeat=n):
        test = SequentialTest(0.05)
        for value, _ in drawn:
            test.add(value)
        expected += math.prod(chance for _, chance in drawn) * test.evidence
    assert expected == pytest.approx(1)


def test_the_interval_is_where_the_evidence_stays_below_the_level():
    values = np.random.default_rng(2).uniform(-0.3, 0.5, size=80)
    test = SequentialTest(0.05)
    for value in values:
        test.add(value)
    low, high = test.interval
    assert low < values.mean() < high
    for end, outwards in ((low, -1), (high, 1)):
        assert test._wealth(end - outwards * 1e-6) < 20 <= test._wealth(end + outwards * 1e-6)
    assert test.established == (low > 0)


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


@pytest.mark.parametrize(("items", "fails"), [(40, 0.05), (40, 0.1), (10, 0.1)])
def test_a_model_that_fails_on_few_users_is_not_the_better_one(items, fails):
    """It is a little better elsewhere, so that both are equal on average; a test that assumes normal differences names
    it in a fifth of such races."""
    rng = np.random.default_rng(items)
    wrong, samples = 0, 300
    for _ in range(samples):
        right = rng.binomial(items, 0.8 / (1 - fails), size=200) * (rng.random(200) >= fails)
        wrong += looked_at((right - rng.binomial(items, 0.8, size=200)) / items)[0] is not None
    assert wrong <= 0.05 * samples


def test_a_difference_is_found_early_and_in_the_right_direction():
    rng = np.random.default_rng(7)
    found = [looked_at(rng.normal(0.05, 0.12, size=250).clip(-1, 1)) for _ in range(100)]
    assert all(n is not None and test.mean > 0 for n, test in found)
    assert np.median([n for n, _ in found]) < 125


def test_the_interval_contains_the_truth_at_all_times():
    rng = np.random.default_rng(8)
    outside, samples = 0, 100
    for _ in range(samples):
        test, missed = SequentialTest(0.05), False
        for value in rng.beta(2, 5, size=60) - 0.1:
            test.add(value)
            low, high = test.interval
            missed |= not low <= 2 / 7 - 0.1 <= high
        outside += missed
    assert outside <= 0.05 * samples


def test_a_few_users_that_differ_establish_nothing():
    assert looked_at([0.0] * 100 + [0.9] * 5)[0] is None
    assert looked_at([1.0] * 5)[0] is None, "five coins fall alike in one case of 16"
    assert looked_at([1.0] * 20)[0] == 7
    assert looked_at([0.1] * 6)[0] is None, "differences that are alike may be followed by others"
    assert looked_at([0.0] * 300)[0] is None
    assert SequentialTest(0.05).interval == (-1, 1)
