"""How often do 95% intervals contain the true value, and how often do tests find a difference that is not there?

    python bench/coverage.py                            4,000 samples of each cell: ten minutes on 16 cores
    python bench/coverage.py --samples 200 --only score a quick look
    python bench/coverage.py --out docs/coverage.csv    all cells, one row each

Cells: five means, five numbers of users, two numbers of items per user, three correlations of items of one user, with
and without personas that ten users share. In every cell: a score, HiCUPID's total, F1 over pooled items, a rating from
1 to 10, and paired differences of two runs of equal quality and of two that are five points apart; scores and
differences also with uneven users, of whom every fifth has five times as many items. The intervals are the product's
own; beside them are a t interval over the users' means and one that takes items for independent.

Tests: ten runs of equal quality compared in pairs (Holm's correction), single pairs, and the power beside a paired
t-test over users' means.
"""

import argparse
import csv
import itertools
import math
import multiprocessing
import os
import sys
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bowstring.metrics.comparing import difference_of, holm
from bowstring.metrics.distributions import student_t_p_value, student_t_quantile
from bowstring.metrics.intervals import interval_of
from bowstring.metrics.linear import Column, linearize

MEANS = (0.02, 0.10, 0.50, 0.90, 0.98)
USERS = (6, 12, 30, 100, 250)
ITEMS = (10, 40)
CORRELATIONS = (0.0, 0.1, 0.3)
SHARED = (False, True)  # whether ten users share each persona
PERSONA_EFFECT = 1.0  # standard deviation, in log odds
APART = 0.05
UNEVEN = ", uneven users"
ENOUGH, MORE = 93.0, 98.0
KINDS = ("persona", "profile", "schedule")
WEIGHTS = {"persona": 25, "profile": 5, "schedule": 5}


class Cell(NamedTuple):
    statistic: str
    mean: float
    users: int
    items: int
    correlation: float
    shared: bool


class Interval(NamedTuple):
    low: float
    high: float

    def contains(self, truth: float) -> bool:
        return self.low - 1e-9 <= truth <= self.high + 1e-9


# Populations


class Chances:
    """How likely an item is right: users differ (beta), and so do personas (log odds) where they are shared."""

    def __init__(self, mean: float, correlation: float, *, shared: bool) -> None:
        self.mean, self.correlation, self.shared = mean, correlation, shared
        self._sorted: np.ndarray | None = None
        self.shift = self._shift() if shared else 0.0

    def of_users(self, rng: np.random.Generator, users: int) -> np.ndarray:
        if not self.correlation:
            return np.full(users, self.mean)
        rest = 1 / self.correlation - 1
        return rng.beta(self.mean * rest, (1 - self.mean) * rest, size=users)

    def at(self, place: np.ndarray) -> np.ndarray:
        """The chances of users at these places, from 0 (the hardest user) to 1."""
        if self._sorted is None:
            self._sorted = np.sort(self.of_users(np.random.default_rng(2), 100_000))
        return self._sorted[(place * len(self._sorted)).astype(int)]

    def with_personas(self, chances: np.ndarray, effects: np.ndarray) -> np.ndarray:
        if not self.shared:
            return chances
        inner = np.clip(chances, 1e-9, 1 - 1e-9)
        return 1 / (1 + np.exp(-(np.log(inner / (1 - inner)) + self.shift + PERSONA_EFFECT * effects)))

    def _shift(self) -> float:
        """The shift of log odds that keeps the mean."""
        rng = np.random.default_rng(1)
        users, effects = self.of_users(rng, 20_000), rng.normal(size=20_000)
        low, high = -5.0, 5.0
        for _ in range(25):
            self.shift = (low + high) / 2
            low, high = (
                (self.shift, high) if self.with_personas(users, effects).mean() < self.mean else (low, self.shift)
            )
        return self.shift


class Sample:
    """Users, their items, and the personas of the items."""

    def __init__(self, rng: np.random.Generator, cell: Cell) -> None:
        sizes = np.full(cell.users, cell.items)
        if cell.statistic.endswith(UNEVEN):
            sizes[::5] *= 5
        self.rng, self.n, self.users = rng, int(sizes.sum()), cell.users
        self.cluster = np.repeat(np.arange(cell.users), sizes)
        self.group = np.full(self.n, -1)
        if cell.shared:  # ten users to a persona, no persona twice at a user
            self.group = self.cluster // 10 * int(sizes.max()) + np.concatenate([np.arange(size) for size in sizes])
        self.effects = rng.normal(size=int(self.group.max()) + 1)[self.group] if cell.shared else np.zeros(self.n)

    def chances(self, of: Chances, by_user: np.ndarray | None = None) -> np.ndarray:
        users = of.of_users(self.rng, self.users) if by_user is None else by_user
        return of.with_personas(users[self.cluster], self.effects)

    def right(self, of: Chances, by_user: np.ndarray | None = None) -> np.ndarray:
        return (self.rng.random(self.n) < self.chances(of, by_user)).astype(float)

    def column(self, values: np.ndarray, there: np.ndarray | None = None) -> Column:
        keep = slice(None) if there is None else there
        return Column(values[keep], self.cluster[keep], self.group[keep], np.arange(self.n)[keep])


def percent(means):
    return 100 * means["x"]


def f1(means):
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(200 * means["p"] * means["r"] / (means["p"] + means["r"]))


def total(means):
    return 100 * sum(weight * means[kind] for kind, weight in WEIGHTS.items()) / 40


# Statistics: each returns the true value, the product's interval, and the contributions of users for plain methods


def score(cell: Cell) -> Callable[[Sample], tuple]:
    of = Chances(cell.mean, cell.correlation, shared=cell.shared)

    def draw(sample: Sample):
        right = sample.right(of)
        found = linearize({"x": sample.column(right)}, percent, (0.0, 1.0), cell.users)
        return 100 * cell.mean, found, 100 * right

    return draw


def rating(cell: Cell) -> Callable[[Sample], tuple]:
    # Nine points that are given one by one: the correlation of ratings is far above that of the points.
    of = Chances(cell.mean, cell.correlation / (9 - 8 * cell.correlation), shared=cell.shared)

    def draw(sample: Sample):
        given = 1.0 + sample.rng.binomial(9, sample.chances(of))
        found = linearize({"x": sample.column(given)}, lambda m: m["x"], (1.0, 10.0), cell.users)
        return 1 + 9 * cell.mean, found, given

    return draw


def of_total(cell: Cell) -> Callable[[Sample], tuple]:
    # The mean of two draws, for win, tie and lose: the correlation of scores is above that of the draws.
    of = Chances(cell.mean, cell.correlation / (2 - cell.correlation), shared=cell.shared)
    kinds = np.asarray([0] * 25 + [1] * 5 + [2] * 10) if cell.items == 40 else np.asarray([0] * 6 + [1] * 2 + [2] * 2)

    def draw(sample: Sample):
        kind = np.tile(kinds, cell.users)
        chances = sample.chances(of)
        first, second = (sample.rng.random(sample.n) < chances for _ in range(2))
        value = np.where(kind == 2, first, (first.astype(float) + second) / 2)  # win, tie or lose; yes or no
        columns = {name: sample.column(value, kind == n) for n, name in enumerate(KINDS)}
        found = linearize(columns, total, (0.0, 1.0), cell.users)
        return 87.5 * cell.mean, found, None

    return draw


def of_f1(cell: Cell) -> Callable[[Sample], tuple]:
    of = Chances(cell.mean, cell.correlation, shared=cell.shared)

    def draw(sample: Sample):
        by_user = of.of_users(sample.rng, cell.users)
        columns = {name: sample.column(sample.right(of, by_user)) for name in ("p", "r")}
        found = linearize(columns, f1, (0.0, 1.0), cell.users)
        return 100 * cell.mean, found, None

    return draw


def paired(apart: float, cell: Cell) -> Callable[[Sample], tuple]:
    """Two runs: half of the users are as hard for one as for the other, half have a place of their own in each."""
    other = cell.mean + (apart if cell.mean < 0.5 else -apart)
    one, two = (Chances(mean, cell.correlation, shared=cell.shared) for mean in (cell.mean, other))

    def draw(sample: Sample):
        place = sample.rng.random(cell.users)
        own = np.where(sample.rng.random(cell.users) < 0.5, place, sample.rng.random(cell.users))
        a, b = sample.right(one, one.at(place)), sample.right(two, two.at(own))
        sides = [linearize({"x": sample.column(x)}, percent, (0.0, 1.0), cell.users) for x in (a, b)]
        return 100 * (other - cell.mean), difference_of(*sides, sample.n), 100 * (b - a)

    return draw


STATISTICS: dict[str, Callable[[Cell], Callable[[Sample], tuple]]] = {
    "score": score,
    "total": of_total,
    "F1": of_f1,
    "rating 1-10": rating,
    "difference of equals": lambda cell: paired(0.0, cell),
    "difference of 5 points": lambda cell: paired(APART, cell),
    f"score{UNEVEN}": score,
    f"difference of equals{UNEVEN}": lambda cell: paired(0.0, cell),
}


def over_users(values: np.ndarray, cell: Cell) -> Interval:
    """The t interval over the users' means."""
    means = values.reshape(cell.users, cell.items).mean(axis=1)
    reach = student_t_quantile(0.975, cell.users - 1) * means.std(ddof=1) / math.sqrt(cell.users)
    return Interval(means.mean() - reach, means.mean() + reach)


def independent(values: np.ndarray) -> Interval:
    reach = 1.96 * values.std(ddof=1) / math.sqrt(len(values))
    return Interval(values.mean() - reach, values.mean() + reach)


def coverage(task: tuple[Cell, int]) -> dict[str, object]:
    cell, samples = task
    rng = np.random.default_rng(zlib.crc32(repr(cell).encode()))
    draw = STATISTICS[cell.statistic](cell)
    hits: dict[str, list[int]] = {"ours": [0, 0, 0], "over users": [0, 0, 0], "independent": [0, 0, 0]}
    widths = dict.fromkeys(hits, 0.0)
    for _ in range(samples):
        truth, found, values = draw(Sample(rng, cell))
        is_difference = cell.statistic.startswith("difference")
        ours = Interval(found.low, found.high) if is_difference else Interval(*interval_of(found))
        plain = (
            {}
            if values is None or cell.statistic.endswith(UNEVEN)
            else {"over users": over_users(values, cell), "independent": independent(values)}
        )
        for name, interval in {"ours": ours, **plain}.items():
            hits[name][0] += interval.contains(truth)
            hits[name][1] += truth < interval.low - 1e-9
            hits[name][2] += truth > interval.high + 1e-9
            widths[name] += interval.high - interval.low
    covered = {name: 100 * own[0] / samples for name, own in hits.items() if sum(own)}
    enough = [name for name in covered if name != "ours" and covered[name] >= ENOUGH]
    narrowest = min((widths[name], name) for name in (*enough, "ours"))
    return {
        **cell._asdict(),
        "samples": samples,
        "coverage": round(covered["ours"], 2),
        "error": round(100 * math.sqrt(covered["ours"] / 100 * (1 - covered["ours"] / 100) / samples), 2),
        "truth below": round(100 * hits["ours"][1] / samples, 2),
        "truth above": round(100 * hits["ours"][2] / samples, 2),
        "width": round(widths["ours"] / samples, 3),
        "over users": round(covered["over users"], 2) if "over users" in covered else "",
        "width over users": round(widths["over users"] / samples, 3) if "over users" in covered else "",
        "independent": round(covered["independent"], 2) if "independent" in covered else "",
        "narrowest that covers": narrowest[1],
        "its width": round(narrowest[0] / samples, 3),
    }


# Tests


class Trial(NamedTuple):
    mean: float
    users: int
    correlation: float


def family(task: tuple[Trial, int]) -> dict[str, object]:
    """Ten runs of equal quality, with users that are hard for all of them: how often is a pair significant after Holm's
    correction? And single pairs: how often is p below 0.05? And two runs ten points apart: how often is it found?"""
    trial, samples = task
    cell = Cell("", trial.mean, trial.users, 10, trial.correlation, shared=False)
    rng = np.random.default_rng(zlib.crc32(repr(trial).encode()))
    of = Chances(trial.mean, trial.correlation, shared=False)
    better = Chances(trial.mean + (0.1 if trial.mean < 0.5 else -0.1), trial.correlation, shared=False)
    any_pair = single = found = by_t = 0
    for _ in range(samples):
        sample = Sample(rng, cell)
        by_user = of.of_users(rng, trial.users)
        values = [sample.right(of, by_user) for _ in range(10)]
        sides = [linearize({"x": sample.column(x)}, percent, (0.0, 1.0), trial.users) for x in values]
        ps = [difference_of(a, b, sample.n, by_item=False).p for a, b in itertools.combinations(sides, 2)]
        any_pair += min(holm(ps)) < 0.05
        single += ps[0] < 0.05
        other = sample.right(better)
        p = difference_of(
            sides[0], linearize({"x": sample.column(other)}, percent, (0.0, 1.0), trial.users), sample.n
        ).p
        found += p < 0.05
        means = (other - values[0]).reshape(trial.users, 10).mean(axis=1)
        error = means.std(ddof=1) / math.sqrt(trial.users)
        by_t += error > 0 and student_t_p_value(means.mean() / error, trial.users - 1) < 0.05
    share = [round(100 * n / samples, 1) for n in (any_pair, single, found, by_t)]
    return {**trial._asdict(), "any of 45 pairs": share[0], "one pair": share[1], "power": share[2], "t-test": share[3]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--only", choices=[*STATISTICS, "tests"], action="append")
    parser.add_argument("--out", help="CSV file for all cells")
    asked = parser.parse_args()
    wanted = asked.only or [*STATISTICS, "tests"]
    cells = [
        Cell(*one)
        for one in itertools.product((s for s in STATISTICS if s in wanted), MEANS, USERS, ITEMS, CORRELATIONS, SHARED)
    ]
    trials = [Trial(*one) for one in itertools.product((0.5, 0.9, 0.97), (6, 8, 12, 30, 100), (0.0, 0.2))]
    with multiprocessing.Pool(os.cpu_count()) as pool:
        rows = []
        for n, row in enumerate(pool.imap_unordered(coverage, [(cell, asked.samples) for cell in cells]), 1):
            rows.append(row)
            if n % 50 == 0 or n == len(cells):  # a run that is cut short has something to show
                _write(rows, asked.out)
                print(f"{n}/{len(cells)}", file=sys.stderr, flush=True)
        if rows:
            _print_summary(rows)
        if "tests" in wanted:
            _print_table(pool.map(family, [(trial, asked.samples) for trial in trials], chunksize=1))


def _write(rows: list[dict[str, object]], out: str | None) -> None:
    rows.sort(key=lambda row: list(map(str, (row[name] for name in Cell._fields))))
    if out:
        with open(out, "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def _print_summary(rows: list[dict[str, object]]) -> None:
    summary = []
    for name in dict.fromkeys(row["statistic"] for row in rows):
        own = [row for row in rows if row["statistic"] == name]
        covered = [float(row["coverage"]) for row in own]
        plain = [float(row["over users"]) for row in own if row["over users"] != ""]
        least = min(own, key=lambda row: float(row["coverage"]))
        summary.append(
            {
                "statistic": name,
                "cells": len(own),
                "lowest, %": f"{min(covered):.1f} ± {1.96 * float(least['error']):.1f}",
                "median, %": f"{np.median(covered):.1f}",
                f"below {ENOUGH:g}": sum(c < ENOUGH for c in covered),
                f"above {MORE:g}": sum(c > MORE for c in covered),
                "lowest of t over users": f"{min(plain):.1f}" if plain else "–",
                "its cells below": sum(c < ENOUGH for c in plain) if plain else "–",
            }
        )
    _print_table(summary)
    for row in (row for row in rows if float(row["coverage"]) < ENOUGH):
        print(f"below {ENOUGH:g}: {row}")


def _print_table(rows: list[dict[str, object]]) -> None:
    print(f"\n| {' | '.join(rows[0])} |\n|{'---|' * len(rows[0])}")
    for row in rows:
        print(f"| {' | '.join(str(value) for value in row.values())} |", flush=True)


if __name__ == "__main__":
    main()
