"""Human evaluation of question benchmarks: people's labels correct the benchmark's main metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bowstring.benchmarks.people import JudgedScore, QuestionPeople, Record, Task
from bowstring.benchmarks.questions.leading import leading_metric
from bowstring.labels import YES_OR_NO_SCORES
from bowstring.metrics.measures import Measure


@dataclass(frozen=True, slots=True)
class LeadingMetricPeople(QuestionPeople):
    """Labels can correct the main metric if it follows from the verdict alone."""

    def corrected_metrics(self, settings: Mapping[str, Any]) -> Mapping[str, Measure]:
        lead = leading_metric(self.benchmark.metrics({"settings": settings}))
        one = len(lead.measure.components) == 1 and _of_verdict(lead.measure, "yes") is not None
        return {lead.name: lead.measure} if one else {}

    def judged_scores(self, record: Record) -> Iterator[JudgedScore]:
        if self.answer not in record:
            return
        for measure in self.corrected_metrics({}).values():
            (component,) = measure.components
            values = (measure.parts(record) or {}).get(component) if record.get("score") is not None else None
            yield JudgedScore(self.tasks[0], component, self.item(record), float(values[0]) if values else None)

    def score_of(self, task: Task, label: str) -> float | None:  # noqa: ARG002
        (measure,) = self.corrected_metrics({}).values()
        return _of_verdict(measure, label.lower())


def _of_verdict(measure: Measure, verdict: str) -> float | None:
    """What a record with this verdict contributes; None if that depends on more than the verdict."""
    if verdict not in YES_OR_NO_SCORES:
        return None
    try:
        parts = measure.parts({"verdict": verdict, "score": YES_OR_NO_SCORES[verdict]})
    except (KeyError, TypeError):
        return None
    values = [value for own in (parts or {}).values() for value in own]
    return float(values[0]) if len(values) == 1 else None
