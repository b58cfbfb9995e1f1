"""Correlations have clustered intervals that stay between -1 and 1."""

import numpy as np
import pytest

from bowstring.metrics.correlation import correlation, rank_correlation


@pytest.mark.parametrize("sign", [1, -1])
def test_users_on_one_line_do_not_say_that_all_are(sign):
    rng = np.random.default_rng(1)
    lows = []
    for users in (4, 40):
        rows = [(str(n % users), x, sign * 0.3 * x + 0.1) for n, x in enumerate(rng.random(200))]
        for found in (correlation(rows), rank_correlation(rows)):
            assert found.value == sign
            low, high = sorted((sign * found.low, sign * found.high))
            assert high == 1
            lows.append(low)
    assert -1 < lows[0] < 0.5 < 0.8 < lows[2] < 1
    (alone,) = {(e.low, e.high) for e in [correlation([("a", x, x) for x in (1.0, 2.0, 4.0)])]}
    assert alone == (-1, 1), "one user says nothing about others"


@pytest.mark.parametrize("users", [3, 6, 12, 30, 100])
@pytest.mark.parametrize("each", [2, 10, 40])
def test_an_interval_does_not_shrink_at_the_first_disagreement(users, each):
    """Two judges with two labels; one label of the second judge is turned around."""
    rows = [(str(n // each), float(n % 2), float(n % 2)) for n in range(users * each)]
    other = [(rows[0][0], rows[0][1], 1 - rows[0][2]), *rows[1:]]
    for of in (correlation, rank_correlation):
        without, one = of(rows), of(other)
        assert without.high == 1
        assert without.high - without.low <= one.high - one.low < 2
        assert -1 < one.low < one.value < one.high < 1


def test_items_of_few_users_say_less_than_as_many_of_many():
    rng = np.random.default_rng(5)
    agrees = rng.random(40) < 0.6  # some users are judged alike by both judges, for others the second one guesses
    x = rng.normal(size=400)
    y = np.where(np.repeat(agrees, 10), x, rng.normal(size=400))
    by_user, by_item = (
        correlation([(str(n // each), a, b) for n, (a, b) in enumerate(zip(x, y, strict=True))]) for each in (10, 1)
    )
    assert by_user.value == by_item.value
    assert by_user.high - by_user.low > 1.5 * (by_item.high - by_item.low)


@pytest.mark.parametrize("true", [0.0, 0.8])
def test_intervals_cover_what_is_true(true):
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(200):
        users = rng.multivariate_normal([0, 0], [[1, true], [true, 1]], size=40)
        items = rng.multivariate_normal([0, 0], [[1, true], [true, 1]], size=(40, 5))
        both = np.sqrt(0.3) * users[:, None] + np.sqrt(0.7) * items
        found = correlation([(str(u), x, y) for u, own in enumerate(both) for x, y in own])
        hits += found.low <= true <= found.high
    assert 0.92 <= hits / 200 <= 0.995


def test_the_scale_of_the_numbers_makes_no_difference():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=60), rng.normal(size=60)
    found, tiny = (
        correlation([(str(n % 12), scale * a + 5, b) for n, (a, b) in enumerate(zip(x, y, strict=True))])
        for scale in (1.0, 1e-7)
    )
    assert (tiny.value, tiny.low, tiny.high) == pytest.approx((found.value, found.low, found.high), abs=1e-6)
