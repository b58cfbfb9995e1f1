"""Intervals: clustered, with the right width, and marked if there are too few clusters."""

import numpy as np
import pytest

from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import estimate


def mean_of(means):
    return means["x"]


def test_the_value_is_the_plain_mean():
    found = estimate({"x": [Score("a", 1.0), Score("a", 0.0), Score("b", 0.5)]}, mean_of)
    assert found.value == 0.5
    assert found.n == 3
    assert found.clusters == 2
    assert not found.trusted


def test_questions_of_one_user_do_not_count_as_independent():
    rng = np.random.default_rng(1)
    users = rng.normal(size=40)
    together = [Score(str(u), users[u]) for u in range(40) for _ in range(25)]
    apart = [Score(str(i), s.value) for i, s in enumerate(together)]
    wide, narrow = estimate({"x": together}, mean_of), estimate({"x": apart}, mean_of)
    ratio = (wide.high - wide.low) / (narrow.high - narrow.low)
    assert ratio == pytest.approx(5.0, rel=0.15), "25 copies of a user are one user"


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(300):
        effects = rng.normal(0.5, 0.2, size=50)
        scores = [Score(str(u), e + rng.normal(0, 0.3)) for u, e in enumerate(effects) for _ in range(8)]
        found = estimate({"x": scores}, mean_of)
        hits += found.low <= 0.5 <= found.high
    assert 0.90 < hits / 300 < 0.99


def test_intervals_that_forget_whose_questions_they_are_cover_too_seldom():
    rng = np.random.default_rng(3)
    hits = {"by user": 0, "by question": 0}
    for _ in range(200):
        chances = rng.beta(2, 3, size=40)  # some users are easy, some are hard
        scores = [Score(str(u), float(rng.random() < p)) for u, p in enumerate(chances) for _ in range(10)]
        apart = [score._replace(cluster=str(n)) for n, score in enumerate(scores)]
        for name, given in (("by user", scores), ("by question", apart)):
            found = estimate({"x": given}, mean_of)
            hits[name] += found.low <= 0.4 <= found.high
    assert 0.90 <= hits["by user"] / 200 <= 0.99
    assert hits["by question"] / 200 < 0.85


def test_where_all_clusters_are_alike_so_many_still_leave_room():
    none = [Score(str(u), 0.0) for u in range(20) for _ in range(10)]
    certain = estimate({"x": none}, mean_of)
    assert (certain.low, certain.high) == (0, 0)
    found = estimate({"x": none}, lambda m: 100 * m["x"], ends=(0, 1))
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(100 * (1 - 0.025 ** (1 / 20))), "20 users, however many questions each"
    every = estimate({"x": [s._replace(value=10.0) for s in none]}, mean_of, ends=(1, 10))
    assert (every.high, every.low) == (10, pytest.approx(10 - 9 * found.high / 100))
    both = estimate({"x": none, "y": none}, lambda m: (30 * m["x"] + 10 * m["y"]) / 40, ends=(0, 1))
    assert both.high == pytest.approx(found.high / 100)
    inside = estimate({"x": [s._replace(value=0.5) for s in none]}, mean_of, ends=(0, 1))
    assert (inside.low, inside.high) == (pytest.approx(0.5 - found.high / 200), pytest.approx(0.5 + found.high / 200))
    alone = estimate({"x": [Score("a", 0.0), Score("a", 1.0), Score("a", 1.0)]}, mean_of, ends=(0, 1))
    assert alone.low < 0.02, "one user tells next to nothing of others"
    assert alone.high > 0.98
    one = estimate({"x": [Score("a", 0.0), Score("b", 0.1)]}, mean_of, ends=(0, 1))
    assert one == estimate({"x": [Score("a", 0.0), Score("b", 0.1)]}, mean_of)


def test_intervals_of_what_hardly_ever_happens_cover_it_too():
    """One user in fifty does it, always. Most samples of 30 users have no such user, and must not exclude that."""
    rng = np.random.default_rng(4)
    hits = {"with ends": 0, "without": 0}
    for _ in range(200):
        scores = [Score(str(u), float(does)) for u, does in enumerate(rng.random(30) < 0.02) for _ in range(4)]
        for name, ends in (("with ends", (0.0, 1.0)), ("without", None)):
            found = estimate({"x": scores}, mean_of, ends=ends)
            hits[name] += found.low <= 0.02 <= found.high
    assert hits["with ends"] / 200 > 0.9
    assert hits["without"] / 200 < 0.6


def test_a_combination_needs_all_of_its_components():
    scores = [Score("a", 1.0)]
    assert estimate({"x": scores, "y": []}, lambda m: m["x"] + m["y"]) is None
    assert estimate({}, mean_of) is None
    assert estimate({"x": scores, "y": scores}, lambda m: m["x"] + m["y"]).value == 2.0


def test_the_same_scores_give_the_same_interval():
    scores = [Score(str(i % 7), i / 10) for i in range(50)]
    assert estimate({"x": scores}, mean_of) == estimate({"x": list(scores)}, mean_of)
