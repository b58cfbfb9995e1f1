"""Gaps between groups: real gaps are detected, and chance gaps are not."""

import numpy as np
import pytest

from bowstring.metrics.clusters import Score
from bowstring.metrics.fairness import FEWEST, largest_gap


def group(name: str, users: int, mean: float, rng: np.random.Generator) -> dict[str, list[Score]]:
    return {"x": [Score(f"{name}{u}", float(rng.random() < mean)) for u in range(users) for _ in range(8)]}


def percent(mean):
    return 100 * mean["x"]


def test_a_gap_that_is_there_is_found_between_its_groups():
    rng = np.random.default_rng(1)
    groups = {"old": group("o", 60, 0.3, rng), "young": group("y", 60, 0.6, rng), "middle": group("m", 60, 0.45, rng)}
    gap = largest_gap(groups, percent)
    assert (gap.best, gap.worst) == ("young", "old")
    assert gap.low <= gap.value <= gap.high
    assert gap.low <= 30 <= gap.high
    assert gap.p < 0.01
    assert gap.trusted
    assert gap.n == 180


def test_where_there_is_none_chance_explains_it_as_often_as_it_should():
    small = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        groups = {name: group(name, 30, 0.5, rng) for name in "abcd"}
        small += largest_gap(groups, percent).p < 0.05
    assert small <= 6, "about two of forty"


def test_a_handful_of_users_is_no_group_as_long_as_there_are_others():
    rng = np.random.default_rng(2)
    groups = {"a": group("a", 40, 0.5, rng), "b": group("b", 40, 0.5, rng), "odd": group("c", 1, 0.0, rng)}
    gap = largest_gap(groups, percent)
    assert "odd" not in (gap.best, gap.worst)
    few = largest_gap({"a": group("a", FEWEST - 1, 0.5, rng), "odd": group("c", 1, 0.0, rng)}, percent)
    assert few is not None
    assert not few.trusted


def test_one_group_has_no_gap():
    rng = np.random.default_rng(3)
    assert largest_gap({"a": group("a", 40, 0.5, rng)}, percent) is None
    assert largest_gap({"a": group("a", 40, 0.5, rng), "b": {"x": []}}, percent) is None


def test_a_statistic_of_several_means_is_compared_as_one():
    def total(mean):
        return mean["x"] + mean["y"]

    a = {"x": [Score("1", 1.0), Score("2", 1.0)], "y": [Score("1", 0.9), Score("2", 0.6)]}
    b = {"x": [Score("3", 0.0), Score("4", 0.0)], "y": [Score("3", 0.3), Score("4", 0.2)]}
    gap = largest_gap({"a": a, "b": b}, total)
    assert gap.value == pytest.approx(1.5)
    assert (gap.low, gap.high) == pytest.approx((1.3, 1.7))


def test_groups_of_one_user_say_next_to_nothing_of_their_like():
    gap = largest_gap({"a": {"x": [Score("1", 0.8)]}, "b": {"x": [Score("2", 0.3)]}}, percent)
    assert gap.value == pytest.approx(50.0)
    assert gap.low < -90
    assert gap.high > 90
