"""CUPID's metrics: precision, recall and F1 over checklist items, and the judge's score.

They are pooled over all items, as published, and also averaged by instance; intervals are clustered by persona. An
instance with an unparsed part is left out of precision, recall and F1 together, and is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.benchmarks.components import variance_of_metrics
from bowstring.benchmarks.cupid import protocol_rules, published
from bowstring.benchmarks.cupid.validity import validity_of
from bowstring.benchmarks.interface import Noun
from bowstring.metrics.correlation import correlation
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.measures import (
    CORRELATION,
    Correlated,
    Family,
    Measure,
    MetricSet,
    Parts,
    Scale,
    by_protocols_as_json,
    estimates_as_json,
    mean,
    unread_as_json,
    unscored_as_json,
)
from bowstring.records import is_repeated
from bowstring.runs.runner import Record

_AXES = ("type", "category", "distance", "rules")
CLUSTER = Noun("persona", "personas")
_EXAMPLES = 3  # per kind of error
_SHOWN_KEYS = 20  # instances that are named for each rule


_SHOWN = ("sessions", "characters")


def summarize(records: Sequence[Record], *, protocol: str, analysed: bool) -> dict[str, Any]:
    groups = {
        axis: {group: _metrics(own, protocol) for group, own in members.items()}
        for axis, members in grouped(records).items()
    }
    tasks = [(r, r[task]) for r in records for task in ("inference", "generation") if task in r]
    unparsed = {r["key"] for r, task in tasks if "unparsed" in task}
    parts = Counter(task["unparsed"] for _, task in tasks if "unparsed" in task)
    found: dict[str, Any] = {
        "n": len(records),
        "unparsed": len(unparsed),
        "unparsed_parts": dict(sorted(parts.items())),
        "failed": len({r["key"] for r, task in tasks if "failure" in task or "failure" in task.get("error", {})}),
        "truncated": sum(task.get("finish") == "length" for _, task in tasks),
        "refused": sum(task.get("finish") in ("refusal", "filter") for _, task in tasks),
        "validity": validity_of([r for r in records if not is_repeated(r)], cluster_of),
        "protocol": protocol,
        "shown": {
            name: _mean([r["shown"][name] for r in records if "shown" in r]) for name in ("sessions", "characters")
        },
        "metrics": _metrics(records, protocol),
        **by_protocols_as_json({name: _main(records, name) for name in ("bowstring", "published")}),
        "differences": _differences(records),
        "unscored": unscored_as_json(metrics(protocol), _clustered(records)),
        **unread_as_json(metrics(protocol), records),
        "variance": variance_of_metrics(metrics(protocol), records, cluster_of),
        "groups": groups,
    }
    if analysed:
        found["errors"] = _errors(records)
    return found


def _main(records: Sequence[Record], protocol: str) -> dict[str, Any]:
    """The main metrics by a protocol."""
    found, clustered = measures(protocol), _clustered(records)
    main = {name: found[name] for name in metrics(protocol).headline}
    return estimates_as_json(main, clustered)


def _differences(records: Sequence[Record]) -> dict[str, Any]:
    """The instances that count otherwise by the other protocol, by the rule that makes the difference."""
    rules: dict[str, list[str]] = {}
    for record in records:
        for rule in protocol_rules.differences(record):
            rules.setdefault(rule, []).append(record["key"])
    ordered = dict(sorted(rules.items(), key=lambda item: (-len(item[1]), item[0])))
    return {
        "rules": {rule: len(keys) for rule, keys in ordered.items()},
        "items": {rule: keys[:_SHOWN_KEYS] for rule, keys in ordered.items()},
    }


def grouped(records: Sequence[Record]) -> dict[str, dict[str, list[Record]]]:
    """The records by every axis with at least two groups."""
    found: dict[str, dict[str, list[Record]]] = {}
    for axis in _AXES:
        values = sorted({r[axis] for r in records if r.get(axis) is not None}, key=str)
        if len(values) > 1:
            found[axis] = {str(v): [r for r in records if r.get(axis) == v] for v in values}
    return found


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _metrics(records: Sequence[Record], protocol: str) -> dict[str, Any]:
    found = estimates_as_json(measures(protocol), _clustered(records))
    correlated = _correlation(records)
    return found | ({} if correlated is None else {"inference_generation.correlation": correlated.as_json()})


def _clustered(records: Sequence[Record]) -> list[tuple[str, Record]]:
    return [(cluster_of(record), record) for record in records]


def cluster_of(record: Mapping[str, Any]) -> str:
    """The persona: instances of one persona are not independent."""
    return str(record["persona"])


def measures(protocol: str) -> dict[str, Measure]:
    """The metrics by our rules or by the authors'."""
    rules = _PUBLISHED if protocol == "published" else _OURS
    pooled, lacks, unread = rules.pooled, rules.lacks_items, partial(rules.unread, published.LABELS)
    score = mean(rules.rating, scale=rules.rated, lacks=lambda record: "generation" in record)
    return {
        "inference.precision": Measure(("p",), pooled, lambda m: 100 * m["p"], lacks=lacks, unread=unread),
        "inference.recall": Measure(("r",), pooled, lambda m: 100 * m["r"], lacks=lacks, unread=unread),
        "inference.f1": Measure(("p", "r"), pooled, lambda m: 100 * _f1(m["p"], m["r"]), lacks=lacks, unread=unread),
        "inference.precision_by_instance": mean(partial(_instance_mean, pooled, "p"), 100, lacks=rules.lacks_inference),
        "inference.recall_by_instance": mean(partial(_instance_mean, pooled, "r"), 100, lacks=rules.lacks_inference),
        "inference.f1_by_instance": mean(partial(_instance_f1, pooled), 100, lacks=rules.lacks_inference),
        "generation.score": replace(score, unread=partial(rules.unread, published.SCORE)),
        "evidence.recall": mean(lambda record: record.get("evidence_recall"), 100, lacks=lambda record: False),
    }


def metrics(protocol: str) -> MetricSet:
    inferred = tuple(f"inference.{name}" for name in ("precision", "recall", "f1"))
    return MetricSet(
        measures(protocol),
        scales={"inference_generation.correlation": CORRELATION},
        leading=("inference.f1", "generation.score", "evidence.recall"),
        headline=("inference.f1", "inference.precision", "inference.recall", "generation.score"),
        families={
            "inference": Family("Inference"),
            "generation": Family("Generation", "generation.score", "score"),
            "evidence": Family("Evidence recall of the search", "evidence.recall", "evidence recall"),
        },
        columns=(*inferred, "generation.score", "evidence.recall"),
        of_group=(("inference.f1",), ("generation.score",)),
        secondary=frozenset(f"{name}_by_instance" for name in inferred),
        correlated=(Correlated("inference.f1", "generation.score", ("inference.f1_by_instance", "generation.score")),),
    )


def _read(record: Mapping[str, Any]) -> Record | None:
    """The inference of a record if every part of it was parsed, else None."""
    inference: Record = record.get("inference", {})
    return inference if "recall" in inference and "unparsed" not in inference else None


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a record adds to the metrics by a protocol."""

    inference: Callable[[Mapping[str, Any]], Parts]  # of inferred items "p" and gold items "r"; empty if it has none
    rating: Callable[[Mapping[str, Any]], float | None]
    rated: Scale
    unread: Callable[[str, Mapping[str, Any]], bool]  # whether the labels or the score of a record could not be read

    def pooled(self, record: Mapping[str, Any]) -> Parts:
        return self.inference(record)

    def lacks_inference(self, record: Mapping[str, Any]) -> bool:
        return "inference" in record and not self.inference(record)

    def lacks_items(self, record: Mapping[str, Any]) -> dict[str, int]:
        """As many items of either side as the gold checklist has: how many would have been inferred is unknown."""
        n = len(record["checklist"]) if self.lacks_inference(record) else 0
        return {"p": n, "r": n}


def _inference(record: Mapping[str, Any]) -> Parts:
    inference = _read(record)
    return {} if inference is None else {"p": inference["precision"], "r": inference["recall"]}


def _rating(record: Mapping[str, Any]) -> float | None:
    score: float | None = record.get("generation", {}).get("score")
    return score


def _inference_as_published(record: Mapping[str, Any]) -> Parts:
    found = record.get("published", {})
    return {"p": found["predicted"], "r": found["true"]} if "predicted" in found else {}


def _rating_as_published(record: Mapping[str, Any]) -> float | None:
    score: float | None = record.get("published", {}).get("score")
    return score


def _unread_as_published(what: str, record: Mapping[str, Any]) -> bool:
    return what in record.get("published", {}).get("unread", ())


_OURS = _Rules(_inference, _rating, Scale(1.0, 10.0, decimals=2), lambda what, record: False)
_PUBLISHED = _Rules(_inference_as_published, _rating_as_published, Scale(0.0, 10.0, decimals=2), _unread_as_published)


def _instance_mean(pooled: Callable[[Mapping[str, Any]], Parts], side: str, record: Mapping[str, Any]) -> float | None:
    values = pooled(record).get(side)
    return None if values is None else sum(values) / len(values)


def _instance_f1(pooled: Callable[[Mapping[str, Any]], Parts], record: Mapping[str, Any]) -> float | None:
    precision, recall = (_instance_mean(pooled, side, record) for side in "pr")
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def instance_f1(inference: Record) -> float:
    precision, recall = (sum(inference[k]) / len(inference[k]) for k in ("precision", "recall"))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _f1(p: npt.NDArray[np.float64], r: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(p + r == 0, 0.0, 2 * p * r / (p + r))


def _correlation(records: Sequence[Record]) -> Estimate | None:
    """Pearson correlation of inference and generation over instances."""
    pairs = [
        (r["persona"], instance_f1(inference), r["generation"]["score"])
        for r in (record for record in records if not is_repeated(record))
        if (inference := _read(r)) is not None and r.get("generation", {}).get("score") is not None
    ]
    return correlation(pairs)


def _errors(records: Sequence[Record]) -> dict[str, Any]:
    """Counts of the wrong inferences by kind of error, with a few examples of each."""
    analysed = [r for r in records if "error" in r.get("inference", {})]
    kinds: dict[str, list[Record]] = {}
    for record in analysed:
        error = record["inference"]["error"]
        kinds.setdefault("failed" if "failure" in error else error["category"] or "unparsed", []).append(record)
    return {
        "wrong": len(analysed),
        "kinds": {
            kind: {
                "n": len(found),
                "share": len(found) / len(analysed),
                "examples": [
                    {"key": r["key"], "inferred": r["inference"]["preference"], "gold": r["preference"]}
                    for r in found[:_EXAMPLES]
                ],
            }
            for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1]))
        },
    }
