"""Do people like it less when it is more personalized?"""

import random

import pytest

from bowstring.metrics.preference import prefer_personalized
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
