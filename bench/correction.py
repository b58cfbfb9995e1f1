"""How often do intervals of corrected scores and differences contain the true value?

    python bench/correction.py                 1,000 samples of each case: some minutes
    python bench/correction.py --samples 200   a quick look

The true value is known. Users differ, the judge makes errors, and it leaves verdicts unread, mostly on bad answers. For
comparison: the judge alone, the human labels alone, and a correction that leaves out the items without a verdict.
"""

import argparse
from collections import defaultdict

import numpy as np

from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import difference
from bowstring.metrics.correction import JudgedItem, corrected, corrected_difference

QUESTIONS = 10
SPREAD = 6.0  # of the beta distribution of users: smaller is more different


def percent(means):
    return 100 * means["x"]


def human_scores(rng, users, mean):
    chance = rng.beta(SPREAD * mean, SPREAD * (1 - mean), size=users)
    return (rng.random((users, QUESTIONS)) < chance[:, None]).astype(float)


def verdicts(rng, human, *, unread, lenient=0.2, strict=0.05):
    """What a judge makes of the answers: it passes some bad ones, fails some good ones, and leaves a share of all
    items unread, nine in ten of them bad if there are as many bad ones."""
    judge = np.where(human == 0, (rng.random(human.shape) < lenient), (rng.random(human.shape) >= strict)).astype(float)
    bad = max(1e-9, 1 - human.mean())
    of_bad = min(1.0, 0.9 * unread / bad)
    of_good = max(0.0, unread - of_bad * bad) / max(1e-9, human.mean())
    judge[rng.random(human.shape) < np.where(human == 0, of_bad, of_good)] = np.nan
    return judge


def items(human, judge, labelled):
    return [
        JudgedItem(str(u), None if np.isnan(judge[u, q]) else judge[u, q], human[u, q] if labelled[u, q] else None)
        for u in range(len(human))
        for q in range(QUESTIONS)
    ]


def some(rng, shape, share):
    chosen = np.zeros(shape, dtype=bool)
    size = chosen.size
    chosen.flat[rng.choice(size, size=max(10, round(share * size)), replace=False)] = True
    return chosen


def score_methods(rng, users, mean, share, unread):
    human = human_scores(rng, users, mean)
    own = items(human, verdicts(rng, human, unread=unread), some(rng, human.shape, share))
    found = corrected({"x": own}, percent)
    read = corrected({"x": [item for item in own if item.judge is not None]}, percent)
    yield "judge", found and found.judge
    yield "labels", found and found.people
    yield "without unread", read and read.estimate
    yield "corrected", found and found.estimate


def table(rows, methods):
    print(f"| case | {' | '.join(f'{m}: covers, width' for m in methods)} |")
    print(f"|---|{'---|' * len(methods)}")
    for case, by_method in rows:
        print(f"| {case} | {' | '.join(by_method[m] for m in methods)} |", flush=True)


def summary(samples, truth):
    """Coverage and mean width of each method."""
    seen = defaultdict(list)
    for sample in samples:
        for name, e in sample:
            if e is not None:
                seen[name].append((e.low <= truth <= e.high, e.high - e.low, e.value))
    return {
        name: f"{100 * np.mean([c for c, *_ in own]):.1f}, {np.mean([w for _, w, _ in own]):.1f}"
        for name, own in seen.items()
    }


SCORES = [
    (users, mean, share, unread)
    for users in (6, 12, 30, 100)
    for mean in (0.05, 0.484, 0.95)
    for share, unread in ((0.1, 0.0), (0.1, 0.3), (0.3, 0.1), (0.3, 0.3))
]


def difference_methods(rng, users, gain, share, favour):
    """Two runs, and a judge that passes more bad answers of the second."""
    before = human_scores(rng, users, 0.45)
    flips = rng.random(before.shape) < 0.3
    after = np.where(flips, (rng.random(before.shape) < 0.45 + gain / 0.3), before)
    judged = verdicts(rng, before, unread=0.1), verdicts(rng, after, unread=0.1, lenient=0.2 + favour)
    chosen = some(rng, before.shape, share), some(rng, before.shape, share)
    one, other = ({"x": items(h, j, c)} for h, j, c in zip((before, after), judged, chosen, strict=True))
    both = ~np.isnan(judged[0]) & ~np.isnan(judged[1])
    by_judge = ({"x": [Score(str(u), j[u, q]) for u, q in np.argwhere(both)]} for j in judged)
    yield "judge", difference(*by_judge, percent, items=int(both.sum()), ends=(0, 1))
    yield "corrected", corrected_difference(one, other, percent)


DIFFERENCES = [(users, gain, share, 0.3) for users in (12, 30, 100) for gain in (0.0, 0.1) for share in (0.1, 0.3)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=1000)
    samples = parser.parse_args().samples
    rows = []
    for users, mean, share, unread in SCORES:
        rng = np.random.default_rng(users)
        drawn = (score_methods(rng, users, mean, share, unread) for _ in range(samples))
        case = f"{users} users, truth {100 * mean:g}, {share:.0%} labelled, {unread:.0%} unread"
        rows.append((case, summary(drawn, 100 * mean)))
    table(rows, ("judge", "labels", "without unread", "corrected"))
    rows = []
    for users, gain, share, favour in DIFFERENCES:
        rng = np.random.default_rng(users)
        drawn = (difference_methods(rng, users, gain, share, favour) for _ in range(samples))
        case = f"{users} users, difference {100 * gain:g}, {share:.0%} labelled"
        rows.append((case, summary(drawn, 100 * gain)))
    table(rows, ("judge", "corrected"))


if __name__ == "__main__":
    main()
