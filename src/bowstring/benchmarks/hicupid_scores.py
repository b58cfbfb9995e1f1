"""What HiCUPID's records come to: scores, rates, text overlap, recall; by group; and the gaps between users."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.metrics import demographics
from bowstring.metrics.fairness import largest_gap
from bowstring.metrics.intervals import Estimate, Means, Score, estimate
from bowstring.records import QUESTION_TYPES, Profile, Question
from bowstring.runs.runner import Record

_AXES = ("type", "split", "sentiment", "category", *demographics.AXES)
# Which question types count for how much in a total; the first of both as published.
_SCORE_WEIGHTS = {"persona": 25, "profile": 5, "schedule": 5}  # 10 schedule questions at half weight
_RECALL_WEIGHTS = {"persona": 25, "profile": 5, "schedule": 10}
_QUESTIONS = 40


def recall_of(question: Question, found: Collection[int], kinds: Mapping[int, str]) -> float:
    """Whether any gold dialogue was found; for profile questions, half for the profile and half for the persona.

    Published evidence has the five profile dialogues first; which they are is told by their type (`kinds`).
    """
    parts = [question.evidence]
    if question.type == "profile":
        profile = tuple(d for d in question.evidence if kinds.get(d) == "profile")
        rest = tuple(d for d in question.evidence if kinds.get(d) != "profile")
        parts = [part for part in (profile, rest) if part]
    return sum(any(dialogue in found for dialogue in part) for part in parts) / len(parts) if parts else 0.0


def summarize(records: Sequence[Record]) -> dict[str, Any]:
    """Metrics of all records, by every axis they have, and the gaps between groups of users."""
    groups: dict[str, dict[str, Any]] = {}
    gaps: dict[str, Any] = {}
    for axis in _AXES:
        members: dict[str, list[Record]] = {}
        for record in records:
            if (group := _group_of(record, axis)) is not None:
                members.setdefault(group, []).append(record)
        if len(members) < 2:
            continue
        ordered = sorted(members, key=partial(demographics.order_of, axis))
        groups[axis] = {group: _metrics(members[group]) for group in ordered}
        if axis in demographics.AXES and (found := _gaps(members)):
            gaps[axis] = found
    judged = [side for record in records for side in _chosen_sides(record)]
    return {
        "n": len(records),
        "unparsed": sum("judgement" in r and r["score"] is None for r in records),
        "failed": sum("failure" in r for r in records),
        "truncated": sum(r.get("finish") == "length" for r in records),
        "answer_is_a": _share(r["answer_is"] == "A" for r in records if "answer_is" in r and r["type"] != "schedule"),
        "judge_chose_a": _share(side == "A" for side in judged),
        "shown": {name: _mean(r["shown"][name] for r in records if "shown" in r) for name in _SHOWN},
        "words": {
            name: _mean(len(r[name].split()) for r in records if name in r)
            for name in ("answer", "personalized_answer", "general_answer")
        },
        "metrics": _metrics(records),
        "groups": groups,
        "fairness": gaps,
    }


_SHOWN = ("turns", "characters")


def _metrics(records: Sequence[Record]) -> dict[str, Any]:
    found: dict[str, Estimate | None] = {}
    scores = _by_type(records, lambda r: r.get("score"))
    found["score.total"] = estimate(scores, partial(_total, _SCORE_WEIGHTS))
    for kind in QUESTION_TYPES:
        found[f"score.{kind}"] = _mean_of(scores[kind], 100)
    for outcome in ("win", "tie", "lose"):
        found[outcome] = _mean_of(_scores(records, partial(_rate, outcome)), 100)
    found["consistency"] = _mean_of(_scores(records, _consistent), 100)
    for name in ("bleu", "rouge_l"):
        found[name] = _mean_of(_scores(records, partial(_field, name)))
    recalls = _by_type(records, lambda r: r.get("recall"))
    found["recall.total"] = estimate(recalls, partial(_total, _RECALL_WEIGHTS))
    for kind in QUESTION_TYPES:
        found[f"recall.{kind}"] = _mean_of(recalls[kind], 100)
    return {name: e.as_json() for name, e in found.items() if e is not None}


def _gaps(members: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    """The largest gaps between groups of users, in the total and by type."""
    by_group = {group: _by_type(records, lambda r: r.get("score")) for group, records in members.items()}
    found = {"score.total": largest_gap(by_group, partial(_total, _SCORE_WEIGHTS))}
    for kind in QUESTION_TYPES:
        alone = {group: {"x": scores[kind]} for group, scores in by_group.items()}
        found[f"score.{kind}"] = largest_gap(alone, lambda mean: 100 * mean["x"])
    return {name: gap.as_json() for name, gap in found.items() if gap is not None}


def _total(weights: Mapping[str, int], mean: Means) -> npt.NDArray[np.float64]:
    weighted = [weight * mean[kind] for kind, weight in weights.items()]
    total: npt.NDArray[np.float64] = 100 * np.sum(weighted, axis=0) / _QUESTIONS
    return total


def _mean_of(scores: Sequence[Score], scale: float = 1.0) -> Estimate | None:
    return estimate({"x": scores}, lambda mean: scale * mean["x"])


def _scores(records: Iterable[Record], value: Callable[[Record], float | None]) -> list[Score]:
    return [Score(str(r["user"]), found) for r in records if (found := value(r)) is not None]


def _by_type(records: Sequence[Record], value: Callable[[Record], float | None]) -> dict[str, list[Score]]:
    return {kind: _scores((r for r in records if r["type"] == kind), value) for kind in QUESTION_TYPES}


def _verdicts(record: Record) -> list[str] | None:
    """Of a pairwise comparison that could be read, in one order or in both."""
    if record["type"] == "schedule" or record.get("score") is None:
        return None
    return [record[name] for name in ("verdict", "swapped_verdict") if name in record]


def _field(name: str, record: Record) -> float | None:
    return record.get(name)


def _rate(outcome: str, record: Record) -> float | None:
    verdicts = _verdicts(record)
    return None if verdicts is None else verdicts.count(outcome) / len(verdicts)


def _consistent(record: Record) -> float | None:
    """Whether the judge decided alike in both orders."""
    verdicts = _verdicts(record)
    return None if verdicts is None or len(verdicts) < 2 else float(verdicts[0] == verdicts[1])


def _chosen_sides(record: Record) -> list[str]:
    """The sides a judge chose, where it chose one."""
    own = record.get("answer_is", "A")
    other = "B" if own == "A" else "A"
    sides = []
    for verdict, side, against in zip(_verdicts(record) or [], (own, other), (other, own), strict=False):
        if verdict != "tie":
            sides.append(side if verdict == "win" else against)
    return sides


def _group_of(record: Record, axis: str) -> str | None:
    if axis in ("sentiment", "category"):
        return record["persona"][axis] if record["type"] == "persona" else None
    if axis in demographics.AXES:
        profile = record.get("user_profile")
        return None if profile is None else demographics.group_of(Profile(**profile), axis)
    return str(record[axis])


def _share(flags: Iterable[bool]) -> float | None:
    return _mean(map(float, flags))


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
