"""The items on which runs differ most, with the answers and verdicts of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bowstring.benchmarks.view import RunAnswer, View
from bowstring.metrics.measures import Measure
from bowstring.runs.runner import Record
from bowstring.seeding import seeded_number


@dataclass(frozen=True, slots=True)
class Example:
    key: str
    type: str
    apart: float  # between the runs, summed over the components of the metric
    question: str
    gold: str
    answers: dict[str, RunAnswer]


def most_different(
    view: View,
    metric: str,
    measure: Measure,
    records: Mapping[str, Mapping[str, Record]],
    keys: Sequence[str],
    items: int,
) -> list[Example]:
    """The `items` on which the metric differs most between any two runs; ties are broken at random."""
    apart = {key: _apart(measure, [own[key] for own in records.values()]) for key in keys}
    differing = sorted(
        (key for key in keys if apart[key] > 0), key=lambda key: (-apart[key], seeded_number(0, "differing", key))
    )
    return [
        _example(view, metric, apart[key], {n: own[key] for n, own in records.items()}) for key in differing[:items]
    ]


def _apart(measure: Measure, records: Sequence[Record]) -> float:
    """The largest difference between the means of an item's components; None if a run has none."""
    parts = [measure.parts(record) for record in records]
    total = 0.0
    for name in measure.components:
        means = [sum(p[name]) / len(p[name]) for p in parts if p is not None and name in p]
        if len(means) == len(records):
            total += max(means) - min(means)
    return total


def _example(view: View, metric: str, apart: float, records: Mapping[str, Record]) -> Example:
    first = next(iter(records.values()))
    return Example(
        key=first["key"],
        type=first.get("type", ""),
        apart=apart,
        question=view.question_text(first),
        gold=view.gold(first),
        answers={name: view.run_answer(metric, record) for name, record in records.items()},
    )
