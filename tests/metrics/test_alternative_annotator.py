"""The alternative annotator test: who may be replaced, and p-values against an independent calculation."""

import random

import pytest
from scipy.stats import false_discovery_control, ttest_1samp

from bowstring.metrics.alternative_annotator import alternative_annotator_test, benjamini_yekutieli
from bowstring.metrics.rating_table import build_table
from bowstring.metrics.scales import scale_of
from bowstring.records import Rating

LABELS = ("win", "tie", "lose")
PEOPLE = ("ann", "bob", "cy", "dee")


def noisy(rng, truth, right):
    return truth if rng.random() < right else rng.choice([label for label in LABELS if label != truth])


def table_of(judge, *, items=200, seed=0, people=PEOPLE, per_user=1, right=0.8):
    """People who are right with a probability, and a judge: a function of the generator and the truth."""
    rng = random.Random(seed)
    ratings = []
    for n in range(items):
        truth = rng.choice(LABELS)
        said = {person: noisy(rng, truth, right) for person in people} | {"judge": judge(rng, truth)}
        ratings += [Rating(str(n), rater, label, f"user {n // per_user}") for rater, label in said.items()]
    return build_table(ratings, scale_of(LABELS), ["judge"])


def outcome(judge, **how):
    return alternative_annotator_test("judge", table_of(judge, **how))


def test_one_more_person_may_replace_people():
    found = outcome(lambda rng, truth: noisy(rng, truth, 0.8), items=600)
    assert found["replaces"]
    assert found["winning_rate"] == 1.0
    assert found["people"].keys() == set(PEOPLE)
    assert found["advantage"]["judge"] == pytest.approx(found["advantage"]["person"], abs=0.06)


@pytest.mark.parametrize(
    "judge",
    [lambda rng, truth: rng.choice(LABELS), lambda rng, truth: "win", lambda rng, truth: noisy(rng, truth, 0.5)],
    ids=["coin", "constant", "much worse than people"],
)
def test_a_judge_that_is_worse_than_people_may_not(judge):
    found = outcome(judge)
    assert found["replaces"] is False
    assert found["winning_rate"] == 0.0
    assert found["advantage"]["judge"] < found["advantage"]["person"] - 0.1


def test_epsilon_is_how_much_worse_a_judge_may_be():
    table = table_of(lambda rng, truth: noisy(rng, truth, 0.72), items=400)
    rates = [alternative_annotator_test("judge", table, epsilon)["winning_rate"] for epsilon in (0.0, 0.3)]
    assert rates == [0.0, 1.0]


def test_p_values_are_those_of_a_t_test_of_the_paper():
    """Items are independent and many, so the clustered test is close to the one-sample test of the differences."""
    table = table_of(lambda rng, truth: noisy(rng, truth, 0.75), items=600, seed=3)
    found = alternative_annotator_test("judge", table)["people"]
    for person in PEOPLE:
        apart = []
        for said in table.items.values():
            others = [said[other] for other in PEOPLE if other != person]
            judge, own = (others.count(said[rater]) for rater in ("judge", person))
            apart.append(float(own >= judge) - float(judge >= own))
        assert found[person]["difference"]["value"] == pytest.approx(-sum(apart) / len(apart))
        expected = ttest_1samp(apart, 0.1, alternative="less").pvalue
        assert found[person]["p"] == pytest.approx(expected, rel=0.15, abs=1e-6)


def test_items_of_one_user_are_not_independent():
    """A judge that fails on whole users: fewer users say less than as many items of users of their own."""

    def ratings(per_user):
        rng, found = random.Random(5), []
        for n in range(300):
            truth, served = rng.choice(LABELS), random.Random(n // 10).random() < 0.8
            said = {person: noisy(rng, truth, 0.7) for person in PEOPLE}
            said["judge"] = noisy(rng, truth, 0.8 if served else 0.1)
            found += [Rating(str(n), rater, label, f"user {n // per_user}") for rater, label in said.items()]
        return build_table(found, scale_of(LABELS), ["judge"])

    by_user, by_item = (alternative_annotator_test("judge", ratings(n))["people"]["ann"] for n in (10, 1))
    spans = [found["difference"]["high"] - found["difference"]["low"] for found in (by_user, by_item)]
    assert (by_user["clusters"], by_item["clusters"]) == (30, 300)
    assert spans[0] > 1.3 * spans[1]


@pytest.mark.parametrize(("people", "items"), [(PEOPLE[:2], 200), (PEOPLE, 29)], ids=["two people", "29 items"])
def test_too_few_people_or_items_give_no_answer(people, items):
    found = outcome(lambda rng, truth: truth, people=people, items=items)
    assert found["winning_rate"] is None
    assert found["replaces"] is None
    if items < 30:
        assert found["too_few_items"] == dict.fromkeys(PEOPLE, items)
        assert found["advantage"] is None


def test_people_of_other_items_are_not_compared():
    ratings = [Rating(str(n), rater, "win") for n in range(40) for rater in ("ann", "bob", "cy")]
    ratings += [Rating(str(n), "judge", "win") for n in range(40, 80)]
    found = alternative_annotator_test("judge", build_table(ratings, scale_of({"win", "lose"}), ["judge"]))
    assert found["people"] == found["too_few_items"] == {}


def test_numbers_are_compared_by_distance():
    """The judge is always 1 off, and ann always 4 off: neither is ever equal to the others."""
    said = {"ann": "9", "bob": "5", "cy": "5", "judge": "6"}
    ratings = [Rating(str(n), rater, label) for n in range(40) for rater, label in said.items()]
    ratings += [Rating("last", rater, "1") for rater in said]
    labels = {rating.label for rating in ratings}
    found = alternative_annotator_test("judge", build_table(ratings, scale_of(labels), ["judge"]))
    assert found["compared_by"] == "distance"
    assert found["people"]["ann"]["judge"] == 1.0
    assert found["people"]["ann"]["person"] == pytest.approx(1 / 41)
    nominal = build_table(ratings, scale_of(labels, level="nominal"), ["judge"])
    assert alternative_annotator_test("judge", nominal)["people"]["ann"]["person"] == 1.0


def test_benjamini_yekutieli_equals_scipy():
    rng = random.Random(1)
    for n in (1, 2, 7, 30):
        ps = [rng.random() ** 3 for _ in range(n)]
        assert benjamini_yekutieli(ps) == pytest.approx(list(false_discovery_control(ps, method="by")))
    assert benjamini_yekutieli([]) == []
