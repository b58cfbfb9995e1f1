"""How often does a race of two equal models name a winner, and how soon does it find a real difference?

    python bench/sequential.py                 4,000 races of each kind: some minutes
    python bench/sequential.py --samples 500   a quick look

The test is looked at after every user. Users differ in how often a model is right (intra-user correlation); two equal
models share these chances, or have their own. Beside it are a t-test that is looked at as often, and the fixed design:
one t-test when all users are done.
"""

import argparse
import itertools
import math

import numpy as np

from bowstring.metrics.distributions import student_t_quantile
from bowstring.metrics.sequential import SequentialTest

USERS = 250


def chances(rng: np.random.Generator, mean: float, correlation: float, users: int) -> np.ndarray:
    if not correlation:
        return np.full(users, mean)
    rest = 1 / correlation - 1
    return rng.beta(mean * rest, (1 - mean) * rest, size=users)


def differences(
    rng: np.random.Generator, first: float, second: float, items: int, correlation: float, *, own: bool
) -> np.ndarray:
    one = chances(rng, first, correlation, USERS)
    other = chances(rng, second, correlation, USERS) if own else np.clip(one + second - first, 0, 1)
    return (rng.binomial(items, other) - rng.binomial(items, one)) / items


def race(values: np.ndarray, level: float = 0.05) -> tuple[int | None, float]:
    test = SequentialTest(level)
    for n, value in enumerate(values, 1):
        test.add(float(value))
        if test.established:
            return n, test.mean
    return None, test.mean


def t_statistics(values: np.ndarray) -> np.ndarray:
    """Return |t| over its critical value after every user."""
    n = np.arange(1, len(values) + 1)
    mean = np.cumsum(values) / n
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(np.maximum(np.cumsum(values**2) - n * mean**2, 0) / (n - 1) / n)
        found = np.where(error > 1e-12, np.abs(mean) / error, 0.0)
    return found / CRITICAL


CRITICAL = np.asarray([math.inf] + [student_t_quantile(0.975, n - 1) for n in range(2, USERS + 1)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=4000)
    samples = parser.parse_args().samples
    print(f"Equal models, {samples:,} races of each kind: % that name a winner within {USERS} users\n")
    print("| right, % | items per user | correlation | chances | race | t-test at every look | t-test at the end |")
    print("|---|---|---|---|---|---|---|")
    for right, items, correlation, own in itertools.product(
        (0.03, 0.5, 0.9, 0.97), (3, 10, 40), (0, 0.3), (False, True)
    ):
        rng = np.random.default_rng([int(100 * right), items, int(10 * correlation), own])
        wrong = looks = ends = 0
        for _ in range(samples):
            values = differences(rng, right, right, items, correlation, own=own)
            wrong += race(values)[0] is not None
            over = t_statistics(values) > 1
            looks += bool(over[5:].any())
            ends += bool(over[-1])
        cells = (f"{100 * n / samples:.1f}" for n in (wrong, looks, ends))
        of = "own" if own else "shared"
        print(f"| {100 * right:g} | {items} | {correlation} | {of} | {' | '.join(cells)} |", flush=True)
    print(f"\nDifferent models, {samples:,} races of each kind\n")
    print("| right, % | items per user | found, % | wrong winner, % | users, median | users, 90% | fixed design, % |")
    print("|---|---|---|---|---|---|---|")
    for (first, second), items in itertools.product(((0.5, 0.52), (0.5, 0.55), (0.5, 0.6), (0.9, 0.93)), (10, 40)):
        rng = np.random.default_rng([int(100 * first), int(100 * second), items])
        needed, wrong, fixed = [], 0, 0
        for _ in range(samples):
            values = differences(rng, first, second, items, 0.1, own=False)
            n, mean = race(values)
            needed.append(USERS + 1 if n is None else n)
            wrong += n is not None and mean < 0
            fixed += bool(t_statistics(values)[-1] > 1)
        found = np.asarray(needed) <= USERS
        middle, most = (f"{q:.0f}" if q <= USERS else f"> {USERS}" for q in np.percentile(needed, [50, 90]))
        rates = (
            f"{100 * found.mean():.1f} | {100 * wrong / samples:.1f} | {middle} | {most} | {100 * fixed / samples:.1f}"
        )
        print(f"| {100 * first:g} and {100 * second:g} | {items} | {rates} |", flush=True)


if __name__ == "__main__":
    main()
