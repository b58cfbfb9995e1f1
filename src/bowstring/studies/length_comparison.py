"""Length-controlled scores of runs on the same items, fitted jointly.

    length_comparison(contenders, "weak", keys).controlled.runs["strong"].rate

For benchmarks whose answers are compared with another answer (`Benchmark.compared_lengths`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bowstring.benchmarks.findings import rate_of
from bowstring.benchmarks.of_run import installed_benchmark
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.length_control import Comparison, LengthControlledRuns, length_controlled_runs
from bowstring.studies.loading import Contender


@dataclass(frozen=True, slots=True)
class LengthComparison:
    """`scores` are those of the judge on the same comparisons. Differences are run − baseline."""

    scores: dict[str, Estimate]
    controlled: LengthControlledRuns

    def as_json(self) -> dict[str, Any]:
        return {
            "runs": {
                name: {"score": self.scores[name].as_json(), **own.as_json()}
                for name, own in self.controlled.runs.items()
            },
            "differences": {name: own.as_json() for name, own in self.controlled.differences.items()},
        }


def length_comparison(contenders: Sequence[Contender], baseline: str, keys: Sequence[str]) -> LengthComparison | None:
    """On the comparisons that all runs have; None if there are none."""
    benchmark = installed_benchmark(contenders[0].benchmark)
    ordered = sorted(contenders, key=lambda run: run.name != baseline)  # differences are from the first
    compared = {run.name: benchmark.compared_lengths([run.records[key] for key in keys]) for run in ordered}
    shared = set.intersection(*({c.item for c in own} for own in compared.values()))
    rows = {name: [c for c in own if c.item in shared] for name, own in compared.items()}
    scores = {name: score for name, own in rows.items() if (score := _score(own)) is not None}
    return LengthComparison(scores, length_controlled_runs(rows)) if scores else None


def _score(compared: Sequence[Comparison]) -> Estimate | None:
    return rate_of([Score(c.cluster, c.outcome) for c in compared])
