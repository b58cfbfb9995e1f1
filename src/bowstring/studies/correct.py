"""Scores of a run, corrected for errors of its judge with people's labels for some of the items.

    correct(open_run(Path("runs/NAME")), records, Path("people.jsonl"))["scores"]["score.persona"]

The benchmark defines which metrics can be corrected, and the score of a label (`People`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import require_part
from bowstring.metrics.correction import LEAST, corrected
from bowstring.runs.folder import EndedRun
from bowstring.runs.runner import Record
from bowstring.studies.people_labels import judged_items, match_labels


def correct(run: EndedRun, records: Sequence[Record], file: Path) -> dict[str, Any]:
    """The judge's and the corrected scores by metric, and counts of used and unused labels."""
    benchmark = registry.get(run.configuration["benchmark"])
    what = "scores that labels can correct"
    people = require_part(benchmark, benchmark.people(), what)
    measures = require_part(benchmark, people.corrected_metrics(run.configuration["settings"]) or None, what)
    judged = [(benchmark.cluster_of(record), record, one) for record in records for one in people.judged_scores(record)]
    labels = match_labels([file], people, {one.item: one.task for *_, one in judged}, [run.path])
    found = {
        name: corrected(judged_items(measure, judged, labels.scores), measure.statistic, ends=measure.ends)
        for name, measure in measures.items()
    }
    return {
        "labels": str(file),
        "items": len(labels.scores),
        "raters": labels.raters,
        "left_out": dict(labels.left_out),
        "least": LEAST,
        "too_few": [name for name, one in found.items() if one is None],
        "scores": {name: one.as_json() for name, one in found.items() if one is not None},
    }
