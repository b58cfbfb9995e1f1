"""Properties of agreement that hold for all raters and labels."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowstring.metrics.ratings import compare_raters
from bowstring.records import Rating

words = st.sampled_from(["blue", "green", "red"])
RATERS = ("ann", "bob", "cy")
rated = st.lists(st.dictionaries(st.sampled_from(RATERS), words, min_size=1), min_size=2, max_size=15)


def ratings_of(items, clusters=None):
    return [
        Rating(str(n), rater, label, clusters[n] if clusters else None)
        for n, said in enumerate(items)
        for rater, label in said.items()
    ]


def numbers(found):
    """Every value of the whole, and of the pairs by their names."""
    values = {name: found[name] and found[name]["value"] for name in ("agreement", "fleiss_kappa")}
    values |= {f"alpha {level}": alpha and alpha["value"] for level, alpha in found["alpha"].items()}
    for pair in found["pairs"]:
        for name in ("agreement", "kappa", "macro_f1"):
            values[f"{name} {sorted(pair['raters'])}"] = pair[name] and pair[name]["value"]
    return values


@given(st.lists(words, min_size=2, max_size=15))
def test_raters_who_always_agree_agree_perfectly(labels):
    found = compare_raters(ratings_of([dict.fromkeys(RATERS, label) for label in labels]))
    expected = 1.0 if len(set(labels)) > 1 else None
    assert found["agreement"]["value"] == 1.0
    assert numbers(found)["alpha nominal"] == pytest.approx(expected)
    assert numbers(found)["fleiss_kappa"] == pytest.approx(expected)
    assert found["disputed"] == []


@given(rated, st.randoms(use_true_random=False))
def test_the_order_of_raters_and_items_makes_no_difference(items, rng):
    ratings = ratings_of(items)
    mixed = rng.sample(ratings, len(ratings))
    assert numbers(compare_raters(mixed)) == pytest.approx(numbers(compare_raters(ratings)))


@given(rated, st.permutations(["blue", "green", "red"]))
def test_what_labels_are_called_makes_no_difference(items, names):
    renamed = dict(zip(["blue", "green", "red"], names, strict=True))
    other = [{rater: renamed[label] for rater, label in said.items()} for said in items]
    assert numbers(compare_raters(ratings_of(other))) == pytest.approx(numbers(compare_raters(ratings_of(items))))


def test_near_misses_count_less_where_labels_have_an_order():
    near = [{"ann": "win", "bob": "tie"}, {"ann": "lose", "bob": "lose"}, {"ann": "win", "bob": "win"}] * 5
    far = [said if said["bob"] != "tie" else {"ann": "win", "bob": "lose"} for said in near] + [{"ann": "tie"}]
    alphas = [compare_raters(ratings_of(items))["alpha"] for items in (near, far)]
    assert alphas[0]["ordinal"]["value"] > alphas[1]["ordinal"]["value"] + 0.2
    assert alphas[0]["interval"]["value"] > alphas[1]["interval"]["value"] + 0.2


def test_a_users_items_are_drawn_together():
    rng = random.Random(4)
    items, clusters = [], []
    for user in range(40):
        agrees = rng.random() < 0.6
        for _ in range(10):
            label = rng.choice(["win", "lose"])
            items.append({"ann": label, "bob": label if agrees else rng.choice(["win", "lose"])})
            clusters.append(str(user))
    by_user, by_item = compare_raters(ratings_of(items, clusters)), compare_raters(ratings_of(items))
    assert (by_user["clusters"], by_item["clusters"]) == ("cluster", "item")
    spans = [e["high"] - e["low"] for e in (by_user["alpha"]["nominal"], by_item["alpha"]["nominal"])]
    assert spans[0] > 1.5 * spans[1]
    assert (by_user["agreement"]["clusters"], by_item["agreement"]["clusters"]) == (40, 400)
    half = compare_raters(ratings_of(items, clusters)[:100] + ratings_of(items)[100:])
    assert half["clusters"] == "cluster or item"


def test_the_items_shown_are_those_furthest_apart():
    said = {"0": ("1", "2"), "1": ("1", "10"), "2": ("5", "5"), "3": ("3", "7")}
    ratings = [
        Rating(item, rater, label) for item, pair in said.items() for rater, label in zip("ab", pair, strict=True)
    ]
    found = compare_raters(ratings, most_disputed=2)
    assert [one["item"] for one in found["disputed"]] == ["1", "3"]
    assert found["disputed"][0] == {"item": "1", "disagreement": 1.0, "said": {"a": "1", "b": "10"}}


def test_numbers_without_end_need_no_table():
    rng = random.Random(0)
    ratings = []
    for n in range(200):
        truth = rng.random()
        ratings += [Rating(str(n), rater, f"{truth + rng.random() / 10:.6f}") for rater in "ab"]
    found = compare_raters(ratings, reference="a")
    assert found["alpha"].keys() == {"interval"}
    assert found["alpha"]["interval"]["value"] > 0.9
    assert found["fleiss_kappa"] is None
    assert "confusion" not in found["pairs"][0]
    assert found["reference"]["others"]["b"]["accuracy"]["value"] < 0.05


def test_raters_who_never_meet_have_no_numbers():
    found = compare_raters([Rating("1", "a", "win"), Rating("2", "b", "win")], reference="a")
    assert (found["items"], found["shared"], found["pairs"]) == (2, 0, [])
    assert found["agreement"] is found["fleiss_kappa"] is None
    assert found["reference"]["others"] == {}
