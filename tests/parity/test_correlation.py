"""Rank correlation matches scipy, including ties."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from bowstring.metrics.correlation import correlation, fisher_interval, pearson, rank_correlation


@pytest.mark.parametrize("seed", range(4))
def test_both_are_scipys(seed):
    rng = np.random.default_rng(seed)
    x = rng.choice([0.0, 0.5, 1.0], size=120)
    y = np.round(x + rng.normal(0, 1, size=120), 1)
    rows = [(str(n // 3), a, b) for n, (a, b) in enumerate(zip(x, y, strict=True))]
    assert rank_correlation(rows).value == pytest.approx(spearmanr(x, y).statistic, abs=1e-9)
    found = correlation(rows)
    assert found.value == pytest.approx(pearsonr(x, y).statistic, abs=1e-9)
    assert (found.n, found.clusters) == (120, 40)
    assert found.low < found.value < found.high


def test_of_what_does_not_vary_there_is_none():
    assert rank_correlation([("a", 1.0, 1.0), ("b", 1.0, 2.0)]) is None
    assert rank_correlation([]) is None


@pytest.mark.parametrize("n", [4, 5, 10, 40])
def test_a_few_independent_points_are_scipys(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    expected = pearsonr(x, y)
    found = pearson(list(x), list(y))
    assert found == pytest.approx(expected.statistic, abs=1e-12)
    assert fisher_interval(found, n) == pytest.approx(tuple(expected.confidence_interval(0.95)), abs=1e-9)


def test_three_points_or_points_on_a_line_have_no_interval():
    assert fisher_interval(0.9, 3) is None
    assert fisher_interval(pearson([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0]), 4) is None
    assert pearson([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
