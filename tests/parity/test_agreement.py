"""Agreement matches scikit-learn wherever that gives a number."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    cohen_kappa_score,
    confusion_matrix,
    f1_score,
    precision_recall_fscore_support,
)

from bowstring.metrics.agreement import (
    Agreement,
    agreement,
    cohen_kappa,
    count_pairs,
    distances,
    label_scores,
)

verdicts = st.sampled_from(["A", "B", "tie"])
pairs = st.lists(st.tuples(verdicts, verdicts), min_size=1, max_size=40)


def sides(rated):
    return [a for a, _ in rated], [b for _, b in rated]


@given(pairs)
@example([("A", "B")])
@example([("A", "tie"), ("B", "tie")])
def test_equal_on_any_labels(rated):
    reference, predicted = sides(rated)
    found = agreement(reference, predicted)
    assert (found.n, found.missing) == (len(rated), 0)
    assert found.accuracy == pytest.approx(accuracy_score(reference, predicted), abs=1e-12)
    f1 = f1_score(reference, predicted, average="macro", zero_division=0)
    assert found.macro_f1 == pytest.approx(f1, abs=1e-12)
    if len({*reference, *predicted}) > 1:
        assert found.kappa == pytest.approx(cohen_kappa_score(reference, predicted), abs=1e-12)


@given(st.lists(st.tuples(verdicts | st.none(), verdicts | st.none()), max_size=40))
def test_items_that_either_rater_left_open_are_counted_and_left_out(rated):
    both = [pair for pair in rated if None not in pair]
    found, expected = agreement(*sides(rated)), agreement(*sides(both))
    assert found.missing == len(rated) - len(both)
    assert (found.n, found.accuracy, found.macro_f1, found.kappa) == (
        len(both),
        expected.accuracy,
        expected.macro_f1,
        expected.kappa,
    )


@given(pairs)
def test_it_makes_no_difference_who_is_the_reference(rated):
    one, other = (asdict(agreement(*raters)) for raters in (sides(rated), reversed(sides(rated))))
    assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("n", [1, 7])
def test_one_label_throughout_leaves_kappa_open(n):
    """Where scikit-learn gives NaN, which no JSON file holds."""
    assert agreement(["A"] * n, ["A"] * n) == Agreement(n, 0, 1.0, 1.0, None)


def test_a_label_each_and_never_the_same_is_no_better_than_chance():
    assert agreement(["A", "A"], ["B", "B"]) == Agreement(2, 0, 0.0, 0.0, 0.0)


def test_nothing_to_compare_has_no_numbers():
    assert agreement([], []) == Agreement(0, 0, None, None, None)
    assert agreement(["A", None], [None, "B"]) == Agreement(0, 2, None, None, None)


def test_labels_may_be_anything_that_can_be_told_apart():
    assert agreement([True, (1, 2), 0.5], [True, (1, 2), 1.5]).accuracy == pytest.approx(2 / 3)


def test_raters_of_different_items_are_not_compared():
    with pytest.raises(ValueError, match="longer"):
        agreement(["A"], ["A", "B"])


scores = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=40)


@pytest.mark.parametrize(("weights", "power"), [("linear", 1), ("quadratic", 2)])
@given(scores)
@example([(1, 5)])
@example([(1, 1), (1, 2)])
def test_weighted_kappa_is_equal_on_any_scores(weights, power, rated):
    reference, predicted = sides(rated)
    scale = list(range(1, 6))
    found = float(cohen_kappa(count_pairs(reference, predicted, scale), distances(scale, power)))
    if len({*reference, *predicted}) > 1:
        expected = cohen_kappa_score(reference, predicted, labels=scale, weights=weights)
        assert found == pytest.approx(expected, abs=1e-12)
    else:
        assert np.isnan(found)


@given(pairs)
def test_the_table_and_the_scores_of_each_label_are_equal(rated):
    reference, predicted = sides(rated)
    order = ["tie", "A", "B"]
    counts = count_pairs(reference, predicted, order)
    assert counts.tolist() == confusion_matrix(reference, predicted, labels=order).tolist()
    expected = precision_recall_fscore_support(reference, predicted, labels=order, zero_division=np.nan)
    for found, precision, recall, f1, n in zip(label_scores(counts), *expected, strict=True):
        assert found.n == n
        assert (found.precision is None) == np.isnan(precision)
        assert (found.recall is None) == np.isnan(recall)
        assert found.precision is None or found.precision == pytest.approx(precision, abs=1e-12)
        assert found.recall is None or found.recall == pytest.approx(recall, abs=1e-12)
        assert found.f1 == pytest.approx(0.0 if np.isnan(f1) else f1, abs=1e-12)
