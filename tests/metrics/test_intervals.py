"""Intervals: clustered, with the right width, and marked if there are too few clusters."""

from itertools import pairwise

import numpy as np
import pytest

from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import estimate, mean_without_ends


def mean_of(means):
    return means["x"]


def test_the_value_is_the_plain_mean():
    found = estimate({"x": [Score("a", 1.0), Score("a", 0.0), Score("b", 0.5)]}, mean_of, ends=(0, 1))
    assert found.value == 0.5
    assert found.n == 3
    assert found.clusters == 2
    assert not found.trusted


def test_questions_of_one_user_do_not_count_as_independent():
    rng = np.random.default_rng(1)
    users = rng.normal(size=40)
    together = [Score(str(u), users[u]) for u in range(40) for _ in range(25)]
    apart = [Score(str(i), s.value) for i, s in enumerate(together)]
    wide, narrow = mean_without_ends(together), mean_without_ends(apart)
    ratio = (wide.high - wide.low) / (narrow.high - narrow.low)
    assert ratio == pytest.approx(5.0, rel=0.15), "25 copies of a user are one user"


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(300):
        effects = rng.normal(0.5, 0.2, size=50)
        scores = [Score(str(u), e + rng.normal(0, 0.3)) for u, e in enumerate(effects) for _ in range(8)]
        found = mean_without_ends(scores)
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
            found = estimate({"x": given}, mean_of, ends=(0, 1))
            hits[name] += found.low <= 0.4 <= found.high
    assert 0.90 <= hits["by user"] / 200 <= 0.99
    assert hits["by question"] / 200 < 0.85


def wrong_in(users, items, wrong):
    """One error each of the first users."""
    return {"x": [Score(str(u), float(u >= wrong or n > 0)) for u in range(users) for n in range(items)]}


@pytest.mark.parametrize(("users", "items"), [(6, 10), (12, 10), (12, 40), (30, 10), (30, 40), (100, 10), (250, 40)])
def test_an_interval_does_not_shrink_when_an_error_is_added(users, items):
    found = [estimate(wrong_in(users, items, wrong), mean_of, ends=(0, 1)) for wrong in range(min(users // 2, 10) + 1)]
    widths = [e.high - e.low for e in found]
    assert widths == sorted(widths)
    assert found[0].high == 1
    assert all(0 <= e.low < e.value <= e.high <= 1 for e in found)
    assert all(e.low > f.low and e.high >= f.high for e, f in pairwise(found)), "and it moves with them"


def test_scores_that_are_all_alike_are_not_certain():
    ties = [Score(str(u), 0.5) for u in range(30) for _ in range(10)]
    found = estimate({"x": ties}, mean_of, ends=(0, 1))
    assert 0.47 < found.low < 0.5 < found.high < 0.53
    every = estimate({"x": [s._replace(value=10.0) for s in ties]}, mean_of, ends=(1, 10))
    assert every.high == 10
    assert 9.5 < every.low < 9.8
    alone = estimate({"x": [Score("a", 0.0), Score("a", 1.0), Score("a", 1.0)]}, mean_of, ends=(0, 1))
    assert (alone.low, alone.high) == (0, 1), "one user says nothing about others"


def test_both_ends_of_a_scale_are_alike():
    rng = np.random.default_rng(6)
    scores = [Score(str(u), float(rng.random() < 0.9)) for u in range(20) for _ in range(8)]
    found = estimate({"x": scores}, mean_of, ends=(0, 1))
    turned = estimate({"x": [s._replace(value=1 - s.value) for s in scores]}, mean_of, ends=(0, 1))
    assert (turned.low, turned.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_personas_that_users_share_widen_the_interval():
    """Ten users each have one of 25 personas, and a persona is easy or hard for all of them."""
    rng = np.random.default_rng(7)
    hits = {"both": 0, "users alone": 0}
    for _ in range(200):
        easy = rng.normal(0, 1.5, size=25)
        scores = [
            Score(str(u), float(rng.random() < 1 / (1 + np.exp(-easy[u % 25]))), f"persona {u % 25}")
            for u in range(250)
            for _ in range(4)
        ]
        for name, given in (("both", scores), ("users alone", [s._replace(group=None) for s in scores])):
            found = estimate({"x": given}, mean_of, ends=(0, 1))
            hits[name] += found.low <= 0.5 <= found.high
    assert hits["both"] / 200 >= 0.9
    assert hits["users alone"] / 200 < 0.75


def test_a_total_and_an_f1_are_linearized():
    """Compared with a bootstrap over users."""
    rng = np.random.default_rng(8)
    chances, many = rng.beta(4, 4, size=60), {"p": 5, "r": 3}
    right = {name: rng.random((60, n)) < chances[:, None] for name, n in many.items()}
    parts = {name: [Score(str(u), float(x)) for u, own in enumerate(x) for x in own] for name, x in right.items()}
    drawn = rng.integers(0, 60, size=(4000, 60))
    means = {name: x.mean(axis=1)[drawn].mean(axis=1) for name, x in right.items()}
    for statistic in (lambda m: (25 * m["p"] + 5 * m["r"]) / 40, lambda m: 2 * m["p"] * m["r"] / (m["p"] + m["r"])):
        found = estimate(parts, statistic, ends=(0, 1))
        assert found.value == pytest.approx(statistic({name: x.mean() for name, x in right.items()}))
        assert (found.low, found.high) == pytest.approx(np.percentile(statistic(means), [2.5, 97.5]), abs=0.015)


def test_intervals_of_what_hardly_ever_happens_cover_it_too():
    """One user in fifty does it, always. Most samples of 30 users have no such user, and must not exclude that."""
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(200):
        scores = [Score(str(u), float(does)) for u, does in enumerate(rng.random(30) < 0.02) for _ in range(4)]
        found = estimate({"x": scores}, mean_of, ends=(0, 1))
        hits += found.low <= 0.02 <= found.high
    assert hits / 200 > 0.85


def test_what_has_no_range_has_no_interval_where_nothing_shows_how_much_it_varies():
    lengths = [Score(str(u), 12.0) for u in range(30)]
    assert mean_without_ends(lengths) is None, "all alike"
    assert mean_without_ends([Score("a", 12.0), Score("a", 14.0)]) is None, "of one user"
    assert mean_without_ends([]) is None
    found = mean_without_ends([*lengths, Score("0", 15.0)])
    assert found.low < found.value < found.high
    assert found.method == "t, clustered"


def test_a_combination_needs_all_of_its_components():
    scores = [Score("a", 1.0)]
    assert estimate({"x": scores, "y": []}, lambda m: m["x"] + m["y"], ends=(0, 1)) is None
    assert estimate({}, mean_of, ends=(0, 1)) is None
    assert estimate({"x": scores, "y": scores}, lambda m: m["x"] + m["y"], ends=(0, 1)).value == 2.0


def test_the_same_scores_give_the_same_interval():
    scores = [Score(str(i % 7), i / 50) for i in range(50)]
    assert estimate({"x": scores}, mean_of, ends=(0, 1)) == estimate({"x": list(scores)}, mean_of, ends=(0, 1))
