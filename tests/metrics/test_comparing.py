"""Paired differences between runs: coverage, power, and no false positives."""

from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import (
    DIFFERING,
    CorrectedDifference,
    clusters_needed,
    difference,
    holm,
    least_clusters,
    minimum_holm_factors,
    planned_difference,
    rank_ranges,
)
from bowstring.metrics.intervals import estimate, mean_without_ends

USERS, QUESTIONS = 40, 6


def mean_of(means):
    return means["x"]


def runs(rng: np.random.Generator, apart: float, *, users: int = USERS, spread: float = 0.3):
    """Two runs on the same questions: users and questions are hard for both, and users differ in what they gain."""
    user = rng.normal(0.5, 0.3, size=users)
    gain = rng.normal(apart, spread, size=users)
    question = rng.normal(0, 0.3, size=(users, QUESTIONS))
    noise = rng.normal(0, 0.2, size=(2, users, QUESTIONS))
    first = user[:, None] + question + noise[0]
    second = user[:, None] + gain[:, None] + question + noise[1]
    return tuple(
        {"x": [Score(f"u{u}", float(values[u, q])) for u in range(users) for q in range(QUESTIONS)]}
        for values in (first, second)
    )


def of(first, second, **options):
    return difference(first, second, mean_of, items=len(first["x"]), **options)


def test_the_interval_covers_the_true_difference_about_as_often_as_it_says():
    rng = np.random.default_rng(11)
    found = [of(*runs(rng, 0.1)) for _ in range(300)]
    covered = sum(d.low <= 0.1 <= d.high for d in found) / len(found)
    assert 0.90 < covered < 0.985
    assert all(d.trusted and d.clusters == USERS and d.n == USERS * QUESTIONS for d in found)


def test_an_interval_that_ignored_users_would_not():
    """The simulation can fail: intervals that treat questions as independent have too little coverage."""
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(100):
        first, second = runs(rng, 0.1)
        apart = [{"x": [Score(str(n), s.value) for n, s in enumerate(side["x"])]} for side in (first, second)]
        found = of(*apart)
        covered += found.low <= 0.1 <= found.high
    assert covered < 85


def test_where_nothing_differs_p_is_spread_evenly():
    rng = np.random.default_rng(12)
    ps = np.asarray([of(*runs(rng, 0.0)).p for _ in range(300)])
    assert 0.02 < (ps < 0.05).mean() < 0.10
    assert 0.15 < (ps < 0.25).mean() < 0.35
    assert 0.40 < (ps < 0.50).mean() < 0.60
    assert 0.65 < (ps < 0.75).mean() < 0.85


def test_pairing_is_narrower_than_two_intervals_on_their_own():
    first, second = runs(np.random.default_rng(13), 0.1, spread=0.05)
    paired = of(first, second)
    alone = [mean_without_ends(side["x"]) for side in (first, second)]
    unpaired = float(np.hypot(*(e.high - e.low for e in alone)))
    assert paired.high - paired.low < 0.5 * unpaired
    assert alone[0].high > alone[1].low, "the intervals of the runs overlap"
    assert paired.p < 0.01, "and yet they differ"


def test_it_is_a_t_test_of_the_users_differences():
    rng = np.random.default_rng(14)
    by_user = rng.normal(0.1, 0.3, size=(200, 1)) + rng.normal(0, 0.2, size=(200, 5))
    first = {"x": [Score(str(u), 0.0) for u in range(200) for _ in range(5)]}
    second = {"x": [Score(str(u), float(x)) for u, own in enumerate(by_user) for x in own]}
    found = difference(first, second, mean_of, items=1000, ends=(-1.0, 2.0))
    expected = ttest_1samp(by_user.mean(axis=1), 0.0)
    between = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue, rel=0.5)
    assert (found.low, found.high) == pytest.approx((between.low, between.high), rel=0.03)


def test_p_has_no_floor_but_the_sign_test():
    """Forty users who all gain: resampling would stop at the number of draws."""
    first = {"x": [Score(str(u), 0.0) for u in range(40) for _ in range(5)]}
    second = {"x": [Score(str(u), float(n < 4)) for u in range(40) for n in range(5)]}
    assert of(first, second, ends=(0.0, 1.0)).p == 2.0**-39
    for users, least in ((3, 0.25), (5, 0.0625)):
        few = {"x": [s._replace(value=float(int(s.cluster) < users and s.value)) for s in second["x"]]}
        assert of(first, few, ends=(0.0, 1.0)).p >= least, "and those who do not differ do not count"


def test_four_users_of_250_are_four():
    first = {"x": [Score(str(u), 0.0) for u in range(250) for _ in range(40)]}
    second = {"x": [Score(str(u), float(u < 4 and n == 0)) for u in range(250) for n in range(40)]}
    assert of(first, second, ends=(0.0, 1.0)).p == 0.125


@pytest.mark.parametrize(("users", "items"), [(6, 10), (12, 40), (30, 10), (250, 40)])
def test_no_limit_of_a_difference_moves_the_wrong_way_when_one_is_added(users, items):
    """Each further item that the second run has wrong lowers both limits; the first one widens the interval."""
    first = {"x": [Score(str(u), 1.0) for u in range(users) for _ in range(items)]}
    all_found = []
    for wrong in range(min(users, 9) + 1):
        second = {"x": [Score(str(u), float(u >= wrong or n > 0)) for u in range(users) for n in range(items)]}
        found = of(first, second, ends=(0.0, 1.0))
        assert (found.p < 0.05) == (found.high < 0)
        all_found.append(found)
    for limits in ([f.low for f in all_found], [f.high for f in all_found]):
        assert limits == sorted(limits, reverse=True)
    none, one = all_found[:2]
    assert none.high == -none.low
    assert none.high - none.low < one.high - one.low < 1.1 * (none.high - none.low), "no jump"
    alone = estimate(first, mean_of, ends=(0.0, 1.0))
    assert none.high < 1.01 * (alone.high - alone.low), "no wider than that of a single score"


def test_few_clustered_changes_that_the_sample_hardly_shows_are_covered():
    """One item in ten changes, most of them at a few of twelve users: many samples show too few of them."""
    rng, users, items, apart = np.random.default_rng(3), 12, 10, 0.1
    covered = {"found": 0, "t alone": 0}
    for _ in range(400):
        often = rng.beta(apart * 7 / 3, (1 - apart) * 7 / 3, size=users)  # correlation 0.3
        changed = (rng.random((users, items)) < often[:, None]).astype(float)
        first = {"x": [Score(str(u), 0.0) for u in range(users) for _ in range(items)]}
        second = {"x": [Score(str(u), float(x)) for u in range(users) for x in changed[u]]}
        found = of(first, second, ends=(0.0, 1.0))
        covered["found"] += found.low <= apart <= found.high
        by_user = changed.mean(axis=1)
        covered["t alone"] += abs(by_user.mean() - apart) <= 2.2 * by_user.std(ddof=1) / np.sqrt(users)
    assert covered["found"] >= 0.93 * 400
    assert covered["t alone"] < 0.9 * 400, "the simulation can fail"


def test_the_value_is_the_difference_of_the_runs_own_numbers():
    first, second = runs(np.random.default_rng(15), 0.2)
    found, back = of(first, second), of(second, first)
    one, other = (mean_without_ends(side["x"]).value for side in (first, second))
    assert found.value == pytest.approx(other - one)
    assert (back.value, back.low, back.high) == pytest.approx((-found.value, -found.high, -found.low))
    assert back.p == pytest.approx(found.p)


def test_a_run_does_not_differ_from_itself():
    first, _ = runs(np.random.default_rng(16), 0.0)
    found = of(first, first)
    assert (found.value, found.p) == (0, 1)
    assert found.low == -found.high < 0


@pytest.mark.parametrize(("users", "least"), [(1, 1.0), (2, 0.5), (5, 1 / 16)])
def test_few_users_cannot_be_sure_however_much_they_agree(users, least):
    first = {"x": [Score(str(n), 0.0) for n in range(users)]}
    second = {"x": [Score(str(n), 1.0) for n in range(users)]}
    found = of(first, second)
    assert found.p == least
    assert not found.trusted


def all_but_alike(users: int):
    """Two runs with almost the largest possible difference for every user."""
    first = {"x": [Score(str(n), 0.0) for n in range(users)]}
    return first, {"x": [Score(str(n), 1.0 - n / 100) for n in range(users)]}


@pytest.mark.parametrize("comparisons", [1, 2, 3, 10])
def test_power_promises_nothing_that_p_forbids(comparisons):
    """The least number of users is the first whose p passes, when all of them agree and Holm has corrected it."""
    least = least_clusters(0.05 / comparisons)
    for users in range(2, 14):
        alone = of(*all_but_alike(users))
        corrected = max(holm([alone.p] * comparisons))
        found = CorrectedDifference(**asdict(alone), corrected=corrected, comparisons=comparisons, left_out=0)
        assert found.significant == (users >= least)
        assert found.significant or found.detectable is None
        assert clusters_needed(found, found.value) == least + 2, "however large, and however much alike"
    assert least_clusters() == 6


def test_a_comparison_with_more_users_does_not_stand_in_the_way_of_one_with_fewer():
    many, few = (of(*all_but_alike(users)) for users in (40, 6))
    times = minimum_holm_factors([many.clusters, few.clusters])
    assert times == [2, 1]
    shown = CorrectedDifference(**asdict(few), corrected=holm([many.p, few.p])[1], comparisons=times[1], left_out=0)
    assert shown.significant


def test_what_only_one_side_has_cannot_be_compared():
    assert difference({"x": [Score("a", 1.0)]}, {"x": []}, mean_of, items=0) is None
    assert difference({}, {}, mean_of, items=0) is None


def test_so_many_users_do_have_the_power_that_was_asked_for():
    pilot = of(*runs(np.random.default_rng(17), 0.15, users=200))
    users = clusters_needed(pilot, 0.15)
    assert 20 < users < 60
    rng = np.random.default_rng(18)
    shown = sum(of(*runs(rng, 0.15, users=users)).p < 0.05 for _ in range(200)) / 200
    assert 0.70 < shown < 0.90
    assert clusters_needed(pilot, 0.075) == pytest.approx(4 * users, rel=0.1), "half the difference takes four times"
    assert clusters_needed(pilot, pilot.detectable) == pytest.approx(200, abs=1)


@pytest.mark.parametrize("users", [8, 12, 30])
def test_what_can_be_detected_is_found_four_times_out_of_five(users):
    rng = np.random.default_rng(users)
    apart = float(np.median([of(*runs(rng, 0.0, users=users)).detectable for _ in range(100)]))
    assert 0.7 < np.mean([of(*runs(rng, apart, users=users)).p < 0.05 for _ in range(300)]) < 0.92


def test_users_with_many_items_are_not_taken_for_many_users():
    """Type I error with eight users of eight items and two of forty, whose items are alike."""
    rng = np.random.default_rng(3)
    sizes = [8] * 8 + [40] * 2
    wrong = covered = 0
    for _ in range(400):
        sides = []
        for _ in range(2):
            chances = rng.beta(0.5 / 0.3 * 0.7, 0.5 / 0.3 * 0.7, size=len(sizes))
            sides.append([Score(str(u), float(x)) for u, n in enumerate(sizes) for x in rng.random(n) < chances[u]])
        found = difference({"x": sides[0]}, {"x": sides[1]}, mean_of, items=sum(sizes), ends=(0.0, 1.0))
        wrong += found.p < 0.05
        alone = estimate({"x": sides[0]}, mean_of, ends=(0.0, 1.0))
        covered += alone.low <= 0.5 <= alone.high
    assert wrong <= 0.06 * 400 + 2 * np.sqrt(0.06 * 0.94 * 400)
    assert covered >= 0.93 * 400


@pytest.mark.parametrize("ps", [[0.01, 0.04, 0.03], [0.2, 0.01, 0.01, 0.9], [0.5], [1.0, 1.0], []])
def test_holm_corrects_as_statsmodels_does(ps):
    expected = multipletests(ps, method="holm")[1] if ps else []
    assert holm(ps) == pytest.approx(list(expected))


def test_a_rank_is_open_unless_somebody_is_known_to_be_ahead_or_behind():
    assert rank_ranges("abc", []) == {"a": (1, 3), "b": (1, 3), "c": (1, 3)}
    assert rank_ranges("abc", [("a", "b"), ("a", "c"), ("b", "c")]) == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}
    assert rank_ranges("abc", [("a", "c")]) == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}


@pytest.mark.parametrize("users", [12, 40])
def test_the_planned_difference_is_found_four_times_out_of_five(users):
    """Runs as the plan assumes them: they differ on a quarter of the items, users alike with correlation 0.1."""
    items = 10
    apart = planned_difference([items] * users)
    rng = np.random.default_rng(5)
    between = np.sqrt(0.1 * DIFFERING)
    found = []
    for _ in range(300):
        gain = rng.normal(apart, between, size=users)
        values = gain[:, None] + rng.normal(0, np.sqrt(0.9 * DIFFERING), size=(users, items))
        first = {"x": [Score(str(u), 0.0) for u in range(users) for _ in range(items)]}
        second = {"x": [Score(str(u), float(x)) for u in range(users) for x in values[u]]}
        found.append(difference(first, second, mean_of, items=users * items).p < 0.05)
    assert 0.72 < np.mean(found) < 0.88


def test_more_users_show_smaller_differences_and_too_few_show_none():
    assert planned_difference([40] * 5) is planned_difference([10] * 6) is planned_difference([1] * 6) is None
    shown = [planned_difference([40] * users) for users in (12, 30, 100, 250)]
    assert shown == sorted(shown, reverse=True)
    assert planned_difference([10] * 30) > planned_difference([40] * 30) > planned_difference([10] * 120)
    assert planned_difference([10] * 25 + [100] * 5) > planned_difference([25] * 30), "most items are of few users"
