"""How often do intervals of length-controlled win rates contain the true value, and what do very long answers do?

    python bench/length_control.py                 500 samples of each case: some minutes
    python bench/length_control.py --samples 100   a quick look

The judge prefers longer answers up to a point. The true value is the win rate at equal length. Users and question types
differ; with two runs, items differ in difficulty, and answers to easy ones are longer.
"""

import argparse

import numpy as np

from bowstring.metrics.length_control import Comparison, length_controlled, length_controlled_runs

QUESTIONS = 10
LEVELS = {"persona": 0.0, "profile": 1.0}


def logistic(x):
    return 1 / (1 + np.exp(-x))


def one_run(rng, users, *, level=0.0, slope=1.0, long=0.0, tied=0.0):
    """Comparisons, and the true win rate at equal length of each."""
    rows, truth = [], []
    for user in range(users):
        own = rng.normal(0, 0.5)
        for n in range(QUESTIONS):
            kind = "profile" if rng.random() < 0.25 else "persona"
            words = rng.normal(400, 40) if rng.random() < long else rng.normal(8, 10)
            at_equal = level + own + LEVELS[kind]
            won = float(rng.random() < logistic(at_equal + slope * np.tanh(words / 15)))
            rows.append(Comparison(str(user), 0.5 if rng.random() < tied else won, words, kind, f"{user}/{n}"))
            truth.append((1 - tied) * logistic(at_equal) + tied / 2)
    return rows, 100 * np.mean(truth)


def two_runs(rng, users, *, gain):
    """Two runs on the same items; the second writes longer answers, most of all to easy items."""
    rows, truth = ([], []), ([], [])
    for user in range(users):
        own = rng.normal(0, 0.5)
        for n in range(QUESTIONS):
            easy = rng.normal(0, 1)
            for run in (0, 1):
                words = rng.normal(0 + 10 * run + 5 * easy, 10)
                at_equal = own + easy + gain * run
                won = float(rng.random() < logistic(at_equal + np.tanh(words / 15)))
                rows[run].append(Comparison(str(user), won, words, "persona", f"{user}/{n}"))
                truth[run].append(logistic(at_equal))
    return {"a": rows[0], "b": rows[1]}, [100 * np.mean(own) for own in truth]


def single_row(users, samples, **case):
    truth = one_run(np.random.default_rng(1), 20_000, **case)[1]
    rng, seen, raw = np.random.default_rng(users), [], []
    for _ in range(samples):
        rows = one_run(rng, users, **case)[0]
        raw.append(100 * np.mean([c.outcome for c in rows]))
        if (e := length_controlled(rows).rate) is not None:
            seen.append((e.low <= truth <= e.high, e.high - e.low, e.value))
    covers, width, value = np.mean(seen, axis=0)
    told = ", ".join(f"{name} {value:g}" for name, value in case.items()) or "as described"
    undefined = samples - len(seen)
    print(
        f"| {users} | {told} | {truth:.1f} | {np.mean(raw):.1f} | {value:.1f} | {100 * covers:.1f} | {width:.1f} "
        f"| {undefined} |",
        flush=True,
    )


def joint_row(users, samples, gain):
    truths = two_runs(np.random.default_rng(1), 20_000, gain=gain)[1]
    truth = truths[1] - truths[0]
    rng, seen = np.random.default_rng(users), []
    for _ in range(samples):
        rows = two_runs(rng, users, gain=gain)[0]
        raw = 100 * (np.mean([c.outcome for c in rows["b"]]) - np.mean([c.outcome for c in rows["a"]]))
        found = length_controlled_runs(rows)
        e, d = found.runs["b"].rate, found.differences["b"]
        seen.append((raw, e.low <= truths[1] <= e.high, d.value, d.low <= truth <= d.high, d.high - d.low, e.value))
    raw, covers, value, difference_covers, width, rate = np.mean(seen, axis=0)
    print(
        f"| {users} | {truths[1]:.1f} | {rate:.1f} | {100 * covers:.1f} | {truth:+.1f} | {raw:+.1f} | {value:+.1f} "
        f"| {100 * difference_covers:.1f} | {width:.1f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=500)
    samples = parser.parse_args().samples
    print("| users | case | true rate | score | length-controlled | covers, % | width | undefined |")
    print("|---|---|---|---|---|---|---|---|")
    for users in (12, 30, 100):
        for case in ({}, {"long": 0.02}, {"level": 2.0}, {"level": -3.5}, {"tied": 0.5}, {"slope": 6.0}):
            single_row(users, samples, **case)
    print("\n| users | true rate of b | b | covers, % | true b − a | score b − a | b − a | covers, % | width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for users in (12, 30, 100):
        for gain in (0.0, 0.7):
            joint_row(users, samples, gain)


if __name__ == "__main__":
    main()
