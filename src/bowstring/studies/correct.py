"""Scores of a run, corrected for errors of its judge with people's labels for some of the items.

    correct(open_run(Path("runs/NAME")), records, Path("people.jsonl"))["scores"]["score.persona"]

Labels are matched to items by the rated texts (`datasets/ratings.item_id`); labels of several people for an item are
averaged. The benchmark defines which metrics can be corrected, and the score of a label (`People`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import require_part
from bowstring.benchmarks.people import JudgedScore
from bowstring.datasets.ratings import GOLD_CHECK, read_ratings
from bowstring.errors import DataError, UsageError
from bowstring.metrics.clusters import Score
from bowstring.metrics.correction import LEAST, Corrected, Labelled, corrected
from bowstring.metrics.measures import Measure
from bowstring.runs.folder import EndedRun
from bowstring.runs.runner import Record

ClusteredScore = tuple[str, JudgedScore]  # cluster of the record, score


def correct(run: EndedRun, records: Sequence[Record], labels: Path) -> dict[str, Any]:
    """The judge's and the corrected scores by metric, and counts of used and unused labels."""
    benchmark = registry.get(run.configuration["benchmark"])
    what = "scores that labels can correct"
    people = require_part(benchmark, benchmark.people(), what)
    measures = require_part(benchmark, people.corrected_metrics(run.configuration["settings"]) or None, what)
    judged = [(benchmark.cluster_of(record), one) for record in records for one in people.judged_scores(record)]
    if not labels.is_file():
        raise UsageError(f"--labels {labels}: no such file; expected a .jsonl or .csv file with item, rater and label")
    read = read_ratings(labels)
    given: dict[str, list[float]] = {}
    unknown: Counter[str] = Counter()
    tasks = {one.item: one.task for _, one in judged}
    for place, rating in read.rows:
        if rating.sides is not None:
            unknown["for comparisons of two runs (left out)"] += 1
            continue
        task = tasks.get(rating.item)
        if task is None:
            unknown["for other items (left out)"] += 1
            continue
        value = people.score_of(task, rating.label)
        if value is None:
            raise DataError(f"{place}: label is {rating.label!r}; expected {task.expected}")
        given.setdefault(rating.item, []).append(value)
    for (*_, reason), n in read.left_out.items():
        unknown["of gold checks (left out)" if reason == GOLD_CHECK else reason] += n
    if not given and (sides := next((rating.sides for _, rating in read.rows if rating.sides), None)):
        raise UsageError(
            f"{labels}: its labels compare two runs, {' and '.join(sides)}, and cannot correct a score; "
            f"collect labels of answers against gold answers with: bowstring annotate {run.path}"
        )
    if not given:
        raise UsageError(
            f"{labels}: no label is for an item of {run.path}; expected item ids as in bowstring annotate export"
        )
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


def _corrected(measure: Measure, judged: Sequence[ClusteredScore], people: Mapping[str, float]) -> Corrected | None:
    scores: dict[str, list[Score]] = {name: [] for name in measure.components}
    labelled: dict[str, list[Labelled]] = {name: [] for name in measure.components}
    for cluster, one in judged:
        if one.component in scores:
            scores[one.component].append(Score(cluster, one.score))
            if one.item in people:
                labelled[one.component].append(Labelled(cluster, people[one.item], one.score))
    return corrected(scores, labelled, measure.statistic, ends=measure.ends)
