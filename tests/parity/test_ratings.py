"""`agree` matches the published libraries on the same labels."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix, f1_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as their_kappa

from bowstring.metrics.ratings import compare_raters
from bowstring.records import Rating

RATERS = ("ann", "bob", "judge")
VALUES = {"lose": 0.0, "tie": 0.5, "win": 1.0}
verdicts = st.sampled_from(sorted(VALUES))
numbers = st.sampled_from(["1", "2", "4", "9", "10"])


def rated(labels):
    """Items of any of three raters; somebody may have said nothing."""
    said = st.dictionaries(st.sampled_from(RATERS), labels, min_size=1)
    return st.lists(said, min_size=2, max_size=25)


def ratings_of(items):
    return [Rating(str(n), rater, label) for n, said in enumerate(items) for rater, label in said.items()]


def value_of(estimate):
    return None if estimate is None else estimate["value"]


@pytest.mark.parametrize(("labels", "number"), [(verdicts, VALUES.get), (numbers, float)], ids=["verdicts", "numbers"])
@given(data=st.data())
def test_alpha_of_raters_who_left_gaps(labels, number, data):
    items = data.draw(rated(labels))
    found = compare_raters(ratings_of(items))
    said = {label for item in items if len(item) > 1 for label in item.values()}
    table = np.array([[number(item[r]) if r in item else np.nan for item in items] for r in RATERS])
    for level, alpha in found["alpha"].items():
        if len(said) < 2:
            assert alpha is None
        else:
            expected = krippendorff.alpha(table, level_of_measurement=level)
            assert alpha["value"] == pytest.approx(expected, abs=1e-9), level
            assert alpha["low"] <= alpha["high"]


@given(st.lists(st.tuples(verdicts, verdicts, verdicts), min_size=2, max_size=25))
def test_fleiss_kappa_and_raw_agreement_of_all(rows):
    found = compare_raters(ratings_of([dict(zip(RATERS, row, strict=True)) for row in rows]))
    counts, _ = aggregate_raters(np.array([[sorted(VALUES).index(label) for label in row] for row in rows]))
    agreed = np.mean([(row @ row - 3) / 6 for row in counts])
    assert found["agreement"]["value"] == pytest.approx(agreed, abs=1e-12)
    if len({label for row in rows for label in row}) < 2:
        assert found["fleiss_kappa"] is None
    else:
        assert found["fleiss_kappa"]["value"] == pytest.approx(their_kappa(counts), abs=1e-9)
        assert (found["fleiss_kappa"]["items"], found["fleiss_kappa"]["ratings"]) == (len(rows), 3)


@given(rated(numbers))
def test_every_pair_and_the_reference(items):
    found = compare_raters(ratings_of(items), reference="ann")
    order, values = found["labels"], [int(label) for label in found["labels"]]
    shared = {
        (a, b): [(item[a], item[b]) for item in items if a in item and b in item]
        for n, a in enumerate(RATERS)
        for b in RATERS[n + 1 :]
    }
    pairs = {tuple(sorted(pair["raters"])): pair for pair in found["pairs"]}
    assert pairs.keys() == {pair for pair, rows in shared.items() if rows}
    for raters, pair in pairs.items():
        rows = shared[raters] if tuple(pair["raters"]) == raters else [(b, a) for a, b in shared[raters]]
        one, other = zip(*rows, strict=True)
        assert pair["n"] == len(rows)
        assert pair["agreement"]["value"] == pytest.approx(accuracy_score(one, other), abs=1e-12)
        if len(order) > 1:  # of one label they warn
            assert pair["confusion"] == confusion_matrix(one, other, labels=order).tolist()
        table = np.array([[int(label) for label in side] for side in (one, other)])
        if len({*one, *other}) < 2:
            assert pair["kappa"] is None
            continue
        assert pair["kappa"]["value"] == pytest.approx(cohen_kappa_score(one, other), abs=1e-12)
        for weights, kappa in pair.get("weighted_kappa", {}).items():
            every = list(range(min(values), max(values) + 1))  # theirs weighs by place: give every place its label
            expected = cohen_kappa_score(table[0], table[1], labels=every, weights=weights)
            assert kappa["value"] == pytest.approx(expected, abs=1e-12), weights
        for level, alpha in pair["alpha"].items():
            expected = krippendorff.alpha(table.astype(float), level_of_measurement=level)
            assert alpha["value"] == pytest.approx(expected, abs=1e-9), level
    for rater, against in found.get("reference", {"others": {}})["others"].items():
        one, other = zip(
            *((item["ann"], item[rater]) for item in items if "ann" in item and rater in item), strict=True
        )
        f1 = f1_score(one, other, labels=order, average="macro", zero_division=0)
        assert against["macro_f1"]["value"] == pytest.approx(f1, abs=1e-12)
        assert against["accuracy"]["value"] == pytest.approx(accuracy_score(one, other), abs=1e-12)
        assert against["n"] == len(one)
