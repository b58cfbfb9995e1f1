"""Agreement has clustered intervals: a user's items are not independent."""

import random

from bowstring.metrics.agreement import agreement, agreement_intervals
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


def test_agreement_without_exception_is_not_certain():
    """If no user is an exception, the possible share of exceptions is the exact binomial bound."""
    for users in (5, 50):
        least = 0.025 ** (1 / users)
        first, second, clusters = rated(users, 4, right=1.0)
        items = [{"a": a, "b": b} for a, b in zip(first, second, strict=True)]
        scored = [{"a": ord(a), "b": ord(b)} for a, b in zip(first, second, strict=True)]
        found = [*agreement_intervals(first, second, clusters).values(), fleiss_kappa(items, clusters)]
        found += [krippendorff_alpha(items, "nominal", clusters)]
        found += [krippendorff_alpha(scored, level, clusters) for level in ("ordinal", "interval")]
        for one in found:
            assert (one.value, one.high) == (1.0, 1.0)
            assert abs(one.low - least) < 1e-12
        other = agreement_intervals(*rated(users, 4, right=0.0))
        assert (other["accuracy"].value, other["accuracy"].low) == (0.0, 0.0)
        assert abs(other["accuracy"].high - (1 - least)) < 1e-12
        assert other["kappa"].high < 0


def alike(users: int, first: str, second: str):
    """Users that were all rated the same way; every other one has twice as many ratings."""
    clusters = [str(user) for user in range(users) for _ in first * (1 + user % 2)]
    return [*first] * (len(clusters) // len(first)), [*second] * (len(clusters) // len(first)), clusters


def every_number(first, second, clusters):
    items = [{"a": a, "b": b} for a, b in zip(first, second, strict=True)]
    scored = [{"a": ord(a), "b": ord(b)} for a, b in zip(first, second, strict=True)]
    yield from agreement_intervals(first, second, clusters).items()
    yield "fleiss", fleiss_kappa(items, clusters)
    yield "nominal", krippendorff_alpha(items, "nominal", clusters)
    for level in ("ordinal", "interval"):
        yield level, krippendorff_alpha(scored, level, clusters)


def test_nor_is_any_other_that_all_users_share():
    for users in (3, 50):
        other = 1 - 0.025 ** (1 / users)
        for name, one in every_number(*alike(users, "AABB", "AABA")):
            assert 0 < one.value < 1, name
            assert abs(one.low - (1 - other) * one.value) < 1e-9, name
            assert abs(one.high - one.low - other) < 1e-9, name


def test_what_is_chance_or_less_may_be_less_still():
    other = 1 - 0.025 ** (1 / 6)
    for name, one in every_number(*alike(6, "AABB", "BBBA")):
        least = 0 if name in ("accuracy", "macro_f1") else -1
        assert one.value < 0 or least == 0, name
        assert abs(one.low - (1 - other) * one.value - other * least) < 1e-9, name
        assert abs(one.high - (1 - other) * one.value - other) < 1e-9, name
    by_chance = agreement_intervals(*alike(6, "AABB", "ABAB"))["kappa"]
    assert abs(by_chance.value) < 1e-12
    assert abs(by_chance.low + other) < 1e-9
    assert abs(by_chance.high - other) < 1e-9


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
