"""Scores of a question benchmark: accuracy and evidence recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bowstring.benchmarks.components import variance_of_metrics
from bowstring.metrics.measures import MetricSet, estimates_as_json, mean, unscored_as_json
from bowstring.runs.runner import Record


def _unjudged(record: Mapping[str, Any]) -> bool:
    return "failure" in record or ("judgement" in record and record.get("score") is None)


METRICS = MetricSet(
    {
        "accuracy": mean(lambda record: record.get("score"), 100, lacks=_unjudged),
        "recall": mean(lambda record: record.get("recall"), 100, lacks=lambda record: False),
    },
    leading=("accuracy", "recall"),
)

Grouped = Callable[[Sequence[Record]], dict[str, dict[str, list[Record]]]]


def summarize(
    records: Sequence[Record], metrics: MetricSet, cluster_of: Callable[[Mapping[str, Any]], str], grouped: Grouped
) -> dict[str, Any]:
    def clustered(some: Sequence[Record]) -> list[tuple[str, Record]]:
        return [(cluster_of(record), record) for record in some]

    def estimates(some: Sequence[Record]) -> dict[str, Any]:
        return estimates_as_json(metrics.measures, clustered(some))

    groups = {
        axis: {group: estimates(members) for group, members in of_axis.items()}
        for axis, of_axis in grouped(records).items()
    }
    return {
        "n": len(records),
        "unparsed": sum("judgement" in r and r["score"] is None for r in records),
        "failed": sum("failure" in r for r in records),
        "truncated": sum(r.get("finish") == "length" for r in records),
        "refused": sum(r.get("finish") in ("refusal", "filter") for r in records),
        "shown": {name: _mean(r["shown"][name] for r in records if "shown" in r) for name in ("turns", "characters")},
        "words": {name: _mean(len(r[name].split()) for r in records if name in r) for name in ("answer", "gold")},
        "metrics": estimates(records),
        "unscored": unscored_as_json(metrics, clustered(records)),
        "variance": variance_of_metrics(metrics, records, cluster_of),
        "groups": groups,
    }


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
