"""Agreement has clustered intervals: a user's items are not independent."""

import random
from functools import partial
from itertools import product

import pytest

from bowstring.metrics.agreement import agreement, agreement_intervals, count_by_cluster, macro_f1, with_intervals
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import estimate
from bowstring.metrics.reliability import fleiss_kappa, krippendorff_alpha


def rated(users: int, each: int, *, right: float, seed: int = 0):
    """Two raters; the second says what the first does with a chance of `right`, the same for all items of a user."""
    rng = random.Random(seed)
    first, second, clusters = [], [], []
    for user in range(users):
        agrees = rng.random() < right
        for _ in range(each):
            label = rng.choice("AB")
            first.append(label)
            second.append(label if agrees else "AB"[label == "A"])
            clusters.append(str(user))
    return first, second, clusters


def test_intervals_lie_around_the_numbers_without_them():
    first, second, clusters = rated(40, 5, right=0.8)
    plain, found = agreement(first, second), agreement_intervals(first, second, clusters)
    for name in ("accuracy", "macro_f1", "kappa"):
        assert abs(found[name].value - getattr(plain, name)) < 1e-12
        assert found[name].low < found[name].value < found[name].high
        assert (found[name].n, found[name].clusters) == (200, 40)


def test_items_of_few_users_say_less_than_as_many_of_many():
    few, many = rated(20, 20, right=0.7), rated(400, 1, right=0.7)
    spans = [(e := agreement_intervals(*those)["kappa"]).high - e.low for those in (few, many)]
    assert spans[0] > 2 * spans[1]
    alphas = []
    for first, second, clusters in (few, many):
        items = [{"a": a, "b": b} for a, b in zip(first, second, strict=True)]
        alphas.append((e := krippendorff_alpha(items, clusters=clusters)).high - e.low)
        kappa = fleiss_kappa(items, clusters)
        assert kappa.low < kappa.value < kappa.high
    assert alphas[0] > 2 * alphas[1]


def every_number(first, second, clusters):
    items = [{"a": a, "b": b} for a, b in zip(first, second, strict=True)]
    scored = [{"a": ord(a), "b": ord(b)} for a, b in zip(first, second, strict=True)]
    yield from agreement_intervals(first, second, clusters).items()
    yield "fleiss", fleiss_kappa(items, clusters)
    yield "nominal", krippendorff_alpha(items, "nominal", clusters)
    for level in ("ordinal", "interval"):
        yield level, krippendorff_alpha(scored, level, clusters)


def least_of(name: str) -> int:
    return 0 if name in ("accuracy", "macro_f1") else -1


def disagreeing(users: int, each: int, labels: str, wrong: int):
    """Users with the same number of items; the first item of the first users has another label."""
    first = [labels[n % len(labels)] for n in range(users * each)]
    others = dict(zip(labels, labels[1:] + labels[0], strict=True))
    second = [others[a] if n % each == 0 and n // each < wrong else a for n, a in enumerate(first)]
    return first, second, [str(n // each) for n in range(users * each)]


@pytest.mark.parametrize("labels", ["AB", "ABC"])
@pytest.mark.parametrize("each", [2, 4, 10, 40])
@pytest.mark.parametrize("users", [3, 6, 12, 30, 100])
def test_an_interval_does_not_shrink_at_the_first_disagreement(users, each, labels):
    without, one = (dict(every_number(*disagreeing(users, each, labels, wrong))) for wrong in range(2))
    for name, e in without.items():
        assert (e.value, e.high) == (1.0, 1.0), name
        assert 1 - least_of(name) > one[name].high - one[name].low >= e.high - e.low > 0, name
        assert least_of(name) < one[name].low < one[name].value < one[name].high < 1, name
        assert abs(one[name].low - e.low) < 0.35 * (1 - e.low), f"{name}: no jump"


def test_a_near_miss_narrows_the_interval_by_little():
    """Labels that differ by one step of a scale are evidence that others do not differ by more."""
    for users, each, labels in product((6, 30), (10, 40), ("ABCDE", "AAAAABC")):
        without, near = (dict(every_number(*disagreeing(users, each, labels, wrong))) for wrong in (0, 1))
        for name, e in near.items():
            assert e.high - e.low > 0.97 * (without[name].high - without[name].low), name


def test_agreement_without_exception_is_less_certain_the_fewer_users_show_it():
    few, many = (dict(every_number(*disagreeing(users, 10, "AB", 0))) for users in (5, 50))
    for name, e in few.items():
        assert e.method == "Wilson, clustered"
        assert least_of(name) < e.low < 0.7 < 0.9 < many[name].low < 1, name
    for name, e in every_number(*disagreeing(1, 10, "AB", 0)):
        assert (e.low, e.high) == (least_of(name), 1), f"{name}: one user says nothing about others"


def test_raters_who_never_agree_may_agree_elsewhere():
    other = agreement_intervals(*rated(50, 4, right=0.0))
    for name in ("accuracy", "macro_f1"):
        assert (other[name].value, other[name].low) == (0.0, 0.0)
        assert 0 < other[name].high < 0.1
    assert -1 <= other["kappa"].low <= other["kappa"].value < other["kappa"].high < -0.8


def test_accuracy_has_the_interval_of_a_score():
    first, second, clusters = rated(25, 4, right=0.9, seed=3)
    scores = [Score(c, float(a == b)) for a, b, c in zip(first, second, clusters, strict=True)]
    score = estimate({"x": scores}, lambda means: means["x"], ends=(0.0, 1.0))
    found = agreement_intervals(first, second, clusters)["accuracy"]
    assert (found.value, found.low, found.high) == pytest.approx((score.value, score.low, score.high), abs=1e-9)


@pytest.mark.parametrize(("first", "second"), [("AABB", "AABA"), ("AABB", "BBBA"), ("AABB", "ABAB")])
def test_users_who_are_all_alike_are_not_certain(first, second):
    """Every other user has twice as many ratings."""
    for users in (3, 50):
        clusters = [str(user) for user in range(users) for _ in first * (1 + user % 2)]
        times = len(clusters) // len(first)
        for name, e in every_number([*first] * times, [*second] * times, clusters):
            assert least_of(name) <= e.low < e.value < e.high <= 1, name
            assert e.high - e.low > 0.05, name


def test_labels_that_nobody_gave_do_not_count_as_disagreement():
    """Macro F1 averages over three labels, of which two occur: it cannot be above 2/3."""
    tables = count_by_cluster(*disagreeing(30, 10, "AB", 0), "ABC")
    found = with_intervals(tables, {"f1": macro_f1})["f1"]
    assert (found.value, found.high) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert 0.5 < found.low < 2 / 3
    none = with_intervals(tables, {"f1": partial(macro_f1, averaged=[2])})["f1"]
    assert (none.value, none.low, none.high) == (0, 0, 1), "nothing is known about its only label"


def test_labels_that_say_nothing_have_no_interval():
    found = agreement_intervals(["A", "A"], ["A", "A"], ["1", "2"])
    assert found["accuracy"].value == 1.0
    assert found["accuracy"].low < 0.2
    assert found["kappa"] is None
    assert agreement_intervals([], [], []) == {"accuracy": None, "macro_f1": None, "kappa": None}
    assert krippendorff_alpha([{"a": "x"}, {"b": "y"}]) is None
    assert fleiss_kappa([{"a": "x", "b": "x"}]) is None


def test_intervals_cover_what_is_true_as_often_as_they_say():
    """About 95% of intervals contain the known accuracy, over 200 sets of 60 users."""
    hits = 0
    for seed in range(200):
        found = agreement_intervals(*rated(60, 3, right=0.7, seed=seed))["accuracy"]
        hits += found.low <= 0.7 <= found.high
    assert 180 <= hits <= 198
