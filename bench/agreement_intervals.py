"""How often do 95% intervals of agreement and of correlations contain the true value?

    python bench/agreement_intervals.py                  2,000 samples of each cell: five minutes on two cores
    python bench/agreement_intervals.py --samples 200    a quick look
    python bench/agreement_intervals.py --cells          all cells, one row each, after the summary
    python bench/agreement_intervals.py --uneven         users with 1 to 100 items (log-normal, median 7)

Cells: a true agreement of 60, 80, 95 and 99%; 6, 12, 30 and 100 users with ten items each; items that are independent,
or users who differ in agreement (correlation 0.3); three labels that are equally common, or given in 80, 10 and 10%.

Two raters give the same label with the probability of the user, otherwise another one. Of three raters, all give the
same label with that probability, otherwise each draws one: the probability is alpha. Correlations are those of the two
raters' labels as numbers, and of normal numbers whose correlation is the true agreement (where users differ, 30% of the
variance is theirs). Beside them is what these intervals were before: percentiles of a bootstrap over users, with an
exact bound where all users agree; without alpha and normal numbers, to save time.
"""

import argparse
import itertools
import math
import multiprocessing
import os
import zlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from bowstring.metrics.agreement import accuracy, cohen_kappa, distances, macro_f1, with_intervals
from bowstring.metrics.correlation import correlation_of, mean_ranks
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.reliability import Rated, alpha_of_numbers, nominal_agreement

AGREEMENT = (0.60, 0.80, 0.95, 0.99)
USERS = (6, 12, 30, 100)
ITEMS = 10
CORRELATIONS = (0.0, 0.3)
EQUAL = "equal"
SHARES = {EQUAL: (1 / 3, 1 / 3, 1 / 3), "80/10/10": (0.8, 0.1, 0.1)}
ENOUGH = 93.0
DRAWS = 400  # of the bootstrap
VALUES = np.asarray([0.0, 0.5, 1.0])
NUMBERS = {
    "accuracy": accuracy,
    "macro F1": macro_f1,
    "kappa": cohen_kappa,
    "kappa, quadratic": partial(cohen_kappa, apart=distances(VALUES, 2)),
}
OF_LABELS, OF_NORMAL, RANKS = "correlation of labels", "correlation, normal", "rank correlation, normal"
ALPHAS = ("alpha, nominal", "alpha, ordinal", "alpha, interval")


class Cell(NamedTuple):
    agreement: float
    users: int
    correlation: float
    labels: str
    uneven: bool


def table_of(cell: Cell) -> np.ndarray:
    """The true confusion table of two raters."""
    shares = np.asarray(SHARES[cell.labels])
    others = (1 - np.eye(3)) * shares / (1 - shares)[:, None]
    return shares[:, None] * (cell.agreement * np.eye(3) + (1 - cell.agreement) * others)


def pearson_of(tables: np.ndarray) -> np.ndarray:
    tables = tables / tables.sum(axis=(-1, -2), keepdims=True)
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    means, squares = ([side @ values for side in (rows, columns)] for values in (VALUES, VALUES**2))
    product = (tables * np.outer(VALUES, VALUES)).sum(axis=(-1, -2)) - means[0] * means[1]
    spread = (squares[0] - means[0] ** 2) * (squares[1] - means[1] ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return product / np.sqrt(np.where(spread > 1e-12, spread, np.nan))


def truths_of(cell: Cell) -> dict[str, float]:
    table, r = table_of(cell), cell.agreement
    of_table = {name: float(number(table)) for name, number in NUMBERS.items()}
    of_normal = {OF_NORMAL: r, RANKS: 6 / math.pi * math.asin(r / 2)}
    return of_table | {OF_LABELS: float(pearson_of(table))} | dict.fromkeys(ALPHAS, r) | of_normal


class Sampler:
    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.rng = np.random.default_rng(zlib.crc32(repr(cell).encode()))
        self.draw_users()
        others = table_of(cell) * (1 - np.eye(3))
        self.second = np.cumsum(others / others.sum(axis=1, keepdims=True), axis=1)

    def draw_users(self) -> None:
        items = np.full(self.cell.users, ITEMS)
        if self.cell.uneven:
            items = np.clip(self.rng.lognormal(math.log(7), 1.2, size=self.cell.users), 1, 100).astype(int)
        self.cluster = np.repeat(np.arange(self.cell.users), items)
        self.n = len(self.cluster)

    def same(self) -> np.ndarray:
        """Whether the raters agree on each item."""
        mean, chances = self.cell.agreement, np.full(self.cell.users, self.cell.agreement)
        if self.cell.correlation:
            rest = 1 / self.cell.correlation - 1
            chances = self.rng.beta(mean * rest, (1 - mean) * rest, size=self.cell.users)
        return self.rng.random(self.n) < chances[self.cluster]

    def labels(self, *size: int) -> np.ndarray:
        return self.rng.choice(3, size=(self.n, *size), p=SHARES[self.cell.labels])

    def tables(self) -> np.ndarray:
        """The confusion table of each user."""
        first = self.labels()
        other = (self.rng.random(self.n)[:, None] > self.second[first]).sum(axis=1)
        cells = (self.cluster * 3 + first) * 3 + np.where(self.same(), first, other)
        return np.bincount(cells, minlength=9 * self.cell.users).reshape(-1, 3, 3)

    def three_raters(self) -> np.ndarray:
        labels = self.labels(3)
        return np.where(self.same()[:, None], labels[:, :1], labels)

    def normal(self) -> tuple[np.ndarray, np.ndarray]:
        r, of_users = self.cell.agreement, self.cell.correlation
        users, items = (self.rng.normal(size=(2, n)) for n in (self.cell.users, self.n))
        x, y = math.sqrt(of_users) * users[:, self.cluster] + math.sqrt(1 - of_users) * items
        return x, r * x + math.sqrt(1 - r * r) * y


def estimates_of(sampler: Sampler) -> dict[str, Estimate | tuple[float, float] | None]:
    """Intervals of one sample; None where a measure is undefined."""
    sampler.draw_users()
    tables, cluster = sampler.tables(), sampler.cluster
    found: dict[str, Estimate | tuple[float, float] | None] = dict(with_intervals(tables, NUMBERS))
    users, rows, columns = (np.repeat(places, tables[tables > 0]) for places in np.nonzero(tables))
    varied = all(len(np.unique(labels)) > 1 for labels in (rows, columns))
    found[OF_LABELS] = correlation_of(VALUES[rows], VALUES[columns], users) if varied else None
    labels = sampler.three_raters()
    present, numbered = np.unique(labels, return_inverse=True)
    rated = Rated(numbered.reshape(-1), np.repeat(np.arange(len(labels)), 3), cluster)
    if len(present) > 1:
        found[ALPHAS[0]] = nominal_agreement(rated, alpha=True)
        found[ALPHAS[1]] = alpha_of_numbers(mean_ranks(rated.label), rated)
        found[ALPHAS[2]] = alpha_of_numbers(VALUES[labels].reshape(-1), rated)
    if sampler.cell.labels == EQUAL:  # the others would be the same again
        x, y = sampler.normal()
        found[OF_NORMAL] = correlation_of(x, y, cluster)
        found[RANKS] = correlation_of(mean_ranks(x), mean_ranks(y), cluster)
    return found | bootstrap(tables, sampler.rng)


def bootstrap(tables: np.ndarray, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """The former method: percentiles over resampled users, or an exact bound if there is no disagreement."""
    users = len(tables)
    numbers: dict[str, Callable[[np.ndarray], np.ndarray]] = {**NUMBERS, OF_LABELS: pearson_of}
    if not (tables * (1 - np.eye(3))).any():
        unseen = 1 - 0.025 ** (1 / users)
        return {f"{name}: bootstrap": (1 - unseen * (1 + (name == OF_LABELS)), 1.0) for name in numbers}
    weights = rng.multinomial(users, np.full(users, 1 / users), size=DRAWS).astype(float)
    drawn = np.tensordot(weights, tables.astype(float), 1)
    found: dict[str, tuple[float, float]] = {}
    for name, number in numbers.items():
        values = number(drawn)
        values = np.sort(values[np.isfinite(values)])
        if len(values):
            limits = values[int(0.025 * len(values))], values[int(0.975 * len(values))]
            found[f"{name}: bootstrap"] = limits
    return found


def coverage(task: tuple[Cell, int]) -> tuple[Cell, dict[str, tuple[float, float]]]:
    """Return the coverage in percent, and the mean width, by measure."""
    cell, samples = task
    truths, sampler = truths_of(cell), Sampler(cell)
    hits: dict[str, list[tuple[bool, float]]] = {}
    for _ in range(samples):
        for name, found in estimates_of(sampler).items():
            if found is not None:
                low, high = (found.low, found.high) if isinstance(found, Estimate) else found
                truth = truths[name.removesuffix(": bootstrap")]
                hits.setdefault(name, []).append((low - 1e-9 <= truth <= high + 1e-9, high - low))
    means = {name: np.mean(own, axis=0) for name, own in hits.items()}
    return cell, {name: (100 * float(hit), float(width)) for name, (hit, width) in means.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--cells", action="store_true")
    parser.add_argument("--uneven", action="store_true")
    asked = parser.parse_args()
    cells = [Cell(*one, asked.uneven) for one in itertools.product(AGREEMENT, USERS, CORRELATIONS, SHARES)]
    largest_first = sorted(cells, key=lambda cell: -cell.users)
    with multiprocessing.Pool(os.cpu_count()) as pool:
        found = dict(pool.imap_unordered(coverage, [(cell, asked.samples) for cell in largest_first]))
    names = list(truths_of(cells[0]))
    heads = ["cells", *(f"lowest of {users} users, %" for users in USERS), "median, %", f"below {ENOUGH:g}%"]
    heads += ["bootstrap: lowest, %", f"its cells below {ENOUGH:g}%"]
    print(f"| | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 1)}")
    for name in names:
        covered = {cell: found[cell][name][0] for cell in cells if name in found[cell]}
        lowest = [f"{min(share for cell, share in covered.items() if cell.users == users):.1f}" for users in USERS]
        plain = [own[0] for cell in cells if (own := found[cell].get(f"{name}: bootstrap"))]
        few = sum(share < ENOUGH for share in covered.values())
        beside = (f"{min(plain):.1f}", sum(share < ENOUGH for share in plain)) if plain else ("–", "–")
        row = (len(covered), *lowest, f"{np.median([*covered.values()]):.1f}", few, *beside)
        print(f"| {name} | {' | '.join(map(str, row))} |")
    low = [
        (own[0], name, cell) for cell in cells for name in names if (own := found[cell].get(name)) and own[0] < ENOUGH
    ]
    print(f"\n{asked.samples:,} samples per cell")
    for share, name, cell in sorted(low):
        error = 1.96 * math.sqrt(share * (100 - share) / asked.samples)
        print(f"below {ENOUGH:g}: {name} {share:.1f} ± {error:.1f}: {cell}")
    if asked.cells:
        print(f"\n| {' | '.join(Cell._fields)} | {' | '.join(names)} |\n|{'---|' * (len(names) + len(Cell._fields))}")
        for cell in cells:
            values = (f"{own[0]:.1f}, {own[1]:.3f}" if (own := found[cell].get(name)) else "–" for name in names)
            print(f"| {' | '.join(map(str, cell))} | {' | '.join(values)} |")


if __name__ == "__main__":
    main()
