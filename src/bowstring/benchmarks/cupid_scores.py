"""CUPID's numbers: precision, recall and F1 over checklist items, and the judge's score.

Pooled over all items as published, and averaged by instance; intervals by resampling personas. An instance with any
part that could not be read leaves precision, recall and F1 together, and is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.metrics.intervals import Estimate, Means, Score, estimate
from bowstring.runs.runner import Record

_AXES = ("type", "category", "distance")
_EXAMPLES = 3  # of each kind of error


_SHOWN = ("sessions", "characters")


def summarize(records: Sequence[Record], *, scoring: str, analysed: bool) -> dict[str, Any]:
    groups: dict[str, dict[str, Any]] = {}
    for axis in _AXES:
        values = sorted({r[axis] for r in records if r[axis] is not None}, key=str)
        if len(values) > 1:
            groups[axis] = {str(v): _metrics([r for r in records if r[axis] == v], scoring) for v in values}
    tasks = [(r, r[task]) for r in records for task in ("inference", "generation") if task in r]
    unparsed = {r["key"] for r, task in tasks if "unparsed" in task}
    parts = Counter(task["unparsed"] for _, task in tasks if "unparsed" in task)
    found: dict[str, Any] = {
        "n": len(records),
        "unparsed": len(unparsed),
        "unparsed_parts": dict(sorted(parts.items())),
        "failed": len({r["key"] for r, task in tasks if "failure" in task or "failure" in task.get("error", {})}),
        "truncated": sum(task.get("finish") == "length" for _, task in tasks),
        "scoring": scoring,
        "shown": {
            name: _mean([r["shown"][name] for r in records if "shown" in r]) for name in ("sessions", "characters")
        },
        "metrics": _metrics(records, scoring),
        "groups": groups,
    }
    if analysed:
        found["errors"] = _errors(records)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _metrics(records: Sequence[Record], scoring: str) -> dict[str, Any]:
    pooled = _pooled_upstream(records) if scoring == "upstream" else _pooled(records)
    by_instance = _by_instance(records)
    ratings = _ratings_upstream(records) if scoring == "upstream" else _ratings(records)
    found: dict[str, Estimate | None] = {
        "inference.precision": estimate({"p": pooled["p"]}, lambda m: 100 * m["p"]),
        "inference.recall": estimate({"r": pooled["r"]}, lambda m: 100 * m["r"]),
        "inference.f1": estimate(pooled, lambda m: 100 * _f1(m["p"], m["r"])),
    }
    for name, scores in by_instance.items():
        found[f"inference.{name}_by_instance"] = estimate({"x": scores}, lambda m: 100 * m["x"])
    found["generation.score"] = estimate({"x": ratings}, lambda m: m["x"])
    found["inference_generation.correlation"] = _correlation(records)
    return {name: e.as_json() for name, e in found.items() if e is not None}


def _read(record: Record) -> Record | None:
    """The inference of a record if every part of it could be read."""
    inference = record.get("inference", {})
    return inference if "recall" in inference and "unparsed" not in inference else None


def _pooled(records: Sequence[Record]) -> dict[str, list[Score]]:
    read = [(r["persona"], inference) for r in records if (inference := _read(r)) is not None]
    return {
        "p": [Score(persona, value) for persona, i in read for value in i["precision"]],
        "r": [Score(persona, value) for persona, i in read for value in i["recall"]],
    }


def _pooled_upstream(records: Sequence[Record]) -> dict[str, list[Score]]:
    """As upstream counts: a context that was too long leaves precision alone and misses every gold item."""
    pooled = _pooled(records)
    for record in records:
        failure = record.get("inference", {}).get("failure", {})
        if failure.get("kind") == "context" and failure["stage"] in ("answer", "summary"):
            pooled["r"] += [Score(record["persona"], 0.0) for _ in record["checklist"]]
    return pooled


def _by_instance(records: Sequence[Record]) -> dict[str, list[Score]]:
    scores: dict[str, list[Score]] = {"precision": [], "recall": [], "f1": []}
    for record in records:
        inference = _read(record)
        if inference is None:
            continue
        precision, recall = (sum(inference[k]) / len(inference[k]) for k in ("precision", "recall"))
        scores["precision"].append(Score(record["persona"], precision))
        scores["recall"].append(Score(record["persona"], recall))
        scores["f1"].append(Score(record["persona"], instance_f1(inference)))
    return scores


def instance_f1(inference: Record) -> float:
    precision, recall = (sum(inference[k]) / len(inference[k]) for k in ("precision", "recall"))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _ratings(records: Sequence[Record]) -> list[Score]:
    rated = ((r["persona"], r.get("generation", {}).get("score")) for r in records)
    return [Score(persona, score) for persona, score in rated if score is not None]


def _ratings_upstream(records: Sequence[Record]) -> list[Score]:
    """As upstream counts: whole numbers, and 0 where the judge failed or the context was too long."""
    scores = []
    for record in records:
        generation = record.get("generation", {})
        failure = generation.get("failure", {})
        if generation.get("score") is not None:
            scores.append(Score(record["persona"], float(math.floor(generation["score"]))))
        elif (
            generation.get("unparsed") == "score" or failure.get("stage") == "judge" or failure.get("kind") == "context"
        ):
            scores.append(Score(record["persona"], 0.0))
    return scores


def _f1(p: npt.NDArray[np.float64], r: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(p + r == 0, 0.0, 2 * p * r / (p + r))


def _correlation(records: Sequence[Record]) -> Estimate | None:
    """Of an instance's inference with its generation, by Pearson; from means, so that personas can be resampled."""
    pairs = [
        (r["persona"], instance_f1(inference), r["generation"]["score"])
        for r in records
        if (inference := _read(r)) is not None and r.get("generation", {}).get("score") is not None
    ]
    if len({x for _, x, _ in pairs}) < 2 or len({y for _, _, y in pairs}) < 2:
        return None
    columns = {
        "x": [Score(c, x) for c, x, _ in pairs],
        "y": [Score(c, y) for c, _, y in pairs],
        "xx": [Score(c, x * x) for c, x, _ in pairs],
        "yy": [Score(c, y * y) for c, _, y in pairs],
        "xy": [Score(c, x * y) for c, x, y in pairs],
    }
    found = estimate(columns, _pearson)
    return found and Estimate(found.value, found.low, found.high, len(pairs), found.clusters)


def _pearson(m: Means) -> npt.NDArray[np.float64]:
    spread = (m["xx"] - m["x"] ** 2) * (m["yy"] - m["y"] ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((m["xy"] - m["x"] * m["y"]) / np.sqrt(np.where(spread > 1e-12, spread, np.nan)))


def _errors(records: Sequence[Record]) -> dict[str, Any]:
    """Of the wrong inferences, how many went wrong in which way, with a few of each to read."""
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
