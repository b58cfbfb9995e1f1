"""A run's scores, corrected for its judge's mistakes by what people say of some of the items.

    correct(read_run(Path("runs/NAME")), records, Path("people.jsonl"))["scores"]["score.persona"]

People's labels find the run's items by the texts that were rated (`datasets/ratings.item_id`); several people on an
item count as their mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bowstring.benchmarks.cupid import scores as cupid_scores
from bowstring.benchmarks.cupid.types import COVERAGE_SIDES
from bowstring.benchmarks.hicupid import scores as hicupid_scores
from bowstring.benchmarks.hicupid.judging import SCORES
from bowstring.datasets.ratings import Task, cluster_of, item_id, read_ratings
from bowstring.errors import DataError, UsageError
from bowstring.metrics.correction import LEAST, Corrected, Labelled, corrected
from bowstring.metrics.intervals import Score
from bowstring.metrics.measures import Measure
from bowstring.metrics.scales import number_in
from bowstring.runs.folder import EndedRun
from bowstring.runs.runner import Record
from bowstring.studies.judgements import LABEL_OF

_COVERAGE: Mapping[str, float] = {label: score for score, label in LABEL_OF.items()}
_EXPECTED = {
    "compare": "win, tie or lose",
    "satisfaction": "yes or no",
    "rate": "a number from 1 to 10",
    "coverage": "Fully Covered, Partially Covered or Not Covered",
}
_CHOICES = {"compare": ("win", "tie", "lose"), "satisfaction": ("yes", "no")}
Judged = tuple[str, str, str, float]  # component, item, cluster, the judge's score


def correct(run: EndedRun, records: Sequence[Record], labels: Path) -> dict[str, Any]:
    """Corrected scores beside the judge's, by metric; and what became of the labels."""
    hicupid = run.configuration["benchmark"] == "hicupid"
    scale = run.configuration["settings"].get("scoring", "bowstring")
    measures = hicupid_scores.MEASURES if hicupid else cupid_scores.measures(scale)
    judged = [row for record in records for row in (_of_hicupid(record) if hicupid else _of_cupid(record))]
    read = read_ratings(labels)
    given: dict[str, list[float]] = {}
    unknown: Counter[str] = Counter()
    items = {item for _, item, _, _ in judged}
    for place, rating in read.rows:
        if rating.sides is not None:
            unknown["of two runs against each other"] += 1
            continue
        if rating.item not in items:
            unknown["of other items than the run's"] += 1
            continue
        value = _value(rating.item.partition("/")[0], rating.label)
        if value is None:
            task = rating.item.partition("/")[0]
            raise DataError(f"{place}: label is {rating.label!r}; expected {_EXPECTED[task]}")
        given.setdefault(rating.item, []).append(value)
    unknown.update({reason: n for (*_, reason), n in read.left_out.items()})
    if not given and (sides := next((rating.sides for _, rating in read.rows if rating.sides), None)):
        raise UsageError(
            f"{labels}: its labels compare two runs, {' and '.join(sides)}, and cannot correct a score; those that can "
            f"are of a run's answers against the gold ones: bowstring annotate {run.path}"
        )
    if not given:
        raise UsageError(f"{labels}: no label is of an item of {run.path}; item ids are those of bowstring annotate")
    people = {item: sum(values) / len(values) for item, values in given.items()}
    found = {name: _corrected(measure, judged, people) for name, measure in measures.items() if name in _CORRECTED}
    return {
        "labels": str(labels),
        "items": len(people),
        "raters": len({rating.rater for _, rating in read.rows if rating.item in people}),
        "left_out": dict(unknown),
        "least": LEAST,
        "too_few": [name for name, one in found.items() if one is None],
        "scores": {name: one.as_json() for name, one in found.items() if one is not None},
    }


_CORRECTED = (
    "score.total",
    "score.persona",
    "score.profile",
    "score.schedule",
    "inference.precision",
    "inference.recall",
    "inference.f1",
    "generation.score",
)


def _corrected(measure: Measure, judged: Sequence[Judged], people: Mapping[str, float]) -> Corrected | None:
    scores: dict[str, list[Score]] = {name: [] for name in measure.components}
    labelled: dict[str, list[Labelled]] = {name: [] for name in measure.components}
    for component, item, cluster, score in judged:
        if component in scores:
            scores[component].append(Score(cluster, score))
            if item in people:
                labelled[component].append(Labelled(cluster, people[item], score))
    return corrected(scores, labelled, measure.statistic, ends=measure.ends)


def _of_hicupid(record: Record) -> Iterator[Judged]:
    if record.get("score") is not None:
        task: Task = "satisfaction" if record["type"] == "schedule" else "compare"
        yield record["type"], item_id(task, record), cluster_of(record), record["score"]


def _of_cupid(record: Record) -> Iterator[Judged]:
    inference, generation = record.get("inference", {}), record.get("generation", {})
    if generation.get("score") is not None:
        yield "x", item_id("rate", record), cluster_of(record), generation["score"]
    if "recall" in inference and "unparsed" not in inference:
        for side in COVERAGE_SIDES:
            for place, score in enumerate(inference[side]):
                item = item_id("coverage", record, side=side, place=place)
                yield side[0], item, cluster_of(record), score


def _value(task: str, label: str) -> float | None:
    if task in _CHOICES:
        return SCORES[label.lower()] if label.lower() in _CHOICES[task] else None
    if task == "coverage":
        return _COVERAGE.get(label)
    number = number_in(label)
    return number if number is not None and 1 <= number <= 10 else None
