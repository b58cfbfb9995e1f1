"""Metrics of HiCUPID records: scores, rates, text overlap and recall, also by group, and gaps between user groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.benchmarks.components import variance_of_metrics
from bowstring.benchmarks.hicupid import demographics, published
from bowstring.benchmarks.hicupid.truth import NAME as TRUTH_NAME
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Profile, Question
from bowstring.benchmarks.hicupid.validity import validity_of
from bowstring.judging.verdicts import read_pairwise, read_satisfaction
from bowstring.labels import COMPARED, LOSE, TIE, WIN
from bowstring.metrics.clusters import Means
from bowstring.metrics.fairness import Gap, correct_gaps, largest_gap
from bowstring.metrics.measures import (
    SHARE,
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

_AXES = ("type", "split", "sentiment", "category", *demographics.AXES)
# The weights of the question types in a total; those of the scores are as published.
_SCORE_WEIGHTS = {"persona": 25, "profile": 5, "schedule": 5}  # 10 schedule questions at half weight
_RECALL_WEIGHTS = {"persona": 25, "profile": 5, "schedule": 10}
_QUESTIONS = 40


def recall_of(question: Question, found: Collection[int], kinds: Mapping[int, str]) -> float:
    """1 if any gold dialogue was found, else 0; for profile questions, half for the profile and half for the persona.

    `kinds` are the types of the dialogues: they tell the five profile dialogues of the evidence from the persona's.
    """
    parts = [question.evidence]
    if question.type == "profile":
        profile = tuple(d for d in question.evidence if kinds.get(d) == "profile")
        rest = tuple(d for d in question.evidence if kinds.get(d) != "profile")
        parts = [part for part in (profile, rest) if part]
    return sum(any(dialogue in found for dialogue in part) for part in parts) / len(parts) if parts else 0.0


def summarize(records: Sequence[Record], judge: str | None = None, protocol: str = "bowstring") -> dict[str, Any]:
    """Metrics of all records and by every axis, and the gaps between groups of users. `judge` is None if none was
    asked."""
    metric_set = metrics_by(judge, protocol)
    measures = metric_set.measures
    groups: dict[str, dict[str, Any]] = {}
    gaps: dict[tuple[str, str], Gap] = {}
    for axis, members in _members(records).items():  # the permutation test of gaps depends on their order
        groups[axis] = {group: _metrics(own, measures) for group, own in _ordered(axis, members).items()}
        if axis in demographics.AXES:
            gaps |= {(axis, name): gap for name, gap in _gaps(members).items()}
    fairness: dict[str, dict[str, Any]] = {}
    for (axis, name), gap in correct_gaps(gaps).items():
        fairness.setdefault(axis, {})[name] = gap.as_json()
    judged = [side for record in records for side in _chosen_sides(record)]
    return {
        "n": len(records),
        "unparsed": sum("judgement" in r and r["score"] is None for r in records),
        "failed": sum("failure" in r for r in records),
        "truncated": sum(r.get("finish") == "length" for r in records),
        "refused": sum(r.get("finish") in ("refusal", "filter") for r in records),
        "answer_is_a": _share(r["answer_is"] == "A" for r in records if "answer_is" in r and r["type"] != "schedule"),
        "judge_chose_a": _share(side == "A" for side in judged),
        "shown": {name: _mean(r["shown"][name] for r in records if "shown" in r) for name in _SHOWN},
        "words": {
            name: _mean(len(r[name].split()) for r in records if name in r)
            for name in ("answer", "personalized_answer", "general_answer")
        },
        "splits": list(dict.fromkeys(str(record["split"]) for record in records)),
        "protocol": protocol,
        "metrics": _metrics(records, measures),
        **({} if judge is None else _by_both_protocols(records, judge)),
        "unscored": {} if judge is None else unscored_as_json(metric_set, _clustered(records)),
        **unread_as_json(metric_set, records),
        "variance": variance_of_metrics(metric_set, records, cluster_of),
        "validity": validity_of([r for r in records if not is_repeated(r)], cluster_of),
        "groups": groups,
        "fairness": fairness,
    }


_SHOWN = ("turns", "characters")
_SHOWN_KEYS = 20  # items that are named for each rule


def _by_both_protocols(records: Sequence[Record], judge: str) -> dict[str, Any]:
    """The scores by both protocols, and the items that count otherwise, by the rule that makes the difference."""
    values = {}
    for protocol in ("bowstring", "published"):
        found = metrics_by(judge, protocol).measures
        scores = {name: found[name] for name in _SCORES}
        values[protocol] = _metrics(records, scores)
    rules: dict[str, list[str]] = {}
    for record in records:
        if (rule := rule_of_difference(record)) is not None:
            rules.setdefault(rule, []).append(record["key"])
    ordered = dict(sorted(rules.items(), key=lambda item: (-len(item[1]), item[0])))
    counts = {rule: len(keys) for rule, keys in ordered.items()}
    named = {rule: keys[:_SHOWN_KEYS] for rule, keys in ordered.items()}
    return by_protocols_as_json(values) | {"differences": {"rules": counts, "items": named}}


def rule_of_difference(record: Mapping[str, Any]) -> str | None:
    """The rule by which a record has another score as published."""
    found = record.get("published")
    if found is None or found["score"] == record.get("score"):
        return None
    if not found["parsed"]:
        return "a verdict that cannot be read is " + ("NO" if record["type"] == "schedule" else "a tie")
    if record.get("score") is None:
        return "a verdict is read where ours reads none"
    if "swapped_verdict" in record:
        return "one order is judged"
    read = read_satisfaction if record["type"] == "schedule" else read_pairwise
    if read(published.verdict_line(record["type"], record["judgement"])) != read(record["judgement"]):
        return "the first verdict counts"
    return f"the last {'YES or NO' if record['type'] == 'schedule' else 'letter'} of the line is the verdict"


def grouped(records: Sequence[Record]) -> dict[str, dict[str, list[Record]]]:
    """The records by every axis with at least two groups; ages and incomes in ascending order."""
    return {axis: _ordered(axis, members) for axis, members in _members(records).items()}


def _ordered(axis: str, members: Mapping[str, list[Record]]) -> dict[str, list[Record]]:
    return {group: members[group] for group in sorted(members, key=partial(demographics.order_of, axis))}


def _members(records: Sequence[Record]) -> dict[str, dict[str, list[Record]]]:
    """The records by axis and group, in the order of the data."""
    found: dict[str, dict[str, list[Record]]] = {}
    for axis in _AXES:
        members: dict[str, list[Record]] = {}
        for record in records:
            if (group := _group_of(record, axis)) is not None:
                members.setdefault(group, []).append(record)
        if len(members) > 1:
            found[axis] = members
    return found


def cluster_of(record: Mapping[str, Any]) -> str:
    """The user: questions of one user are not independent."""
    return str(record["user"])


def _metrics(records: Sequence[Record], measures: Mapping[str, Measure]) -> dict[str, Any]:
    return estimates_as_json(measures, _clustered(records))


def _clustered(records: Sequence[Record]) -> list[tuple[str, Record]]:
    return [(cluster_of(record), record) for record in records]


def _gaps(members: Mapping[str, Sequence[Record]]) -> dict[str, Gap]:
    """The largest gaps between groups of users, in the total and by type."""
    total = MEASURES["score.total"]
    by_group = {group: total.scores((cluster_of(r), r) for r in records) for group, records in members.items()}
    found = {"score.total": largest_gap(by_group, total.statistic)}
    for kind in QUESTION_TYPES:
        alone = {group: {"x": scores[kind]} for group, scores in by_group.items()}
        found[f"score.{kind}"] = largest_gap(alone, lambda mean: 100 * mean["x"])
    return {name: gap for name, gap in found.items() if gap is not None}


def _total(weights: Mapping[str, int], mean: Means) -> npt.NDArray[np.float64]:
    weighted = [weight * mean[kind] for kind, weight in weights.items()]
    total: npt.NDArray[np.float64] = 100 * np.sum(weighted, axis=0) / _QUESTIONS
    return total


def _verdicts(record: Mapping[str, Any]) -> list[str] | None:
    """The verdicts of a pairwise comparison, in one order or in both; None if one is missing or unparsed."""
    return None if record["type"] == "schedule" else scored_verdicts(record) or None


def scored_verdicts(record: Mapping[str, Any]) -> list[str]:
    """The verdicts that a record's score is made of; none if it has no score."""
    if record.get("score") is None:
        return []
    return [record[name] for name in ("verdict", "swapped_verdict") if name in record]


def _field(name: str, record: Mapping[str, Any]) -> float | None:
    return record.get(name)


def _rate(outcome: str, record: Mapping[str, Any]) -> float | None:
    verdicts = _verdicts(record)
    return None if verdicts is None else verdicts.count(outcome) / len(verdicts)


def _consistent(record: Mapping[str, Any]) -> float | None:
    """1 if the verdict is the same in both orders, else 0."""
    verdicts = _verdicts(record)
    return None if verdicts is None or len(verdicts) < 2 else float(verdicts[0] == verdicts[1])


def _published(record: Mapping[str, Any]) -> float | None:
    found = record.get("published")
    return None if found is None else found["score"]


def _published_rate(score: float, record: Mapping[str, Any]) -> float | None:
    found = _published(record)
    return None if found is None else float(found == score)


def _published_by_type(record: Mapping[str, Any]) -> Parts:
    value = _published(record)
    return {} if value is None else {record["type"]: (value,)}


def _unread_as_published(record: Mapping[str, Any]) -> bool:
    found = record.get("published")
    return found is not None and not found["parsed"]


def _unpublished(record: Mapping[str, Any]) -> bool:
    return "failure" in record


def _by_type(field: str, record: Mapping[str, Any]) -> Parts:
    value = record.get(field)
    return {} if value is None else {record["type"]: (value,)}


def persona_of(record: Mapping[str, Any]) -> str | None:
    """The persona that the question is about; several users may share it."""
    persona = record.get("persona")
    return None if persona is None else "/".join(str(persona[name]) for name in ("category", "relation", "entity"))


def _unjudged(record: Mapping[str, Any]) -> bool:
    return "failure" in record or ("judgement" in record and record.get("score") is None)


def _unjudged_by_type(record: Mapping[str, Any]) -> dict[str, int]:
    return {record["type"]: int(_unjudged(record))}


def _uncompared(record: Mapping[str, Any]) -> bool:
    return record["type"] != "schedule" and _unjudged(record)


def _unanswered(record: Mapping[str, Any]) -> bool:
    return "failure" in record and "answer" not in record


def _of_type(kind: str, means: Means) -> npt.NDArray[np.float64]:
    return 100 * means[kind]


def _family(
    field: str,
    weights: Mapping[str, int],
    scales: Mapping[str, Scale],
    lacks: Callable[[Mapping[str, Any]], Mapping[str, int]],
    of: Callable[[Mapping[str, Any]], Parts] | None = None,
) -> dict[str, Measure]:
    """A metric by question type, and its weighted total."""
    of = of or partial(_by_type, field)
    ends: dict[str, tuple[float, float]] = {
        kind: (0.0, scales.get(kind, _PERCENT).high / 100) for kind in QUESTION_TYPES
    }

    def measure(components: tuple[str, ...], statistic: Callable[[Means], npt.NDArray[np.float64]]) -> Measure:
        scale = scales.get("total" if len(components) > 1 else components[0], _PERCENT)
        return Measure(components, of, statistic, ends=ends, scale=scale, lacks=lacks, group_of=persona_of)

    total = measure(QUESTION_TYPES, partial(_total, weights))
    return {f"{field}.total": total} | {
        f"{field}.{kind}": measure((kind,), partial(_of_type, kind)) for kind in QUESTION_TYPES
    }


def _by_persona(measure: Measure) -> Measure:
    return replace(measure, group_of=persona_of)


_PERCENT = Scale()
AS_GOLD = "as good as the gold answers"
_BEST_OF_TRUTH = 0.5  # the best verdict of the truth judge is a tie with the gold answer


def _score_scales(best: float) -> dict[str, Scale]:
    """The scales of scores, where `best` is the highest score of a comparison with the gold answer. A tie counts half,
    so gold answers have 50; an answered schedule question counts half of any other, so that the total of gold answers
    is 50 as well, and the highest total is 87.5."""
    most = 100 * best
    total = 100 * sum(w * (1 if kind == "schedule" else best) for kind, w in _SCORE_WEIGHTS.items()) / _QUESTIONS
    compared = Scale(high=most, ceiling=50.0, ceiling_means=AS_GOLD)
    return {"persona": compared, "profile": compared, "total": replace(compared, high=total)}


def _scores(best: float) -> dict[str, Measure]:
    return _family("score", _SCORE_WEIGHTS, _score_scales(best), _unjudged_by_type)


MEASURES: Mapping[str, Measure] = {
    **_scores(1.0),
    WIN: _by_persona(mean(partial(_rate, WIN), 100, lacks=_uncompared)),
    TIE: _by_persona(mean(partial(_rate, TIE), 100, lacks=_uncompared)),
    LOSE: replace(_by_persona(mean(partial(_rate, LOSE), 100, lacks=_uncompared)), higher_is_better=False),
    "consistency": _by_persona(mean(_consistent, 100, lacks=_uncompared)),
    "bleu": _by_persona(mean(partial(_field, "bleu"), scale=SHARE, lacks=_unanswered)),
    "rouge_l": _by_persona(mean(partial(_field, "rouge_l"), scale=SHARE, lacks=_unanswered)),
    **_family("recall", _RECALL_WEIGHTS, {}, lambda record: {}),
}
_SCORES, _RECALLS = (tuple(f"{field}.{kind}" for kind in ("total", *QUESTION_TYPES)) for field in ("score", "recall"))

METRICS = MetricSet(
    MEASURES,
    leading=(*_SCORES, *_RECALLS),
    headline=(*_SCORES, "recall.total"),
    families={"score": Family("Scores"), "recall": Family("Recall of the search", "recall.total", "recall")},
    columns=(*_SCORES, *COMPARED, "bleu", "rouge_l", "consistency", *_RECALLS),
    of_group=((*_SCORES, *_RECALLS),),
    axes_without_figure=frozenset({"type"}),
)


_BY_TRUTH = replace(
    METRICS, measures={name: measure for name, measure in MEASURES.items() if name != WIN} | _scores(_BEST_OF_TRUTH)
)


# As published: what cannot be read counts, and schedule questions are won or lost like others.
_PUBLISHED = replace(
    METRICS,
    measures={name: measure for name, measure in MEASURES.items() if name != "consistency"}
    | {
        name: replace(measure, unread=_unread_as_published)
        for name, measure in _family(
            "score",
            _SCORE_WEIGHTS,
            _score_scales(1.0),
            lambda record: {record["type"]: int(_unpublished(record))},
            _published_by_type,
        ).items()
    }
    | {
        WIN: _by_persona(mean(partial(_published_rate, 1.0), 100, lacks=_unpublished)),
        TIE: _by_persona(mean(partial(_published_rate, 0.5), 100, lacks=_unpublished)),
        LOSE: replace(
            _by_persona(mean(partial(_published_rate, 0.0), 100, lacks=_unpublished)), higher_is_better=False
        ),
    },
)


def metrics_by(judge: str | None, protocol: str = "bowstring") -> MetricSet:
    """The metrics by a judge: that of the truth never prefers an answer to the gold answer, so it has no wins."""
    if protocol == "published":
        return _PUBLISHED
    return _BY_TRUTH if judge == TRUTH_NAME else METRICS


def _chosen_sides(record: Record) -> list[str]:
    """The sides that the judge chose; none for a tie or an unparsed verdict."""
    own = record.get("answer_is", "A")
    other = "B" if own == "A" else "A"
    sides = []
    for verdict, side, against in zip(_verdicts(record) or [], (own, other), (other, own), strict=False):
        if verdict != TIE:
            sides.append(side if verdict == WIN else against)
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
