"""How often does the alternative annotator test say that a judge is as good as one more person?

    python bench/annotator_test.py                 400 samples of each case: some minutes
    python bench/annotator_test.py --samples 100   a quick look

People and judges give one of three labels: the true one with some probability, otherwise another one. The answer is
known: one more person is as good, a coin and a constant are not. `at the limit` is a judge that is worse than people by
exactly epsilon: the test of one person should reject in 5% of the samples. In `of users`, ten items belong to a user;
at the limit, the judge is much better or much worse for whole users. The last row treats these items as independent.
"""

import argparse
from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np

from bowstring.metrics.alternative_annotator import DEFAULT_EPSILON, alternative_annotator_test
from bowstring.metrics.rating_table import RatingTable, build_table
from bowstring.metrics.scales import scale_of
from bowstring.records import Rating

LABELS = ("lose", "tie", "win")
SIZES = (50, 100, 200, 400)
PERSON = 0.8  # how often a person gives the true label
PER_USER = 10

Judge = Callable[[np.random.Generator, np.ndarray], np.ndarray]  # true labels → labels


def noisy(rng: np.random.Generator, truth: np.ndarray, right: np.ndarray | float) -> np.ndarray:
    wrong = (truth + rng.integers(1, 3, size=len(truth))) % 3
    return np.where(rng.random(len(truth)) < right, truth, wrong)


def varied(rng: np.random.Generator, truth: np.ndarray, right: float, spread: float = 0.3) -> np.ndarray:
    """Whole users for whom the judge is better or worse."""
    users = right + spread * rng.choice([-1, 1], size=-(-len(truth) // PER_USER))
    return noisy(rng, truth, np.repeat(users, PER_USER)[: len(truth)])


def table_of(rng: np.random.Generator, judge: Judge, items: int, people: int, *, users: bool) -> RatingTable:
    truth = rng.integers(0, 3, size=items)
    said = {f"person {n}": noisy(rng, truth, PERSON) for n in range(people)} | {"judge": judge(rng, truth)}
    ratings = [
        Rating(str(n), rater, LABELS[labels[n]], str(n // PER_USER) if users else None)
        for rater, labels in said.items()
        for n in range(items)
    ]
    return build_table(ratings, scale_of(LABELS), ["judge"])


def difference_of(right: float, people: int) -> float:
    """Return the exact difference, judge − person, of a judge that gives the true label with this probability."""
    apart = 0.0
    for judge, person, *others in product(range(3), repeat=people + 1):  # label 0 is the true one
        chances = [right, *[PERSON] * people]
        said = zip((judge, person, *others), chances, strict=True)
        agreed, own = others.count(judge), others.count(person)
        apart += prod(p if label == 0 else (1 - p) / 2 for label, p in said) * ((agreed >= own) - (own >= agreed))
    return apart


def limit(people: int) -> float:
    """Return how often a judge must be right to be worse than a person by exactly epsilon."""
    low, high = 1 / 3, PERSON
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if difference_of(middle, people) < -DEFAULT_EPSILON else (low, middle)
    return low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--people", type=int, default=3)
    args = parser.parse_args()
    at_limit = limit(args.people)
    cases: dict[str, tuple[Judge, bool]] = {
        "one more person": (lambda rng, truth: noisy(rng, truth, PERSON), False),
        "one more person, of users": (lambda rng, truth: noisy(rng, truth, PERSON), True),
        "always right": (lambda rng, truth: truth, False),
        "coin": (lambda rng, truth: rng.integers(0, 3, size=len(truth)), False),
        "constant": (lambda rng, truth: np.zeros_like(truth), False),
        "at the limit": (lambda rng, truth: noisy(rng, truth, at_limit), False),
        "at the limit, of users": (lambda rng, truth: varied(rng, truth, at_limit), True),
        "the same, as if independent": (lambda rng, truth: varied(rng, truth, at_limit), False),
    }
    about = f"{args.people} people who are right in {PERSON:.0%}, epsilon {DEFAULT_EPSILON:g}"
    print(f"{about}; a judge at the limit is right in {at_limit:.1%}\n")
    sizes = " | ".join(f"{n} items" for n in SIZES)
    print(f"| samples in which the judge is as good / a test of one person rejects, % | {sizes} |")
    print(f"|---|{'---|' * len(SIZES)}")
    for name, (judge, users) in cases.items():
        cells = []
        for items in SIZES:
            rng = np.random.default_rng(items)
            found = [
                alternative_annotator_test("judge", table_of(rng, judge, items, args.people, users=users))
                for _ in range(args.samples)
            ]
            replaces = 100 * np.mean([one["replaces"] for one in found])
            rejected = 100 * np.mean([own["p"] <= 0.05 for one in found for own in one["people"].values()])
            cells.append(f"{replaces:.1f} / {rejected:.1f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
