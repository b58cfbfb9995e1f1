"""Length-controlled win rates: the effect of length is removed, and the interval has the right coverage."""

import json

import numpy as np
import pytest

from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import estimate
from bowstring.metrics.length_control import Comparison, length_controlled, length_controlled_runs


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


def test_the_interval_is_as_wide_as_that_of_resampled_users():
    rng = np.random.default_rng(4)
    rows = compared(rng, users=60, each=8, at_equal=0.3, by_length=0.7, longer=5, taste=0.7)
    of_user = [[c for c in rows if c.cluster == str(user)] for user in range(60)]
    again = []
    for _ in range(300):
        drawn = [c for user in rng.integers(60, size=60) for c in of_user[user]]
        again.append(length_controlled(drawn).rate.value)
    found = length_controlled(rows).rate
    low, high = np.percentile(again, [2.5, 97.5])
    assert found.high - found.low == pytest.approx(high - low, rel=0.15)


def with_very_long_answers(rng, items=600, long=10):
    """A judge that prefers length up to a point: at equal length, half of the answers win. A few are 400 words longer,
    and win no more often than those that are 20 words longer."""
    words = np.concatenate([rng.normal(8, 10, items - long), rng.normal(400, 40, long)])
    p = 1 / (1 + np.exp(-np.tanh(words / 15)))
    return [Comparison(str(n // 6), float(rng.random() < p[n]), words[n]) for n in range(items)]


def linear_rate(rows):
    """The rate at equal length of a regression on the length difference itself, by Newton's method."""
    x, y = np.array([c.longer for c in rows]), np.array([c.outcome for c in rows])
    columns = np.column_stack([np.ones(len(x)), x / x.std()])
    beta = np.zeros(2)
    for _ in range(30):
        p = 1 / (1 + np.exp(-columns @ beta))
        beta += np.linalg.solve(columns.T @ (columns * (p * (1 - p))[:, None]), columns.T @ (y - p))
    return 100 / (1 + np.exp(-beta[0]))


def test_a_few_very_long_answers_do_not_decide_the_rate():
    rng = np.random.default_rng(12)
    samples = [with_very_long_answers(rng) for _ in range(30)]
    ours = np.mean([length_controlled(rows).rate.value for rows in samples])
    linear = np.mean([linear_rate(rows) for rows in samples])
    assert linear > 56.5, "with the length difference itself, ten long answers flatten the slope"
    assert ours == pytest.approx(50, abs=2.5)


def test_the_slope_is_the_change_in_log_odds_to_one_standard_deviation_longer():
    words = np.tile([-10.0, 10.0], 400)
    wins = np.where(words > 0, np.arange(800) % 10 < 8, np.arange(800) % 10 < 2).astype(float)
    found = length_controlled([Comparison(str(n), y, w) for n, (y, w) in enumerate(zip(wins, words, strict=True))])
    assert found.spread == 10
    assert found.rate.value == pytest.approx(50, abs=0.5)
    odds = [wins[words == w].mean() / (1 - wins[words == w].mean()) for w in (-10, 10)]
    assert found.slope.value == pytest.approx(np.log(odds[1] / odds[0]) / 2)


def of_two_types(rng, items=2000, by_length=2.0):
    """Persona questions are hard and get long answers; profile questions are easy and get short ones."""
    rows = []
    for n in range(items):
        kind = "profile" if n % 2 else "persona"
        words = rng.normal(-8 if n % 2 else 8, 10)
        p = 1 / (1 + np.exp(-((2.0 if n % 2 else -2.0) + by_length * np.tanh(words / 12.8))))
        rows.append(Comparison(str(n // 10), float(rng.random() < p), words, kind))
    return rows


def test_difficulty_of_question_types_is_not_taken_for_an_effect_of_length():
    rows = of_two_types(np.random.default_rng(13), by_length=0.0)
    assert length_controlled(rows).slope.low < 0 < length_controlled(rows).slope.high
    without = length_controlled([c._replace(kind="") for c in rows])
    assert without.slope.high < -0.5, "short answers seem to win because they are to easy questions"


def test_a_type_that_always_wins_is_no_problem():
    rows = [Comparison(str(n // 5), float(n % 2), (n * 7) % 20 - 10.0, "persona") for n in range(100)]
    rows += [Comparison(str(n), 1.0, n % 3 - 1.0, "profile") for n in range(20)]
    found = length_controlled(rows)
    assert found.rate.value == pytest.approx(100 * 70 / 120, abs=1.5)
    assert found.rate.low < found.rate.value < found.rate.high < 100


def test_at_equal_length_it_is_the_score_and_its_interval():
    """Users have questions of one type only, so the mix of types is a part of what is uncertain."""
    rng = np.random.default_rng(16)
    rows = [
        Comparison(str(user), float(rng.random() < (0.9 if user % 2 else 0.1)), 0.0, f"type {user % 2}")
        for user in range(80)
        for _ in range(10)
    ]
    found = length_controlled(rows).rate
    score = estimate({"x": [Score(c.cluster, c.outcome) for c in rows]}, lambda means: 100 * means["x"], ends=(0, 1))
    assert found.value == pytest.approx(score.value)
    assert found.high - found.low == pytest.approx(score.high - score.low, rel=0.05)


def two_runs(rng, users=60, each=8, gain=0.0, by_length=1.0):
    """Runs on the same items; the second writes longer answers, and both write more where the question is easy."""
    rows = {"a": [], "b": []}
    for user in range(users):
        for n in range(each):
            easy = rng.normal(0, 1)
            for run, own in enumerate(rows.values()):
                words = rng.normal(10 * run + 5 * easy, 10)
                p = 1 / (1 + np.exp(-(easy + gain * run + by_length * np.tanh(words / 15))))
                own.append(Comparison(str(user), float(rng.random() < p), words, "persona", f"{user}/{n}"))
    return rows


def test_runs_on_the_same_items_are_compared_at_equal_length_and_equal_difficulty():
    rng = np.random.default_rng(14)
    samples = [two_runs(rng) for _ in range(100)]
    found = [length_controlled_runs(rows) for rows in samples]
    raw = np.mean([[100 * np.mean([c.outcome for c in rows[name]]) for name in "ab"] for rows in samples], axis=0)
    assert raw[1] - raw[0] > 6, "the judge prefers the longer answers"
    assert np.mean([f.runs["b"].rate.value for f in found]) == pytest.approx(50, abs=2)
    assert np.mean([f.differences["b"].value for f in found]) == pytest.approx(0, abs=2)
    assert sum(f.differences["b"].low <= 0 <= f.differences["b"].high for f in found) >= 90
    assert sum(f.runs["b"].rate.low <= 50 <= f.runs["b"].rate.high for f in found) >= 90


def test_a_run_that_cannot_be_fitted_is_left_out_of_the_joint_fit():
    rows = two_runs(np.random.default_rng(15), gain=1.0)
    lost = [c._replace(outcome=0.0) for c in rows["a"]]
    found = length_controlled_runs(rows | {"lost": lost})
    both = length_controlled_runs(rows)
    assert found.runs["lost"].rate.value == 0
    assert "whatever its length" in found.runs["lost"].why
    assert found.differences == both.differences
    assert found.differences.keys() == {"b"}
    alone = length_controlled_runs({"a": rows["a"], "lost": lost})
    assert alone.differences == {}
    assert alone.runs["a"] == length_controlled(rows["a"])


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
    rows = compared(np.random.default_rng(6), longer=18)
    assert length_controlled(rows).edge
    assert not length_controlled(compared(np.random.default_rng(6), longer=8)).edge
    assert length_controlled([]) is None


def test_far_from_equal_length_no_rate_is_made_up():
    """All answers are four standard deviations longer: the regressor is 1 for all, and any rate would fit."""
    found = length_controlled(compared(np.random.default_rng(7), longer=40))
    assert (found.rate, found.slope) == (None, None)
    assert found.why == f"fewer than 5% of the answers are within {found.spread:.0f} words of equal length"


def test_one_user_says_nothing_about_others():
    rows = [c._replace(cluster="1") for c in compared(np.random.default_rng(8), users=5)]
    found = length_controlled(rows)
    assert (found.rate.low, found.rate.high) == (0, 100)
    assert found.slope is None
    assert found.why == "all pairs are of one user: how far length matters to others is unknown"
    json.dumps(found.as_json(), allow_nan=False)
