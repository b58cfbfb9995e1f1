"""A run's scores, corrected for its judge's mistakes by what people say of some of the items.

    correct(open_run(Path("runs/NAME")), records, Path("people.jsonl"))["scores"]["score.persona"]

People's labels find the run's items by the texts that were rated (`datasets/ratings.item_id`); several people on an
item count as their mean. Which metrics can be corrected, and what a label is worth, the benchmark says (`People`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import needed
from bowstring.benchmarks.people import JudgedScore
from bowstring.datasets.ratings import read_ratings
from bowstring.errors import DataError, UsageError
from bowstring.metrics.clusters import Score
from bowstring.metrics.correction import LEAST, Corrected, Labelled, corrected
from bowstring.metrics.measures import Measure
from bowstring.runs.folder import EndedRun
from bowstring.runs.runner import Record

Judged = tuple[str, JudgedScore]  # with the cluster of the record


def correct(run: EndedRun, records: Sequence[Record], labels: Path) -> dict[str, Any]:
    """Corrected scores beside the judge's, by metric; and what became of the labels."""
    benchmark = registry.get(run.configuration["benchmark"])
    what = "scores that labels can correct"
    people = needed(benchmark, benchmark.people(), what)
    measures = needed(benchmark, people.corrected_metrics(run.configuration["settings"]) or None, what)
    judged = [(benchmark.cluster_of(record), one) for record in records for one in people.judged_scores(record)]
    read = read_ratings(labels)
    given: dict[str, list[float]] = {}
    unknown: Counter[str] = Counter()
    tasks = {one.item: one.task for _, one in judged}
    for place, rating in read.rows:
        if rating.sides is not None:
            unknown["of two runs against each other"] += 1
            continue
        task = tasks.get(rating.item)
        if task is None:
            unknown["of other items than the run's"] += 1
            continue
        value = people.score_of(task, rating.label)
        if value is None:
            raise DataError(f"{place}: label is {rating.label!r}; expected {task.expected}")
        given.setdefault(rating.item, []).append(value)
    unknown.update({reason: n for (*_, reason), n in read.left_out.items()})
    if not given and (sides := next((rating.sides for _, rating in read.rows if rating.sides), None)):
        raise UsageError(
            f"{labels}: its labels compare two runs, {' and '.join(sides)}, and cannot correct a score; those that can "
            f"are of a run's answers against the gold ones: bowstring annotate {run.path}"
        )
    if not given:
        raise UsageError(f"{labels}: no label is of an item of {run.path}; item ids are those of bowstring annotate")
    means = {item: sum(values) / len(values) for item, values in given.items()}
    found = {name: _corrected(measure, judged, means) for name, measure in measures.items()}
    return {
        "labels": str(labels),
        "items": len(means),
        "raters": len({rating.rater for _, rating in read.rows if rating.item in means}),
        "left_out": dict(unknown),
        "least": LEAST,
        "too_few": [name for name, one in found.items() if one is None],
        "scores": {name: one.as_json() for name, one in found.items() if one is not None},
    }


def _corrected(measure: Measure, judged: Sequence[Judged], people: Mapping[str, float]) -> Corrected | None:
    scores: dict[str, list[Score]] = {name: [] for name in measure.components}
    labelled: dict[str, list[Labelled]] = {name: [] for name in measure.components}
    for cluster, one in judged:
        if one.component in scores:
            scores[one.component].append(Score(cluster, one.score))
            if one.item in people:
                labelled[one.component].append(Labelled(cluster, people[one.item], one.score))
    return corrected(scores, labelled, measure.statistic, ends=measure.ends)
