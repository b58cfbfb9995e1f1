"""The majority of people as a reference, and tests of two judges against it."""

import random

import pytest
from sklearn.metrics import f1_score

from bowstring.metrics.rating_table import build_table
from bowstring.metrics.ratings import compare_raters
from bowstring.metrics.references import agreement_with_people, judge_differences, majority_of
from bowstring.metrics.scales import scale_of
from bowstring.records import Rating

LABELS = ("lose", "tie", "win")


def ratings_of(rows, cluster=None):
    """One row per item: {rater: label}."""
    return [
        Rating(str(n), rater, label, cluster and cluster(n))
        for n, said in enumerate(rows)
        for rater, label in said.items()
    ]


def table_of(rows, judges=("judge",)):
    return build_table(ratings_of(rows), scale_of(LABELS), judges)


def test_the_majority_is_the_label_that_most_people_gave():
    rows = [
        {"ann": "win", "bob": "win", "cy": "lose", "judge": "lose"},
        {"ann": "win", "bob": "tie", "cy": "lose"},
        {"ann": "win", "bob": "lose", "judge": "win"},
        {"ann": "tie", "judge": "tie"},
        {"ann": "lose", "bob": "lose", "cy": "win", "dee": "tie", "eve": "tie", "fay": "lose"},
        {"judge": "win"},
    ]
    found = majority_of(table_of(rows))
    assert found.labels == {"0": "win", "4": "lose"}, "the judge has no vote, and a split vote is not a tie"
    assert (found.tied, found.one_person) == (2, 1)


def test_a_judge_against_the_majority():
    rng = random.Random(2)
    rows = []
    for _ in range(120):
        truth = rng.choice(LABELS[1:])
        said = {person: truth if rng.random() < 0.8 else rng.choice(LABELS) for person in ("ann", "bob", "cy")}
        rows.append(said | {"judge": truth if rng.random() < 0.7 else rng.choice(LABELS[1:])})
    found = compare_raters(ratings_of(rows, lambda n: f"user {n // 3}"), judges=["judge"], task_labels=LABELS)
    majority = majority_of(build_table(ratings_of(rows), scale_of(LABELS), ["judge"])).labels
    wanted = list(majority.values())
    judged = [rows[int(item)]["judge"] for item in majority]
    own = found["majority"]["judges"]["judge"]
    assert own["n"] == len(wanted) == found["majority"]["items"]
    assert own["accuracy"]["value"] == pytest.approx(
        sum(a == b for a, b in zip(wanted, judged, strict=True)) / own["n"]
    )
    assert own["macro_f1"]["value"] == pytest.approx(
        f1_score(wanted, judged, labels=LABELS, average="macro", zero_division=0)
    )
    assert own["accuracy"]["clusters"] <= 40 < own["n"]
    assert found["majority"]["judges"].keys() == {"judge"}


def test_macro_f1_is_over_the_labels_of_the_task():
    rows = [{"ann": x, "bob": x, "judge": x} for x in ("win", "lose") * 20]
    found = compare_raters(ratings_of(rows), judges=["judge"], task_labels=LABELS, reference="ann")
    assert found["labels"] == list(LABELS)
    for own in (found["majority"]["judges"]["judge"], found["reference"]["others"]["judge"], found["pairs"][0]):
        assert own["macro_f1"]["value"] == pytest.approx(2 / 3), "nobody gave tie: it counts 0"
        assert own["macro_f1"]["high"] <= 2 / 3 + 0.1
    free = compare_raters(ratings_of(rows), judges=["judge"], reference="ann")
    assert free["reference"]["others"]["judge"]["macro_f1"]["value"] == 1.0


def test_a_label_that_is_rare_makes_its_average_uncertain():
    """One tie in 60 items is a third of macro F1."""
    low = {}
    for ties in (1, 20):
        labels = (["win"] * 30 + ["lose"] * 30)[ties:] + ["tie"] * ties
        rows = [{"ann": x, "judge": x} for x in labels]
        found = compare_raters(ratings_of(rows), judges=["judge"], reference="ann")["reference"]["others"]["judge"]
        assert (found["macro_f1"]["value"], found["macro_f1"]["high"]) == (1.0, 1.0)
        low[ties] = found["macro_f1"]["low"]
    assert low[1] < 0.75 < 0.9 < low[20]


def test_agreement_with_people_leaves_the_rater_out():
    rows = [{"ann": "win", "bob": "win", "cy": "tie", "judge": "win"}, {"ann": "tie", "bob": "lose", "judge": "win"}]
    table = table_of(rows)
    assert agreement_with_people("ann", table).value == pytest.approx((1 / 2 + 0) / 2)
    assert agreement_with_people("judge", table).value == pytest.approx((2 / 3 + 0) / 2)
    assert agreement_with_people("cy", table).n == 1
    assert agreement_with_people("judge", table_of([{"judge": "win"}])) is None


def judged(right, *, items=400, seed=7):
    """One person, and judges that are right with these probabilities."""
    rng = random.Random(seed)
    rows = []
    for _ in range(items):
        truth = rng.choice(LABELS)
        rows.append({"ann": truth} | {name: truth if rng.random() < p else "none" for name, p in right.items()})
    return build_table(ratings_of(rows), scale_of((*LABELS, "none")), tuple(right))


def test_two_judges_that_differ_and_two_that_do_not():
    found = judge_differences(judged({"good": 0.9, "bad": 0.6, "same": 0.9}))
    by_pair = {tuple(one["judges"]): one for one in found}
    assert by_pair.keys() == {("good", "bad"), ("good", "same"), ("bad", "same")}
    assert by_pair["good", "bad"]["value"] == pytest.approx(-0.3, abs=0.07)
    assert by_pair["good", "bad"]["high"] < 0
    assert by_pair["good", "bad"]["corrected"] < 0.001
    assert by_pair["good", "same"]["corrected"] > 0.05
    assert by_pair["good", "same"]["low"] < 0 < by_pair["good", "same"]["high"]
    assert all(one["corrected"] >= one["p"] for one in found)
    assert {one["reference"] for one in found} == {"person"}


def test_equal_judges_differ_in_about_one_sample_of_twenty():
    rejected = sum(
        judge_differences(judged({"one": 0.75, "two": 0.75}, items=80, seed=seed))[0]["p"] < 0.05 for seed in range(300)
    )
    assert rejected <= 24, "5% of 300 is 15; 24 is the 99% quantile"


def test_what_judges_are_measured_by():
    rows = [{"ann": "win", "bob": "win", "a": "win", "b": "lose"}, {"ann": "win", "bob": "tie", "a": "win", "b": "win"}]
    table = table_of(rows, ("a", "b"))
    (majority,) = judge_differences(table)
    assert (majority["reference"], majority["n"], majority["value"]) == ("majority", 1, -1.0)
    (bob,) = judge_differences(table, "bob")
    assert (bob["reference"], bob["n"], bob["value"]) == ("bob", 2, -0.5)
    assert judge_differences(table, "a") == [], "a judge is not tested against itself"


def test_what_only_a_judge_says_is_not_a_class():
    """As with f1_score(labels=…): what could not be read from one judge does not lower the F1 of another."""
    rng = random.Random(9)
    rows = []
    for _ in range(90):
        truth = rng.choice("012")
        rows.append(
            {"ann": truth, "bob": truth, "one": rng.choice(["garbage", truth, truth]), "two": rng.choice("012")}
        )
    found = compare_raters(ratings_of(rows), judges=["one", "two"], level="nominal")
    assert found["labels"] == ["0", "1", "2", "garbage"]
    assert found["averaged_labels"] == ["0", "1", "2"]
    for judge, own in found["majority"]["judges"].items():
        truth, said = ([row[rater] for row in rows] for rater in ("ann", judge))
        expected = f1_score(truth, said, labels=["0", "1", "2"], average="macro", zero_division=0)
        assert own["macro_f1"]["value"] == pytest.approx(expected)
        assert own["macro_f1"]["low"] >= 0
