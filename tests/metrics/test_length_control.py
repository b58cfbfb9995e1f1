"""Length-controlled win rates: the effect of length is removed, and the interval has the right coverage."""

import numpy as np
import pytest

from bowstring.metrics.clusters import bootstrap_weights
from bowstring.metrics.length_control import Comparison, fit_logistic, length_controlled


def compared(rng, users=60, each=6, *, at_equal=0.0, by_length=0.0, longer=0.0, taste=0.0):
    """Comparisons whose log odds are known: at equal length, and by length in tens of words."""
    found = []
    for user in range(users):
        own = rng.normal(0, taste)
        for _ in range(each):
            words = rng.normal(longer, 10)
            p = 1 / (1 + np.exp(-(at_equal + own + by_length * words / 10)))
            found.append(Comparison(str(user), float(rng.random() < p), words))
    return found


def test_a_judge_that_likes_length_is_seen_through():
    rows = compared(np.random.default_rng(1), users=300, by_length=1.5, longer=8)
    raw = 100 * sum(c.outcome for c in rows) / len(rows)
    found = length_controlled(rows)
    assert raw > 65, "long answers win"
    assert found.rate.value == pytest.approx(50, abs=5)
    assert found.rate.low < 50 < found.rate.high
    assert found.slope.low > 0
    assert not found.edge


def test_a_judge_that_does_not_look_at_length_is_left_as_it_is():
    rows = compared(np.random.default_rng(2), users=200, at_equal=0.8, longer=8)
    raw = 100 * sum(c.outcome for c in rows) / len(rows)
    found = length_controlled(rows)
    assert found.rate.value == pytest.approx(raw, abs=3)
    assert found.slope.low < 0 < found.slope.high


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    truth = 100 / (1 + np.exp(-0.4))
    hits = sum(
        found.rate.low <= truth <= found.rate.high
        for found in (length_controlled(compared(rng, at_equal=0.4, by_length=0.8, longer=4)) for _ in range(200))
    )
    assert 0.90 <= hits / 200 <= 0.99


def test_one_step_draws_as_wide_as_fitting_anew():
    rows = compared(np.random.default_rng(4), users=40, each=8, at_equal=0.3, by_length=0.7, longer=5, taste=0.7)
    found = length_controlled(rows)
    y, x = np.array([c.outcome for c in rows]), np.array([c.longer for c in rows]) / found.spread
    users = sorted({c.cluster for c in rows})
    of_user = [np.flatnonzero([c.cluster == user for c in rows]) for user in users]
    anew = []
    for weights in bootstrap_weights(len(users))[:400]:
        at = np.concatenate([np.repeat(own, int(w)) for own, w in zip(of_user, weights, strict=True)])
        anew.append(100 / (1 + np.exp(-fit_logistic(y[at], x[at])[0])))
    low, high = np.percentile(anew, [2.5, 97.5])
    assert found.rate.low == pytest.approx(low, abs=1.0)
    assert found.rate.high == pytest.approx(high, abs=1.0)


def test_questions_of_one_user_do_not_count_as_independent():
    rows = compared(np.random.default_rng(5), users=40, each=10, taste=1.5)
    apart = [c._replace(cluster=str(n)) for n, c in enumerate(rows)]
    wide, narrow = (length_controlled(r).rate for r in (rows, apart))
    assert wide.value == narrow.value
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


@pytest.mark.parametrize(("outcome", "rate"), [(1.0, 100.0), (0.0, 0.0)])
def test_all_won_or_all_lost_is_said(outcome, rate):
    found = length_controlled([Comparison(str(n), outcome, n) for n in range(9)])
    assert (found.rate.value, found.slope) == (rate, None)
    assert "whatever its length" in found.why


def test_all_ties_are_half():
    found = length_controlled([Comparison(str(n), 0.5, n - 4) for n in range(9)])
    assert found.rate.value == pytest.approx(50)
    assert found.slope.value == pytest.approx(0, abs=1e-9)


def test_without_variation_in_length_there_is_nothing_to_control():
    equal = length_controlled([Comparison(str(n), float(n % 4 == 0), 0) for n in range(40)])
    assert equal.rate.value == pytest.approx(25)
    assert equal.slope is None
    assert equal.why == "all pairs are of equal length"
    longer = length_controlled([Comparison(str(n), float(n % 4 == 0), 7) for n in range(40)])
    assert longer.rate is None
    assert "by +7 words" in longer.why


def test_where_length_alone_decides_no_rate_is_made_up():
    found = length_controlled([Comparison(str(n), float(n > 20), n - 20.5) for n in range(40)])
    assert found.rate is None
    assert "length alone" in found.why


def test_equal_length_at_the_edge_of_what_was_seen_is_marked():
    rows = compared(np.random.default_rng(6), longer=40)
    assert length_controlled(rows).edge
    assert length_controlled([]) is None
