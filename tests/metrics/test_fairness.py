"""Gaps between groups: real gaps are detected, and chance gaps are not."""

import numpy as np
import pytest

from bowstring.metrics.clusters import Score
from bowstring.metrics.fairness import FEWEST, correct_gaps, largest_gap


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


def test_where_there_is_none_nothing_is_established():
    """Five axes of four groups each, without any difference: chance finds something in at most one run of twenty."""
    some, outside = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        users = [(rng.integers(4, size=5), float(rng.beta(4, 4))) for _ in range(120)]
        scores = [[Score(str(u), float(rng.random() < p)) for _ in range(8)] for u, (_, p) in enumerate(users)]
        gaps = {}
        for axis in range(5):
            groups = {str(g): {"x": []} for g in range(4)}
            for (mine, _), own in zip(users, scores, strict=True):
                groups[str(mine[axis])]["x"] += own
            gaps[axis] = largest_gap(groups, percent)
        corrected = correct_gaps(gaps)
        some += any(gap.established for gap in corrected.values())
        outside += sum(gap.low > 0 for gap in corrected.values())
    assert some <= 7, "about three of sixty"
    assert outside <= 30, "about fifteen of three hundred"


def test_what_chance_gives_is_stated():
    rng = np.random.default_rng(4)
    gap = largest_gap({name: group(name, 30, 0.5, rng) for name in "abcd"}, percent)
    wide = largest_gap({name: group(name, 8, 0.5, rng) for name in "abcd"}, percent)
    assert 5 < gap.chance < 20 < wide.chance < 45


def test_fewer_than_five_users_are_no_group():
    rng = np.random.default_rng(2)
    groups = {"a": group("a", 40, 0.5, rng), "b": group("b", 40, 0.5, rng), "odd": group("c", FEWEST - 1, 0.0, rng)}
    gap = largest_gap(groups, percent)
    assert "odd" not in (gap.best, gap.worst)
    assert largest_gap({"a": groups["a"], "odd": groups["odd"]}, percent) is None


def test_one_group_has_no_gap():
    rng = np.random.default_rng(3)
    assert largest_gap({"a": group("a", 40, 0.5, rng)}, percent) is None
    assert largest_gap({"a": group("a", 40, 0.5, rng), "b": {"x": []}}, percent) is None


def test_a_statistic_of_several_means_is_compared_as_one():
    def total(mean):
        return mean["x"] + mean["y"]

    a, b = ({name: [Score(f"{value}{u}", value + u / 100) for u in range(6)] for name in "xy"} for value in (0.7, 0.2))
    gap = largest_gap({"a": a, "b": b}, total)
    assert gap.value == pytest.approx(1.0)
    assert gap.low < 1.0 < gap.high
