"""Scores and differences of runs, corrected for errors of the judge with people's labels for some of the items.

    found = corrected_comparison(contenders, "weak", keys, [Path("people.jsonl")], by_judge)
    found.differences["score.total"]["strong"]

A judge that favours one model makes a difference where there is none. Labels of both runs' answers correct that. The
items are those that all runs answered; the labelled ones may be different questions in each run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bowstring.benchmarks.interface import require_part
from bowstring.benchmarks.of_run import installed_benchmark
from bowstring.benchmarks.people import JudgedScore, People
from bowstring.metrics.comparing import CorrectedDifference, holm, minimum_holm_factors
from bowstring.metrics.correction import LEAST, Corrected, Items, corrected, corrected_difference, enough_labels
from bowstring.metrics.measures import Measure
from bowstring.records import by_item
from bowstring.runs.runner import Record
from bowstring.studies.loading import Contender
from bowstring.studies.people_labels import PeopleLabels, judged_items, match_labels

Differences = Mapping[str, Mapping[str, CorrectedDifference]]  # metric, run: run − baseline


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A difference for which the judge and the labels do not lead to the same conclusion."""

    metric: str
    run: str
    judge: CorrectedDifference
    labels: CorrectedDifference

    @property
    def what(self) -> str:
        opposite = self.judge.value * self.labels.value < 0
        if self.judge.significant and self.labels.significant:
            return "both differences are significant, with opposite signs"
        also = " and has the opposite sign" if opposite else ""
        if self.judge.significant:
            return f"the judge's difference is significant, the corrected one is not{also}"
        return f"the corrected difference is significant, the judge's is not{also}"


@dataclass(frozen=True, slots=True)
class CorrectedComparison:
    """`too_few` names the runs that lack labels, by metric. `differences` are run − baseline."""

    labels: PeopleLabels
    labelled: Mapping[str, int]  # items by run
    scores: dict[str, dict[str, Corrected]]  # metric, run
    differences: dict[str, dict[str, CorrectedDifference]]
    too_few: dict[str, list[str]]
    contradictions: list[Contradiction]

    def as_json(self) -> dict[str, Any]:
        return {
            "labels": list(self.labels.files),
            "items": dict(self.labelled),
            "raters": self.labels.raters,
            "left_out": dict(self.labels.left_out),
            "least": LEAST,
            "too_few": self.too_few,
            "scores": {m: {run: one.as_json() for run, one in own.items()} for m, own in self.scores.items()},
            "differences": {m: {run: one.as_json() for run, one in own.items()} for m, own in self.differences.items()},
            "contradictions": [{"metric": c.metric, "run": c.run, "what": c.what} for c in self.contradictions],
        }


def corrected_comparison(
    contenders: Sequence[Contender],
    baseline: str,
    keys: Sequence[str],
    files: Sequence[Path],
    by_judge: Differences,
) -> CorrectedComparison:
    """Correct every metric that labels can correct. `by_judge` are the uncorrected differences."""
    benchmark = installed_benchmark(contenders[0].benchmark)
    what = "scores that labels can correct"
    people = require_part(benchmark, benchmark.people(), what)
    settings = contenders[0].configuration["settings"]
    measures = require_part(benchmark, people.corrected_metrics(settings) or None, what)
    judged = {run.name: _Judged(people, benchmark.cluster_of, run.records, keys) for run in contenders}
    tasks = {one.item: one.task for own in judged.values() for one in own.all_scores()}
    labels = match_labels(files, people, tasks, [run.folder for run in contenders])
    items = {metric: _shared_items(measure, judged, labels) for metric, measure in measures.items()}
    scores = {metric: _scores(measure, items[metric]) for metric, measure in measures.items()}
    found = {metric: _differences(measure, items[metric], baseline) for metric, measure in measures.items()}
    differences = {metric: own for metric, own in found.items() if own}
    return CorrectedComparison(
        labels=labels,
        labelled={
            name: len({one.item for one in own.all_scores()} & labels.scores.keys()) for name, own in judged.items()
        },
        scores={metric: own for metric, own in scores.items() if own},
        differences=differences,
        too_few={metric: few for metric, own in items.items() if (few := [n for n in own if n not in scores[metric]])},
        contradictions=list(_contradictions(by_judge, differences)),
    )


class _Judged:
    """The judge's scores of a run, by item: several if it was answered or judged several times."""

    def __init__(self, people: People, cluster_of: Any, records: Mapping[str, Record], keys: Sequence[str]) -> None:
        repeats = by_item(records.values())
        self.rows = {
            key: [(cluster_of(record), record, one) for record in repeats[key] for one in people.judged_scores(record)]
            for key in keys
        }

    def all_scores(self) -> Iterator[JudgedScore]:
        return (one for rows in self.rows.values() for *_, one in rows)

    def components(self, key: str, measure: Measure) -> set[str]:
        """The components of a metric that a record has items of."""
        return {one.component for *_, one in self.rows[key]} & set(measure.components)


def _shared_items(measure: Measure, judged: Mapping[str, _Judged], labels: PeopleLabels) -> dict[str, Items]:
    """The items of a metric by run, of the records that every run has an answer for."""
    first = next(iter(judged.values()))
    shared = [
        key
        for key in first.rows
        if (wanted := first.components(key, measure))
        and all(own.components(key, measure) == wanted for own in judged.values())
    ]
    return {
        name: judged_items(measure, [row for key in shared for row in own.rows[key]], labels.scores)
        for name, own in judged.items()
    }


def _scores(measure: Measure, items: Mapping[str, Items]) -> dict[str, Corrected]:
    found = {name: corrected(own, measure.statistic, ends=measure.ends) for name, own in items.items()}
    return {name: one for name, one in found.items() if one is not None}


def _differences(measure: Measure, items: Mapping[str, Items], baseline: str) -> dict[str, CorrectedDifference]:
    """The differences from the baseline, with Holm's correction for their number."""
    found = {
        name: corrected_difference(items[baseline], own, measure.statistic, ends=measure.ends)
        for name, own in items.items()
        if name != baseline and enough_labels(own) and enough_labels(items[baseline])
    }
    known = {name: one for name, one in found.items() if one is not None}
    ps, times = holm([d.p for d in known.values()]), minimum_holm_factors([d.clusters for d in known.values()])
    return {
        name: CorrectedDifference(**asdict(one), corrected=p, comparisons=n, left_out=0)
        for (name, one), p, n in zip(known.items(), ps, times, strict=True)
    }


def _contradictions(by_judge: Differences, by_labels: Differences) -> Iterator[Contradiction]:
    for metric, own in by_labels.items():
        for run, labels in own.items():
            judge = by_judge.get(metric, {}).get(run)
            if judge is None or not (judge.significant or labels.significant):
                continue
            if judge.significant != labels.significant or judge.value * labels.value < 0:
                yield Contradiction(metric, run, judge, labels)
