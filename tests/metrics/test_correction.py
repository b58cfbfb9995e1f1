"""Correction for judge errors: simulated good and bad judges, with human labels on some items."""

import numpy as np
import pytest

from bowstring.metrics.correction import LEAST, JudgedItem, corrected, corrected_difference

TRUTH = 0.4


def mean_of(means):
    return means["x"]


def simulated(rng, *, users=120, each=5, labels=150, bias=0.0, noise=0.0, unread=0.0):
    """Simulated judge scores of all items and people's labels of some, with differences between users."""
    owner = np.repeat(np.arange(users), each)
    chance = np.clip(rng.normal(TRUTH, 0.15, size=users), 0, 1)[owner]
    human = (rng.random(len(owner)) < chance).astype(float)
    # A judge that lets some bad answers pass, and errs at random besides.
    judge = np.where((human == 0) & (rng.random(len(owner)) < bias), 1.0, human)
    judge = np.where(rng.random(len(owner)) < noise, (rng.random(len(owner)) < 0.5).astype(float), judge)
    chosen = rng.choice(len(owner), size=labels, replace=False)
    unread = rng.random(len(owner)) < np.where(human == 0, unread, 0)
    labelled = np.isin(np.arange(len(owner)), chosen)
    rows = zip(owner, judge, human, unread, labelled, strict=True)
    return {"x": [JudgedItem(str(u), None if lost else f, y if known else None) for u, f, y, lost, known in rows]}


def width(e):
    return e.high - e.low


def test_a_lenient_judge_is_corrected_and_the_interval_covers():
    rng = np.random.default_rng(1)
    hits = misled = 0
    for _ in range(200):
        found = corrected(simulated(rng, bias=0.3, noise=0.1), mean_of)
        hits += found.estimate.low <= TRUTH <= found.estimate.high
        misled += found.judge.low <= TRUTH <= found.judge.high
    assert 0.90 <= hits / 200 <= 0.99
    assert misled / 200 < 0.1, "the judge's own interval is around the wrong number"


def test_a_good_judge_makes_the_interval_narrower_than_people_alone():
    rng = np.random.default_rng(2)
    found = [corrected(simulated(rng, noise=0.1), mean_of) for _ in range(40)]
    ratio = np.mean([width(f.estimate) / width(f.people) for f in found])
    assert ratio < 0.75
    assert np.mean([f.trust["x"] for f in found]) > 0.8


def test_a_judge_that_guesses_is_not_trusted_and_does_no_harm():
    rng = np.random.default_rng(3)
    found = [corrected(simulated(rng, noise=1.0), mean_of) for _ in range(40)]
    assert np.mean([f.trust["x"] for f in found]) < 0.15
    assert np.mean([width(f.estimate) / width(f.people) for f in found]) == pytest.approx(1, abs=0.06)


def test_with_full_trust_it_is_the_judge_plus_the_mean_mistake():
    labelled = [JudgedItem("0", 9.0, 7.0), JudgedItem("2", 5.0, 3.0)] * 5
    items = [JudgedItem(str(n), f) for n, f in enumerate([9.0, 9.0, 5.0, 9.0, 5.0, 9.0])] + labelled
    found = corrected({"x": items}, mean_of, ends=(1, 10))
    judged = (46 + 70) / 16
    assert found.trust["x"] == 1.0
    assert found.estimate.value == pytest.approx(judged - 2)
    assert (found.estimate.n, found.estimate.clusters) == (10, 2)
    assert not found.estimate.trusted
    assert found.judge.value == pytest.approx(judged)


@pytest.mark.parametrize(("labels", "right"), [(10, 0.9), (20, 0.9), (40, 0.97)])
def test_few_labels_make_wide_intervals_not_wrong_ones(labels, right):
    """Of 40 labels by a judge that errs on three in a hundred, most samples show a mistake or none."""
    rng = np.random.default_rng(labels)
    hits = 0
    for _ in range(100):
        found = corrected(simulated(rng, users=60, labels=labels, noise=2 * (1 - right)), mean_of)
        hits += found.estimate.low <= TRUTH <= found.estimate.high
        assert 0 <= found.estimate.low <= found.estimate.value <= found.estimate.high <= 1
    assert hits >= 90


def test_a_judge_that_always_says_the_same_leaves_people_alone():
    items = [JudgedItem(str(n), 1.0, float(n % 2) if n < 20 else None) for n in range(50)]
    found = corrected({"x": items}, mean_of)
    assert found.trust["x"] == 0
    assert found.estimate.value == found.people.value == 0.5


def test_too_few_labels_correct_nothing_and_nothing_leaves_the_scale():
    unlabelled = [JudgedItem(str(n), 1.0 if n % 2 else 0.9) for n in range(40)]
    labelled = [JudgedItem(str(n), 0.0 if n else 0.5, 1.0) for n in range(LEAST)]
    assert corrected({"x": [*unlabelled, *labelled[1:]]}, mean_of) is None
    assert corrected({"x": [*unlabelled, *labelled]}, mean_of).estimate.high <= 1


def without_label(items, most):
    """The same items, with the first `most` labels only."""
    at = [n for n, item in enumerate(items) if item.human is not None][most:]
    return [item._replace(human=None) if n in at else item for n, item in enumerate(items)]


def test_a_total_corrects_each_of_its_parts():
    rng = np.random.default_rng(4)
    parts = [simulated(rng, bias=0.3), simulated(rng, noise=0.2)]
    items = {name: part["x"] for name, part in zip("ab", parts, strict=True)}
    alone = [corrected(part, mean_of).estimate.value for part in parts]
    whole = corrected(items, lambda mean: 100 * (3 * mean["a"] + mean["b"]) / 4)
    assert whole.estimate.value == pytest.approx(25 * (3 * alone[0] + alone[1]))
    few = corrected(items | {"b": without_label(items["b"], 12)}, lambda mean: mean["a"] + mean["b"])
    assert not few.estimate.trusted, "twelve labels of a part are too few, however many there are of another"


def test_without_labels_of_every_part_nothing_is_corrected():
    items = simulated(np.random.default_rng(5))["x"]
    assert corrected({"x": without_label(items, 0)}, mean_of) is None
    assert corrected({"x": items, "y": without_label(items, 0)}, lambda m: m["x"] + m["y"]) is None
    assert corrected({"x": [item._replace(judge=None) for item in items]}, mean_of) is None, "there is no judge"


def test_items_without_a_verdict_stay_in():
    """A judge that leaves six in ten bad answers unread: without these items, the rest look too good."""
    rng = np.random.default_rng(6)
    hits = misled = 0
    for _ in range(200):
        items = simulated(rng, bias=0.2, unread=0.6)["x"]
        found = corrected({"x": items}, mean_of)
        read = corrected({"x": [item for item in items if item.judge is not None]}, mean_of)
        hits += found.estimate.low <= TRUTH <= found.estimate.high
        misled += read.estimate.low <= TRUTH <= read.estimate.high
    assert hits / 200 >= 0.93
    assert misled / 200 < 0.1
    assert found.unread == sum(item.judge is None for item in items) > 100


@pytest.mark.parametrize("unread", [0.0, 1.0])
def test_items_without_a_verdict_are_predicted_by_one_constant(unread):
    """All unread answers are bad, or all are good. They are twice as frequent among all items as among the labelled
    ones; the estimate allows for that, as a stratified sample does."""
    read = 1 - unread
    labelled = [JudgedItem(str(n), read, read) for n in range(80)]
    labelled += [JudgedItem(str(n), None, unread) for n in range(20)]
    rest = [JudgedItem(str(n), read) for n in range(480)] + [JudgedItem(str(n), None) for n in range(420)]
    found = corrected({"x": [*labelled, *rest]}, mean_of)
    assert found.people.value == pytest.approx(0.8 * read + 0.2 * unread)
    assert found.estimate.value == pytest.approx(0.56 * read + 0.44 * unread, abs=0.03), "56% have a verdict"


def test_with_a_label_for_every_item_it_is_the_human_score():
    items = simulated(np.random.default_rng(7), labels=600, bias=0.4, unread=0.2)
    found = corrected(items, mean_of)
    assert found.estimate.value == pytest.approx(found.people.value)
    assert width(found.estimate) == pytest.approx(width(found.people), rel=0.1)


def two_runs(rng, *, favour, gain=0.0, users=60, each=8, share=0.3):
    """Two runs on the same items, and a judge that passes more bad answers of the second."""
    size = (users, each)
    chance = np.clip(rng.normal(TRUTH, 0.15, size=users), 0, 1)[:, None]
    before = (rng.random(size) < chance).astype(float)
    after = np.where((before == 0) & (rng.random(size) < gain), 1.0, before)

    def of(human, lenient):
        judge = np.where((human == 0) & (rng.random(size) < lenient), 1.0, human)
        known = rng.random(size) < share
        return {
            "x": [
                JudgedItem(str(u), judge[u, k], human[u, k] if known[u, k] else None)
                for u in range(users)
                for k in range(each)
            ]
        }

    return of(before, 0.1), of(after, 0.1 + favour)


def test_a_judge_that_favours_a_run_is_corrected():
    rng = np.random.default_rng(8)
    found = [corrected_difference(*two_runs(rng, favour=0.3), mean_of) for _ in range(200)]
    assert sum(d.low <= 0 <= d.high for d in found) >= 184
    assert sum(d.p < 0.05 for d in found) <= 16
    assert np.mean([d.value for d in found]) == pytest.approx(0, abs=0.01)


def test_a_true_difference_is_found_with_the_right_sign():
    rng = np.random.default_rng(9)
    found = [corrected_difference(*two_runs(rng, favour=-0.1, gain=0.25), mean_of) for _ in range(60)]
    truth = 0.25 * (1 - TRUTH)
    assert sum(d.low <= truth <= d.high for d in found) >= 54
    assert sum(d.p < 0.05 and d.value > 0 for d in found) > 45


def test_a_run_has_no_difference_from_itself_and_a_difference_has_a_direction():
    items, better = two_runs(np.random.default_rng(10), favour=0.0, gain=0.5)
    same = corrected_difference(items, items, mean_of)
    assert (same.value, same.p) == (0, 1)
    assert same.low < 0 < same.high
    found, back = corrected_difference(items, better, mean_of), corrected_difference(better, items, mean_of)
    assert found.value == pytest.approx(-back.value)
    assert found.p == pytest.approx(back.p)
    values = [corrected(side, mean_of).estimate.value for side in (items, better)]
    assert found.value == pytest.approx(values[1] - values[0])


def test_a_difference_needs_labels_on_both_sides():
    items, other = two_runs(np.random.default_rng(11), favour=0.0)
    few = {"x": without_label(other["x"], LEAST - 1)}
    assert corrected_difference(items, few, mean_of) is None
    assert corrected_difference(few, items, mean_of) is None
    enough = {"x": without_label(other["x"], LEAST)}
    assert corrected_difference(items, enough, mean_of).n == LEAST
    assert not corrected_difference(items, enough, mean_of).trusted
