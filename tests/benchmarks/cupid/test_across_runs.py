"""Correlation of inference and generation across runs, beside the one within each run."""

import random
from functools import partial

import pytest
from scipy.stats import pearsonr

from bowstring.benchmarks.cupid.scores import cluster_of, metrics
from bowstring.studies.across_runs import correlate_across_runs

METRICS = metrics("ours")


def run_of(level, slope, seed):
    """Records of a run: `level` is how good it is in both tasks, `slope` how far they agree on an instance."""
    rng = random.Random(seed)
    records = {}
    for n in range(60):
        hard = rng.random()
        covered = [float(rng.random() < level * hard * 2) for _ in range(4)]
        score = min(10, max(1, round(10 * level + slope * (sum(covered) - 2) + rng.gauss(0, 1))))
        records[str(n)] = {
            "persona": f"p{n // 3}",
            "checklist": ["a", "b", "c", "d"],
            "inference": {"precision": covered, "recall": covered},
            "generation": {"score": float(score)},
        }
    return records


def correlated(runs):
    clusters = {key: cluster_of(record) for key, record in next(iter(runs.values())).items()}
    values = {
        name: {
            run: found
            for run, records in runs.items()
            if (found := METRICS.measures[name].estimate([(cluster_of(r), r) for r in records.values()]))
        }
        for name in ("inference.f1", "generation.score")
    }
    return values, correlate_across_runs(METRICS, values, runs, clusters)


def test_runs_that_are_good_at_one_task_are_good_at_the_other_although_instances_say_nothing():
    runs = {f"run {n}": run_of(level, 0.0, n) for n, level in enumerate((0.2, 0.3, 0.5, 0.6, 0.8))}
    values, (found,) = correlated(runs)
    expected = pearsonr(*([own[run].value for run in runs] for own in values.values()))
    assert found.value == pytest.approx(expected.statistic)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.value > 0.9
    assert all(own.low < 0 < own.high for own in found.within.values())
    assert "across 5 runs: " in found.sentence
    assert "as if the runs were independent" in found.sentence
    assert "Over the items of a run: run 0 " in found.sentence


def test_within_a_run_it_is_the_metric_of_the_run():
    from bowstring.benchmarks.cupid.scores import _correlation

    runs = {f"run {n}": run_of(0.3 + n / 10, 1.5, n) for n in range(3)}
    _, (found,) = correlated(runs)
    assert found.interval is None
    assert "no interval, so this says little" in found.sentence
    for name, records in runs.items():
        assert found.within[name].as_json() == pytest.approx(_correlation(list(records.values())).as_json())


def test_it_takes_three_runs_that_have_both():
    build = partial(run_of, slope=1.0)
    three = {f"run {n}": build(0.3 + n / 10, seed=n) for n in range(3)}
    assert correlated(dict(list(three.items())[:2]))[1] == []
    for record in three["run 2"].values():
        del record["generation"]
    assert correlated(three)[1] == []
