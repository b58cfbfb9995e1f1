"""Correction for judge errors: simulated good and bad judges, with human labels on some items."""

import numpy as np
import pytest

from bowstring.metrics.clusters import Score
from bowstring.metrics.correction import LEAST, Labelled, corrected

TRUTH = 0.4


def mean_of(means):
    return means["x"]


def simulated(rng, *, users=120, each=5, labels=150, bias=0.0, noise=0.0):
    """Simulated judge scores of all items and people's labels of some, with differences between users."""
    owner = np.repeat(np.arange(users), each)
    chance = np.clip(rng.normal(TRUTH, 0.15, size=users), 0, 1)[owner]
    human = (rng.random(len(owner)) < chance).astype(float)
    # A judge that lets some bad answers pass, and errs at random besides.
    judge = np.where((human == 0) & (rng.random(len(owner)) < bias), 1.0, human)
    judge = np.where(rng.random(len(owner)) < noise, (rng.random(len(owner)) < 0.5).astype(float), judge)
    chosen = rng.choice(len(owner), size=labels, replace=False)
    judged = {"x": [Score(str(u), f) for u, f in zip(owner, judge, strict=True)]}
    return judged, {"x": [Labelled(str(owner[i]), human[i], judge[i]) for i in chosen]}


def width(e):
    return e.high - e.low


def test_a_lenient_judge_is_corrected_and_the_interval_covers():
    rng = np.random.default_rng(1)
    hits = misled = 0
    for _ in range(200):
        found = corrected(*simulated(rng, bias=0.3, noise=0.1), mean_of)
        hits += found.estimate.low <= TRUTH <= found.estimate.high
        misled += found.judge.low <= TRUTH <= found.judge.high
    assert 0.90 <= hits / 200 <= 0.99
    assert misled / 200 < 0.1, "the judge's own interval is around the wrong number"


def test_a_good_judge_makes_the_interval_narrower_than_people_alone():
    rng = np.random.default_rng(2)
    found = [corrected(*simulated(rng, noise=0.1), mean_of) for _ in range(40)]
    ratio = np.mean([width(f.estimate) / width(f.people) for f in found])
    assert ratio < 0.75
    assert np.mean([f.trust["x"] for f in found]) > 0.8


def test_a_judge_that_guesses_is_not_trusted_and_does_no_harm():
    rng = np.random.default_rng(3)
    found = [corrected(*simulated(rng, noise=1.0), mean_of) for _ in range(40)]
    assert np.mean([f.trust["x"] for f in found]) < 0.15
    assert np.mean([width(f.estimate) / width(f.people) for f in found]) == pytest.approx(1, abs=0.06)


def test_with_full_trust_it_is_the_judge_plus_the_mean_mistake():
    judged = {"x": [Score(str(n), f) for n, f in enumerate([9.0, 9.0, 5.0, 9.0, 5.0, 9.0])]}
    labelled = {"x": [Labelled("0", 7.0, 9.0), Labelled("2", 3.0, 5.0)] * 5}
    found = corrected(judged, labelled, mean_of, ends=(1, 10))
    assert found.trust["x"] == 1.0
    assert found.estimate.value == pytest.approx(46 / 6 - 2)
    assert (found.estimate.n, found.estimate.clusters) == (10, 2)
    assert not found.estimate.trusted
    assert found.judge.value == pytest.approx(46 / 6)


@pytest.mark.parametrize(("labels", "right"), [(10, 0.9), (20, 0.9), (40, 0.97)])
def test_few_labels_make_wide_intervals_not_wrong_ones(labels, right):
    """Of 40 labels by a judge that errs on three in a hundred, most samples show a mistake or none."""
    rng = np.random.default_rng(labels)
    hits = 0
    for _ in range(100):
        found = corrected(*simulated(rng, users=60, labels=labels, noise=2 * (1 - right)), mean_of)
        hits += found.estimate.low <= TRUTH <= found.estimate.high
        assert 0 <= found.estimate.low <= found.estimate.value <= found.estimate.high <= 1
    assert hits >= 90


def test_a_judge_that_always_says_the_same_leaves_people_alone():
    judged = {"x": [Score(str(n), 1.0) for n in range(50)]}
    labelled = {"x": [Labelled(str(n), float(n % 2), 1.0) for n in range(20)]}
    found = corrected(judged, labelled, mean_of)
    assert found.trust["x"] == 0
    assert found.estimate.value == found.people.value == 0.5


def test_too_few_labels_correct_nothing_and_nothing_leaves_the_scale():
    judged = {"x": [Score(str(n), 1.0 if n % 2 else 0.9) for n in range(40)]}
    labelled = [Labelled(str(n), 1.0, 0.0 if n else 0.5) for n in range(LEAST)]
    assert corrected(judged, {"x": labelled[1:]}, mean_of) is None
    assert corrected(judged, {"x": labelled}, mean_of).estimate.high <= 1


def test_a_total_corrects_each_of_its_parts():
    rng = np.random.default_rng(4)
    parts = [simulated(rng, bias=0.3), simulated(rng, noise=0.2)]
    judged = {name: part[0]["x"] for name, part in zip("ab", parts, strict=True)}
    labelled = {name: part[1]["x"] for name, part in zip("ab", parts, strict=True)}
    alone = [corrected(*part, mean_of).estimate.value for part in parts]
    whole = corrected(judged, labelled, lambda mean: 100 * (3 * mean["a"] + mean["b"]) / 4)
    assert whole.estimate.value == pytest.approx(25 * (3 * alone[0] + alone[1]))
    few = corrected(judged, labelled | {"b": labelled["b"][:12]}, lambda mean: mean["a"] + mean["b"])
    assert not few.estimate.trusted, "twelve labels of a part are too few, however many there are of another"


def test_without_labels_of_every_part_nothing_is_corrected():
    judged, labelled = simulated(np.random.default_rng(5))
    assert corrected(judged, {}, mean_of) is None
    assert corrected(judged | {"y": judged["x"]}, labelled, lambda m: m["x"] + m["y"]) is None
