"""The items on which runs differ most, with what each run answered and how that was judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bowstring.benchmarks.view import Answered, View
from bowstring.metrics.measures import Measure
from bowstring.runs.runner import Record
from bowstring.seeding import seeded_number


@dataclass(frozen=True, slots=True)
class Example:
    key: str
    type: str
    apart: float  # between the runs, summed over what the metric is made of
    question: str
    gold: str
    answers: dict[str, Answered]


def most_different(
    view: View,
    metric: str,
    measure: Measure,
    records: Mapping[str, Mapping[str, Record]],
    keys: Sequence[str],
    items: int,
) -> list[Example]:
    """The `items` on which the metric differs most between any two runs; of equal ones, some by lot."""
    apart = {key: _apart(measure, [own[key] for own in records.values()]) for key in keys}
    differing = sorted(
        (key for key in keys if apart[key] > 0), key=lambda key: (-apart[key], seeded_number(0, "differing", key))
    )
    return [
        _example(view, metric, apart[key], {n: own[key] for n, own in records.items()}) for key in differing[:items]
    ]


def _apart(measure: Measure, records: Sequence[Record]) -> float:
    """How far the means of an item's components lie apart; nothing where a run has none."""
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
        question=view.asked(first),
        gold=view.gold(first),
        answers={name: view.answered(metric, record) for name, record in records.items()},
    )
