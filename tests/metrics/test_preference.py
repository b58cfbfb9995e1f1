"""Preference by degree of personalization."""

import random
from dataclasses import replace

import pytest

from bowstring.metrics.preference import prefer_first, prefer_personalized
from bowstring.records import Rating


def test_a_win_is_one_a_tie_is_half():
    labels = ["personalized"] * 5 + ["tie"] * 2 + ["general"] * 3
    found = prefer_personalized([Rating(str(n), "ann", label, str(n)) for n, label in enumerate(labels)])
    assert found["win_rate"]["value"] == pytest.approx(60.0)
    assert found["win_rate"]["n"] == 10
    assert [found[label]["value"] for label in ("personalized", "tie", "general")] == pytest.approx([50, 20, 30])
    assert not found["win_rate"]["trusted"]
    assert found["by_rater"]["ann"]["value"] == pytest.approx(60.0)
    assert "by_type" not in found
    assert "slope" not in found


def test_the_win_rate_by_type_and_by_degree_and_how_it_falls():
    rng = random.Random(3)
    ratings = []
    for n in range(600):
        degree = rng.randint(1, 5)
        likes = rng.random() < 0.9 - 0.15 * degree
        kind = "persona" if n % 2 else "profile"
        label = "personalized" if likes else "general"
        ratings.append(Rating(str(n), "ann", label, str(n // 10), "personal", kind, f"{degree}.0"))
    found = prefer_personalized(ratings)
    assert list(found["by_personalization"]) == ["1", "2", "3", "4", "5"]
    rates = [rate["value"] for rate in found["by_personalization"].values()]
    assert rates[0] > 60 > 30 > rates[-1]
    assert found["slope"]["low"] < -15 < found["slope"]["high"] < 0
    assert found["slope"]["n"] == 600
    assert sum(rate["n"] for rate in found["by_type"].values()) == 600


def test_degrees_in_words_are_told_without_a_slope():
    ratings = [Rating("1", "a", "general", personalization="more"), Rating("2", "a", "tie", personalization="less")]
    found = prefer_personalized(ratings)
    assert found["by_personalization"].keys() == {"less", "more"}
    assert "slope" not in found


@pytest.mark.parametrize("labels", [[], ["tie", "tie"], ["win", "lose"]])
def test_nobody_who_chose_says_nothing(labels):
    assert prefer_personalized([Rating(str(n), "a", label) for n, label in enumerate(labels)]) is None


def test_of_two_runs_every_item_counts_once_however_many_rated_it():
    said = {"1": {"ann": "win", "bob": "lose"}, "2": {"ann": "win"}, "3": {"bob": "tie"}, "4": {"bob": "lose"}}
    ratings = [
        Rating(item, rater, label, cluster=item, type="persona", sides=("strong", "weak"))
        for item, own in said.items()
        for rater, label in own.items()
    ]
    found = prefer_first([*ratings, Rating("5", "ann", "unclear", cluster="5")])
    assert (found["win_rate"]["value"], found["win_rate"]["n"]) == (pytest.approx(50), 4)
    assert {name: (rate["value"], rate["n"]) for name, rate in found["by_rater"].items()} == {
        "ann": (pytest.approx(100), 2),
        "bob": (pytest.approx(50 / 3), 3),
    }
    assert found["by_rater"]["ann"]["low"] < 100, "two users without exception are not certain"
    assert found["by_type"]["persona"]["n"] == 4
    assert prefer_first([Rating("1", "ann", "yes")]) is None


def test_the_win_rate_of_a_run_is_as_sure_as_its_users_are_many():
    ratings = [Rating(str(n), "ann", "win" if n // 10 % 2 else "lose", cluster=str(n // 10)) for n in range(400)]
    found = prefer_first(ratings)["win_rate"]
    alone = prefer_first([Rating(r.item, r.rater, r.label, cluster=r.item) for r in ratings])["win_rate"]
    assert (found["clusters"], found["n"], found["trusted"]) == (40, 400, True)
    assert found["high"] - found["low"] > 2 * (alone["high"] - alone["low"])


def rated_by_degree(chosen, users=10):
    """Five ratings per user, of degrees 1 to 5, with the label of `chosen` for a degree."""
    return [
        Rating(f"{user} {degree}", "ann", chosen(degree), str(user), "personal", None, str(degree))
        for user in range(users)
        for degree in range(1, 6)
    ]


def test_a_slope_without_exception_is_not_certain():
    flat = prefer_personalized(rated_by_degree(lambda degree: "personalized"))["slope"]
    assert flat["value"] == pytest.approx(0, abs=1e-9)
    assert -10 < flat["low"] < -1 < 1 < flat["high"] < 10
    one = rated_by_degree(lambda degree: "personalized")
    one[4] = replace(one[4], label="general")
    first = prefer_personalized(one)["slope"]
    assert first["value"] < 0
    assert first["high"] - first["low"] >= flat["high"] - flat["low"]
    assert flat["method"] == "Wilson, clustered"


def test_the_slope_of_one_user_is_only_known_to_be_possible():
    """Of five degrees, the steepest slope is that of two wins above two losses: (2 + 1 + 1 + 2) / 2 / 10 per degree."""
    alone = prefer_personalized(rated_by_degree(lambda degree: "general" if degree > 3 else "personalized", users=1))
    assert (alone["slope"]["low"], alone["slope"]["high"]) == pytest.approx((-30, 30))
