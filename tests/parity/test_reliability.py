"""Alpha and kappa match the published libraries wherever those give a number."""

import math

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as their_kappa

from bowstring.metrics.reliability import fleiss_kappa, krippendorff_alpha

labels = st.integers(1, 4)
RATERS = ("ann", "bob", "cy")
items = st.lists(st.dictionaries(st.sampled_from(RATERS), labels, min_size=1), min_size=2, max_size=25)
whole = st.lists(st.tuples(labels, labels, labels), min_size=2, max_size=25)


def table(rated):
    return np.array([[item.get(rater, np.nan) for item in rated] for rater in RATERS])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(items)
def test_alpha_is_that_of_krippendorff(level, rated):
    found = krippendorff_alpha(rated, level)
    shared = [item for item in rated if len(item) > 1]
    said = {label for item in shared for label in item.values()}
    if len(said) < 2:
        assert found is None
        return
    expected = krippendorff.alpha(table(rated), level_of_measurement=level)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.n == sum(map(len, shared))


@given(whole)
def test_kappa_is_that_of_statsmodels(rated):
    found = fleiss_kappa([dict(zip(RATERS, row, strict=True)) for row in rated])
    if len({label for row in rated for label in row}) < 2:
        assert found is None
        return
    expected = their_kappa(aggregate_raters(np.array(rated))[0])
    assert math.isclose(found.value, expected, abs_tol=1e-9)


def test_alpha_of_a_published_example():
    """Krippendorff's own example of four coders, twelve units and missing values (2011): 0.743, 0.815, 0.849."""
    coders = [
        "1 2 3 3 2 1 4 1 2 * * *",
        "1 2 3 3 2 2 4 1 2 5 * 3",
        "* 3 3 3 2 3 4 2 2 5 1 *",
        "1 2 3 3 2 4 4 1 2 5 1 *",
    ]
    rows = [coder.split() for coder in coders]
    rated = [{str(n): int(row[unit]) for n, row in enumerate(rows) if row[unit] != "*"} for unit in range(12)]
    values = [krippendorff_alpha(rated, level).value for level in ("nominal", "ordinal", "interval")]
    assert values == pytest.approx([0.743, 0.815, 0.849], abs=5e-4)
