"""How often do 95% intervals contain the true value, by the number of users or personas?

    python bench/coverage.py                 400 samples of each size: some minutes
    python bench/coverage.py --samples 100   a quick look

Samples come from populations whose true value is known: users differ in how often they are served well, the instances
of a persona are correlated, and a judge makes mistakes. For comparison there are intervals without clustering, which
treat every question as independent.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import difference
from bowstring.metrics.correction import JudgedItem, corrected
from bowstring.metrics.intervals import estimate

SIZES = (6, 12, 30, 60, 250)
QUESTIONS = 10


def percent(means):
    return 100 * means["x"]


def f1(means):
    return 100 * 2 * means["p"] * means["r"] / (means["p"] + means["r"])


def apart(scores):
    return [score._replace(cluster=str(n)) for n, score in enumerate(scores)]


def answers(rng: np.random.Generator, chances) -> list[Score]:
    return [Score(str(u), float(rng.random() < p)) for u, p in enumerate(chances) for _ in range(QUESTIONS)]


def one_sample(rng: np.random.Generator, users: int) -> Iterator[tuple[str, float, object]]:
    """Yield name, true value and interval."""
    chances = rng.beta(2, 3, size=users)
    scores = answers(rng, chances)
    yield "a score", 40.0, estimate({"x": scores}, percent, ends=(0, 1))
    yield "a score, without clustering", 40.0, estimate({"x": apart(scores)}, percent, ends=(0, 1))

    rare = answers(rng, rng.random(users) < 0.05)
    yield "a rate of 5%: one user in twenty always", 5.0, estimate({"x": rare}, percent, ends=(0, 1))

    better = answers(rng, np.minimum(1, chances + 0.1 * (chances < 0.9)))
    gained = 10 * float(np.mean(BETA < 0.9))
    yield "a paired difference", gained, difference({"x": scores}, {"x": better}, percent, items=len(scores))

    precise, found = answers(rng, chances), answers(rng, chances)
    yield "F1 over pooled items", 40.0, estimate({"p": precise, "r": found}, f1, ends=(0, 1))

    # A judge that counts every fifth loss as a win, and human labels on a tenth of the items.
    judged = [s if s.value or rng.random() > 0.2 else s._replace(value=1.0) for s in scores]
    chosen = rng.choice(len(scores), size=max(2, len(scores) // 10), replace=False)
    known = {k: scores[k].value for k in chosen}
    items = [JudgedItem(s.cluster, s.value, known.get(k)) for k, s in enumerate(judged)]
    yield "a score by a judge that makes mistakes", 40.0, estimate({"x": judged}, percent, ends=(0, 1))
    mended = corrected({"x": items}, percent)
    yield "the same, corrected with labels on a tenth", 40.0, mended.estimate if mended else None


BETA = np.random.default_rng(0).beta(2, 3, size=1_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=400)
    samples = parser.parse_args().samples
    hits: dict[str, dict[int, list[bool]]] = {}
    for users in SIZES:
        rng = np.random.default_rng(users)
        for _ in range(samples):
            for name, truth, found in one_sample(rng, users):
                if found is not None:
                    covered = found.low <= truth <= found.high
                    hits.setdefault(name, {}).setdefault(users, []).append(covered)
    print(f"| 95% intervals that contain the true value, % | {' | '.join(map(str, SIZES))} |")
    print(f"|---|{'---|' * len(SIZES)}")
    for name, by_size in hits.items():
        cells = [f"{100 * np.mean(by_size[n]):.1f}" if n in by_size else "–" for n in SIZES]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
