"""Agreement with intervals over users."""

import pytest

from bowstring.metrics.agreement import agreement_intervals


def test_raters_who_never_agreed_may_agree_on_a_user_not_seen():
    users = [str(n) for n in range(20)]
    found = agreement_intervals(["A"] * 20, ["B"] * 20, users)
    for name in ("accuracy", "macro_f1"):
        assert (found[name].value, found[name].low) == (0.0, 0.0)
        assert 0 < found[name].high < 0.3
    assert (found["accuracy"].n, found["accuracy"].clusters) == (20, 20)
    mixed = agreement_intervals(["A"] * 18 + ["B"] * 2, ["B"] * 18 + ["A"] * 2, users)["kappa"]
    assert mixed.low < mixed.value < 0 < mixed.high


def test_what_either_rater_left_open_is_left_out_with_its_user():
    found = agreement_intervals(["A", "B", None, "A"], ["A", "A", "B", None], ["1", "1", "2", "3"])
    assert found["accuracy"].value == pytest.approx(0.5)
    assert (found["accuracy"].n, found["accuracy"].clusters) == (2, 1)
