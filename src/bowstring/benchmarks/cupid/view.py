"""Display of CUPID runs: requests, inferred preferences, checklists, ratings, errors of inferences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from bowstring.benchmarks.figures import Figure, Histogram, Scatter, lengths_figure
from bowstring.benchmarks.view import (
    Item,
    Record,
    RunAnswer,
    View,
    ending_in_words,
    failure_in_words,
    present,
    words_of,
)
from bowstring.metrics.measures import MetricSet


class CupidView(View):
    def item(self, record: Record) -> Item:
        inference, generation = record.get("inference", {}), record.get("generation", {})
        parts = [("request", record["request"]), ("context", record["context_factor"])]
        parts += [("preference", record["preference"])]
        parts += [("inferred", inference.get("preference") or inference.get("response"))]
        if "precision" in inference:
            parts += [("of the inferred checklist", _labelled(inference["precision"], inference["checklist"]))]
            parts += [("of the gold checklist", _labelled(inference["recall"], record["checklist"]))]
        else:
            parts += [("gold checklist", "\n".join(record["checklist"]))]
        parts += [("inference", _why(inference)), ("answer", generation.get("response"))]
        parts += [("judge", generation.get("judgement")), ("generation", _why(generation))]
        return Item(
            key=record["key"],
            title=record["request"],
            facets={
                "type": record["type"],
                "inference": _status(inference),
                "score": _rating(generation),
                "ended": ending_in_words(generation),
            },
            numbers={
                "score": generation.get("score"),
                "precision": _mean(inference.get("precision")),
                "recall": _mean(inference.get("recall")),
                "words": words_of(generation.get("response")),
                "distance": record.get("distance"),
            },
            parts=present(parts),
            history=record["key"],
            evidence=record["evidence"],
            retrieved=record.get("retrieved", []),
        )

    def question_text(self, record: Record) -> str:
        return str(record["request"])

    def gold(self, record: Record) -> str:
        return str(record["preference"])

    def run_answer(self, metric: str, record: Record) -> RunAnswer:
        if metric.startswith("generation"):
            task: Record = record["generation"]
            return RunAnswer(task.get("response", ""), f"score {task.get('score', '–')}", task.get("judgement"))
        task = record["inference"]
        means = [f"{side} {sum(task[side]) / len(task[side]):.2f}" for side in ("precision", "recall") if side in task]
        return RunAnswer(task.get("preference", ""), ", ".join(means), None)

    def figures(self, records: Sequence[Record], metric_set: MetricSet) -> Iterable[Figure]:
        scored = [r["generation"] for r in records if r.get("generation", {}).get("score") is not None]
        rated = {"answers": [float(g["score"]) for g in scored]}
        yield Histogram("ratings", "Ratings of answers", "score", rated, [n + 0.5 for n in range(11)])
        yield Scatter(
            "inference-generation",
            "Inference and generation, one point per instance",
            "recall of the gold checklist",
            "score of the answer",
            [
                (100 * sum(r["inference"]["recall"]) / len(r["inference"]["recall"]), float(r["generation"]["score"]))
                for r in records
                if r.get("inference", {}).get("recall") and r.get("generation", {}).get("score") is not None
            ],
            (metric_set.range("inference.recall"), metric_set.range("generation.score")),
        )
        yield lengths_figure({"answers": [float(len(g["response"].split())) for g in scored]})

    def about_scores(self, metrics: Mapping[str, Any], metric_set: MetricSet) -> str:  # noqa: ARG002
        inferred, rated = (metric_set.scale(name).range_text for name in ("inference.f1", "generation.score"))
        return (
            f"Inference: {inferred}, over checklist items pooled as published, and by instance. Generation: {rated}. "
            "Higher is better."
        )

    def fragment(self) -> Traversable:
        return files("bowstring.benchmarks.cupid") / "page.html"


_COVERAGE = {1.0: "covered", 0.5: "partly", 0.0: "missing"}


def _labelled(found: Sequence[float], entries: Sequence[str]) -> str:
    return "\n".join(f"{_COVERAGE.get(f, f)}: {entry}" for f, entry in zip(found, entries, strict=True))


def _status(part: Record) -> str:
    if not part:
        return "not run"
    return "failed" if "failure" in part else "unparsed" if "unparsed" in part else "read"


def _rating(part: Record) -> str:
    return f"{part['score']:g}" if part.get("score") is not None else _status(part)


def _why(part: Record) -> str | None:
    if "unparsed" in part:
        return f"unparsed {part['unparsed']}{': ' + part['why'] if part.get('why') else ''}"
    return failure_in_words(part)


def _mean(values: Sequence[float] | None) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
