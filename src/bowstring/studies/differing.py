"""The items on which runs differ most, with what each run answered and how that was judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bowstring.metrics.measures import Measure
from bowstring.runs.runner import Record
from bowstring.seeding import seeded_number


@dataclass(frozen=True, slots=True)
class Answered:
    """What a run said to an item, what that came to, and the judge's words."""

    answer: str
    verdict: str
    judgement: str | None


@dataclass(frozen=True, slots=True)
class Example:
    key: str
    type: str
    apart: float  # between the runs, summed over what the metric is made of
    question: str
    gold: str
    answers: dict[str, Answered]


def most_different(
    benchmark: str,
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
        _example(benchmark, metric, apart[key], {n: own[key] for n, own in records.items()})
        for key in differing[:items]
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


def _example(benchmark: str, metric: str, apart: float, records: Mapping[str, Record]) -> Example:
    first = next(iter(records.values()))
    hicupid = benchmark == "hicupid"
    read = _hicupid if hicupid else _cupid
    return Example(
        key=first["key"],
        type=first["type"],
        apart=apart,
        question=first["question" if hicupid else "request"],
        gold=first["personalized_answer" if hicupid else "preference"],
        answers={name: read(metric, record) for name, record in records.items()},
    )


def _hicupid(metric: str, record: Record) -> Answered:
    if metric.startswith("recall"):
        found = ", ".join(map(str, record.get("retrieved", ())))
        return Answered(found, f"recall {record.get('recall')}", None)
    if metric in ("bleu", "rouge_l"):
        return Answered(record.get("answer", ""), f"{metric} {record[metric]:.3f}", None)
    verdicts = [record[name] for name in ("verdict", "swapped_verdict") if name in record]
    judgements = [record[name] for name in ("judgement", "swapped_judgement") if name in record]
    return Answered(record.get("answer", ""), " / ".join(map(str, verdicts)), "\n\n".join(judgements) or None)


def _cupid(metric: str, record: Record) -> Answered:
    if metric.startswith("generation"):
        task: Mapping[str, Any] = record["generation"]
        return Answered(task.get("response", ""), f"score {task.get('score', '–')}", task.get("judgement"))
    task = record["inference"]
    means = [f"{side} {sum(task[side]) / len(task[side]):.2f}" for side in ("precision", "recall") if side in task]
    return Answered(task.get("preference", ""), ", ".join(means), None)
