"""When a finding of an audit is fine, when it is a problem, and when it is unclear."""

from itertools import pairwise

import pytest

from bowstring.benchmarks.findings import (
    assess_gain,
    at_least,
    at_most,
    length_finding,
    make_finding,
    near,
    paired_difference,
    rate_of,
    unclear_note,
    with_meaning,
)
from bowstring.benchmarks.interface import Noun
from bowstring.cli.audit_views import _number
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import Difference
from bowstring.metrics.intervals import Estimate


def number(value, low, high):
    return Estimate(value, low, high, 100, 50)


@pytest.mark.parametrize(
    ("rule", "values", "verdict"),
    [
        (at_most, (10, (5, 2, 9)), "fine"),
        (at_most, (10, (5, 2, 12)), "unclear"),
        (at_most, (10, (11, 2, 12)), "unclear"),
        (at_most, (10, (15, 11, 19)), "problem"),
        (at_least, (0.6, (0.8, 0.7, 0.9)), "fine"),
        (at_least, (0.6, (0.7, 0.5, 0.9)), "unclear"),
        (at_least, (0.6, (0.5, 0.3, 0.9)), "unclear"),
        (at_least, (0.6, (0.4, 0.3, 0.5)), "problem"),
    ],
)
def test_a_limit(rule, values, verdict):
    limit, found = values
    assert rule(limit, number(*found)).verdict == verdict


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ((1, -3, 4), "fine"),
        ((3, 1, 4.5), "fine"),  # not chance, and small
        ((3, -3, 9), "unclear"),
        ((9, -1, 19), "unclear"),  # large, and perhaps chance
        ((9, 1, 19), "problem"),
        ((-9, -12, -6), "problem"),
    ],
)
def test_about_a_middle_with_room(found, verdict):
    assert near(0, 5, number(*found)).verdict == verdict
    value, low, high = found
    assert near(50, 5, number(50 + value, 50 + low, 50 + high)).verdict == verdict


def test_what_is_unclear_says_so_and_what_is_not_there_is_looked_at():
    unclear = make_finding("c", "x", number(5, 2, 12), "near 0", lambda e: (at_most(10, e), "mostly not"))
    assert (unclear.verdict, unclear.meaning) == (
        "unclear",
        "mostly not The interval extends beyond the expected range.",
    )
    told = make_finding("c", "x", number(5, 2, 12), "", lambda e: "so much")
    assert (told.verdict, told.meaning) == ("info", "so much")
    nothing = make_finding("c", "x", None, "near 0", lambda e: "never", left_out=3)
    assert (nothing.verdict, nothing.value, nothing.left_out) == ("problem", None, 3)


def test_what_nobody_knows_is_not_said():
    """Neither the sentence of a fine number nor that of a problem."""

    def meaning(value, low, high, clusters=50):
        found = Estimate(value, low, high, 100, clusters)
        return make_finding(
            "c",
            "kappa",
            found,
            "0.6 or more",
            lambda e: with_meaning(at_least(0.6, e), "They agree.", "They do not.", whether="they agree"),
            cluster=Noun("diarist", "diarists"),
        ).meaning

    assert meaning(0.8, 0.7, 0.9) == "They agree."
    assert meaning(0.2, 0.1, 0.3) == "They do not."
    beyond = "The interval extends beyond the expected range."
    assert meaning(0.14, -0.37, 0.62) == f"Too few diarists to tell whether they agree. {beyond}"
    assert meaning(0.8, 0.7, 0.9, clusters=3) == "Only 3 diarists, too few to tell whether they agree."


def test_of_a_handful_nothing_is_told_for_certain():
    def judged(value, low, high, clusters, verdict):
        return make_finding("c", "x", Estimate(value, low, high, 100, clusters), "", lambda e: (verdict, "so")).verdict

    assert judged(50, 40, 60, 4, "problem") == judged(50, 40, 60, 4, "fine") == "unclear"
    assert judged(50, 40, 60, 5, "problem") == judged(50, 50, 50, 5, "problem") == "problem"
    assert judged(1, 1, 1, 20, "fine") == "unclear", "twenty who are all alike"
    assert judged(1, 1, 1, 30, "fine") == "fine"


def test_a_gain_is_shown_or_shown_to_be_small_or_neither():
    def gain(value, low, high):
        return assess_gain("nothing", 5, Difference(value, low, high, 0.1, 1, 100, 50))

    assert gain(9, 2, 15) == ("fine", "The model scores higher than nothing.")
    assert gain(1, -2, 4) == (("problem", 5), "The model is not shown to score higher than nothing.")
    assert gain(7, -1, 15)[0].verdict == "unclear"


def test_a_judge_that_is_never_fooled_is_not_worse_off_than_one_that_is_fooled_once():
    """Fooled in none of 200 cases, in one, in two …: the more, the worse the verdict."""

    def verdict(fooled):
        scores = [Score(str(n % 50), float(n < fooled)) for n in range(200)]
        return make_finding("c", "x", rate_of(scores), "10 or less", lambda e: (at_most(10, e), "so"))

    found = [verdict(fooled) for fooled in (0, 1, 2, 5, 20, 60)]
    assert [one.verdict for one in found] == ["fine", "fine", "fine", "fine", "unclear", "problem"]
    assert all(one.high < other.high for one, other in pairwise(found))


def test_the_users_that_are_needed_are_told_once_and_do_not_depend_on_the_value():
    def finding(value, limit=10):
        return make_finding(
            "c", "x", Estimate(value, value - 8, value + 8, 100, 20), "", lambda e: (at_most(limit, e), "so")
        )

    near_limit, far = finding(9), finding(4)
    assert (near_limit.verdict, far.verdict) == ("unclear", "unclear")
    assert near_limit.needed == far.needed == 52, "20 users give an interval of 16, the margin is 10"
    wide = finding(4, 5)
    assert wide.needed == 205
    assert finding(0).needed is None, "its verdict is fine"
    note = unclear_note([one.as_json() for one in (near_limit, far, wide, finding(-8))], Noun("user", "users"))
    assert note == (
        "3 of 4 findings are unclear: 20 users give intervals wider than the margins. "
        "Users needed: about 52 for half of them, 210 for all."
    )
    assert unclear_note([finding(-8).as_json()], Noun("user", "users")) == ""


def test_where_nothing_changes_so_many_users_leave_room_for_a_change():
    found = paired_difference([(str(n), 0.5, 0.5) for n in range(20)])
    assert (found.value, found.low) == (0, -found.high)
    assert 10 < found.high < 20
    one = paired_difference([*((str(n), 0.5, 0.5) for n in range(19)), ("19", 0.0, 1.0)])
    assert one.value == pytest.approx(5)
    assert one.low < 0, "one user of twenty shows no direction"
    assert one.high - one.low > found.high - found.low, "and more has become possible, not less"


def test_a_rate_of_none_or_all_leaves_room():
    none = rate_of([Score(str(n), 0.0) for n in range(6)])
    assert (none.value, none.low) == (0, 0)
    assert 45 < none.high < 60, "six answers say little"
    every = rate_of([Score(str(n), 1.0) for n in range(6)])
    assert (every.low, every.high) == (pytest.approx(100 - none.high), 100)


def test_lengths_that_show_no_variation_have_no_interval():
    def lengths(*words, users=30):
        scores = [Score(str(n % users), float(words[n % len(words)])) for n in range(60)]
        return length_finding("length", "words per answer", scores, "The mean.")

    varied, equal, alone = lengths(10, 12, 14), lengths(12), lengths(10, 14, users=1)
    assert varied.low < varied.value < varied.high
    for one, why in ((equal, "all lengths are equal"), (alone, "all are of one user")):
        assert (one.value, one.low, one.high, one.verdict) == (12, None, None, "info")
        assert one.meaning == f"The mean. There is no interval, because {why}."
        assert _number(one.as_json()) == "12.0 (n 60)"
    assert _number(varied.as_json()) == "12.0 [11.4, 12.6] (n 60)"
    assert length_finding("length", "words per answer", [], "The mean.").value is None
