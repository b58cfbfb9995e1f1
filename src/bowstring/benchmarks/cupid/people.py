"""Human evaluation of CUPID answers, and the verdicts of its judge and matcher on the same items.

rate       the response: from 1 to 10
coverage   each item of a checklist: how far a preference covers it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from bowstring.benchmarks.cupid.coverage import LABEL_OF
from bowstring.benchmarks.cupid.scores import cluster_of, measures
from bowstring.benchmarks.cupid.types import COVERAGE_LABELS, COVERAGE_SIDES, CoverageSide
from bowstring.benchmarks.people import (
    Curation,
    JudgedScore,
    NotRated,
    People,
    Record,
    RunRating,
    Task,
    Unit,
    failure_reason,
    legible,
)
from bowstring.datasets.ratings import item_id
from bowstring.metrics.measures import Measure
from bowstring.metrics.scales import parse_number

_LEAST, _MOST = 1, 10
_RATE = Task(
    name="rate",
    shape="scale",
    labels=tuple(map(str, range(_LEAST, _MOST + 1))),
    asks="How well does the answer meet the user's preference?",
    advice="1: it contradicts or misses the preference. 10: it meets every point of the list. Only the preference of "
    "this user counts, not yours.",
    meaning="scores of responses",
    expects=f"a number from {_LEAST} to {_MOST}",
    wrong=("1", "2", "3"),
    facts="What the user wants here",
)
_COVERAGE = Task(
    name="coverage",
    shape="parts",
    labels=COVERAGE_LABELS,
    asks="How well does the description cover each point?",
    advice="Fully: an answer that follows the description meets the point. Partially: it may meet a part of it, or "
    "only sometimes. Not: the description does not mention the point, or contradicts it.",
    meaning="how well a preference covers a checklist item",
)
_CORRECTED = ("inference.precision", "inference.recall", "inference.f1", "generation.score")
_SCORES: Mapping[str, float] = {label: score for score, label in LABEL_OF.items()}


def rated_item(record: Record) -> str:
    """The id of a record's response."""
    texts = [record["request"], record["preference"], record["generation"]["response"]]
    return item_id(_RATE.name, record["key"], texts)


def covered_item(record: Record, side: CoverageSide, place: int) -> str:
    """The id of the item of a checklist at `place`, from 0."""
    return item_id(_COVERAGE.name, record["key"], covered(record, side, place), side, str(place))


def covered(record: Record, side: CoverageSide, place: int) -> tuple[str, str]:
    """A checklist item, and the preference that it is matched with."""
    inferred = record["inference"]
    if side == "precision":
        return inferred["checklist"][place], record["preference"]
    return record["checklist"][place], inferred["preference"]


class CupidPeople(People):
    tasks: ClassVar[tuple[Task, ...]] = (_RATE, _COVERAGE)

    def unit(self, task: Task, record: Record, run: str) -> Unit | str:
        return _rated_unit(record, run) if task == _RATE else _covered_unit(record, run)

    def ratings(self, record: Record, raters: Mapping[str, str], *, metrics: bool) -> Iterator[RunRating | NotRated]:  # noqa: ARG002
        generation, inference = record.get("generation"), record.get("inference")
        judge, matcher = raters["judge"], raters["matcher"]
        if generation is not None and "judgement" not in generation:
            yield NotRated(_RATE.name, judge, _why_not(generation))
        elif generation is not None:
            label = None if generation["score"] is None else f"{generation['score']:g}"
            yield RunRating(_RATE.name, rated_item(record), judge, label, record["request"])
        if inference is not None and "precision" not in inference:
            yield NotRated(_COVERAGE.name, matcher, _why_not(inference))
        elif inference is not None:
            for side in COVERAGE_SIDES:
                for place, score in enumerate(inference[side]):
                    item, about = covered_item(record, side, place), " | ".join(covered(record, side, place))
                    yield RunRating(_COVERAGE.name, item, matcher, LABEL_OF[score], about)

    def corrected_metrics(self, settings: Mapping[str, Any]) -> Mapping[str, Measure]:
        known = measures(settings.get("protocol", "bowstring"))
        return {name: known[name] for name in _CORRECTED}

    def judged_scores(self, record: Record) -> Iterator[JudgedScore]:
        inference, generation = record.get("inference", {}), record.get("generation", {})
        if "response" in generation:
            yield JudgedScore(_RATE, "x", rated_item(record), generation.get("score"))
        if "preference" in inference:
            read = "recall" in inference and "unparsed" not in inference
            for side in COVERAGE_SIDES:
                # Without a checklist of the inferred preference, nobody can say what its precision is the mean of.
                entries = inference.get("checklist", ()) if side == "precision" else record["checklist"]
                for place in range(len(entries)):
                    score = inference[side][place] if read else None
                    yield JudgedScore(_COVERAGE, side[0], covered_item(record, side, place), score)

    def score_of(self, task: Task, label: str) -> float | None:
        if task == _COVERAGE:
            return _SCORES.get(label)
        number = parse_number(label)
        return number if number is not None and _LEAST <= number <= _MOST else None

    def curation(self) -> Curation:
        from bowstring.benchmarks.cupid.curation import CupidCuration

        return CupidCuration()


def _rated_unit(record: Record, run: str) -> Unit | str:
    generation = record.get("generation", {})
    if "response" not in generation:
        return "without an answer"
    return Unit(
        ids=(rated_item(record),),
        key=record["key"],
        cluster=cluster_of(record),
        type=record["type"],
        facts=(("preference", legible(record["preference"])),),
        asked=legible(record["request"]),
        answers=(legible(generation["response"]),),
        sources=(run,),
        entries=tuple(map(legible, record["checklist"])),
    )


def _covered_unit(record: Record, run: str) -> Unit | str:
    if "preference" not in record.get("inference", {}):
        return "without an inferred preference"
    places = range(len(record["checklist"]))
    return Unit(
        ids=tuple(covered_item(record, "recall", n) for n in places),
        key=record["key"],
        cluster=cluster_of(record),
        type=record["type"],
        facts=(),
        asked=legible(record["request"]),
        answers=(legible(covered(record, "recall", 0)[1]),),
        sources=(run,),
        right=legible(record["preference"]),
        entries=tuple(legible(covered(record, "recall", n)[0]) for n in places),
    )


def _why_not(part: Record) -> str:
    return failure_reason(part) or f"unparsed ({part['unparsed']})"
