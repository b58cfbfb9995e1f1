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
import multiprocessing
import os
from collections.abc import Callable

import numpy as np

from bowstring.metrics.distributions import student_t_quantile
from bowstring.metrics.sequential import SequentialTest

USERS = 250
FAILS = (0.01, 0.02, 0.05, 0.1, 0.2)  # shares of users on which a model fails
RIGHT = 0.8


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
    with multiprocessing.Pool(os.cpu_count()) as pool:
        print(f"Equal models, {samples:,} races of each kind: % that name a winner within {USERS} users\n")
        print("| right, % | items per user | correlation | chances | race | t-test at every look | t-test at the end |")
        print("|---|---|---|---|---|---|---|")
        kinds = itertools.product((0.03, 0.5, 0.9, 0.97), (3, 10, 40), (0, 0.3), (False, True))
        for line in pool.imap(equal_models, [(*kind, samples) for kind in kinds]):
            print(line, flush=True)
        print("\nThe same, where one model fails on some users, and is better on the others, so that both are equal\n")
        print("| items per user | fails on, % of users | race | t-test at every look | t-test at the end |")
        print("|---|---|---|---|---|")
        for line in pool.imap(failing_model, [(*kind, samples) for kind in itertools.product((10, 40), FAILS)]):
            print(line, flush=True)
        print(f"\nDifferent models, {samples:,} races of each kind\n")
        print(
            "| right, % | items per user | found, % | wrong winner, % | users, median | users, 90% | fixed design, % |"
        )
        print("|---|---|---|---|---|---|---|")
        pairs = itertools.product(((0.5, 0.52), (0.5, 0.55), (0.5, 0.6), (0.9, 0.93)), (10, 40))
        for line in pool.imap(different_models, [(*pair, samples) for pair in pairs]):
            print(line, flush=True)


def errors(draw: Callable[[], np.ndarray], samples: int) -> str:
    """How often a race, a t-test at every look and one at the end name a winner, in %."""
    wrong = looks = ends = 0
    for _ in range(samples):
        values = draw()
        wrong += race(values)[0] is not None
        over = t_statistics(values) > 1
        looks += bool(over[5:].any())
        ends += bool(over[-1])
    return " | ".join(f"{100 * n / samples:.1f}" for n in (wrong, looks, ends))


def equal_models(task: tuple[float, int, float, bool, int]) -> str:
    right, items, correlation, own, samples = task
    rng = np.random.default_rng([int(100 * right), items, int(10 * correlation), own])
    found = errors(lambda: differences(rng, right, right, items, correlation, own=own), samples)
    return f"| {100 * right:g} | {items} | {correlation} | {'own' if own else 'shared'} | {found} |"


def failing_model(task: tuple[int, float, int]) -> str:
    items, fails, samples = task
    rng = np.random.default_rng([items, int(100 * fails)])

    def draw() -> np.ndarray:
        other = rng.binomial(items, RIGHT / (1 - fails), size=USERS) * (rng.random(USERS) >= fails)
        return (other - rng.binomial(items, RIGHT, size=USERS)) / items

    return f"| {items} | {100 * fails:g} | {errors(draw, samples)} |"


def different_models(task: tuple[tuple[float, float], int, int]) -> str:
    (first, second), items, samples = task
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
    rates = f"{100 * found.mean():.1f} | {100 * wrong / samples:.1f} | {middle} | {most} | {100 * fixed / samples:.1f}"
    return f"| {100 * first:g} and {100 * second:g} | {items} | {rates} |"


if __name__ == "__main__":
    main()
