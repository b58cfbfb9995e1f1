"""Human evaluation of HiCUPID answers, and the verdicts of its judge on the same items.

    compare        the answer against the gold answer, or two runs against each other: win, tie or lose
    personal       the personalized gold answer against the general one
    satisfaction   schedule questions: does the answer notice the conflict? yes or no

A metric rates `win` if the answer is closer to the personalized gold answer than to the general one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from bowstring.benchmarks.hicupid.choosing.scores import is_choice
from bowstring.benchmarks.hicupid.judging import SCORES
from bowstring.benchmarks.hicupid.scores import MEASURES, cluster_of
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
from bowstring.datasets.ratings import COMPARE, GOLD, PERSONAL, item_id
from bowstring.labels import COMPARED, LOSE, NO, PREFERRED, TIE, WIN, YES_OR_NO
from bowstring.metrics.measures import Measure
from bowstring.metrics.text import bleu, rouge_l

SWAPPED = ", sides swapped"
_BETTER = (
    "Choose the answer that is better for this user: it fits what is known about the user, and it is correct "
    "and to the point. Mentioning facts that do not matter here does not make an answer better."
)
_COMPARE = Task(
    name=COMPARE,
    shape="pair",
    labels=COMPARED,
    asks="Which answer is better for this user?",
    advice=_BETTER,
    meaning="the answer against the gold answer",
)
_PERSONAL = Task(
    name=PERSONAL,
    shape="pair",
    labels=PREFERRED,
    asks="Which answer is better for this user?",
    advice=_BETTER,
    meaning="the personalized answer against the general one",
)
_SATISFACTION = Task(
    name="satisfaction",
    shape="scale",
    labels=YES_OR_NO,
    asks="Does the answer take into account what is known?",
    advice="Choose yes if the answer notices the user's other appointment at that time, and does not simply accept.",
    meaning="does the answer notice the conflict?",
    wrong=(NO,),
)
_PROFILE = {
    "age": "age",
    "gender": "gender",
    "personality": "personality",
    "occupation": "occupation",
    "income_range": "income",
}
_CORRECTED = ("score.total", "score.persona", "score.profile", "score.schedule")


def _nearness_in_length(answer: str, reference: str) -> float:
    return -float(abs(len(answer.split()) - len(reference.split())))


_METRICS: Mapping[str, Callable[[str, str], float]] = {"bleu": bleu, "rouge_l": rouge_l, "length": _nearness_in_length}


def item_of(task: str, record: Record) -> str:
    """The id of an item of a record: of its answer, or for `personal` of its two gold answers."""
    second = "general_answer" if task == PERSONAL else "answer"
    return item_id(task, record["key"], [record["question"], record["personalized_answer"], record[second]])


class HicupidPeople(People):
    tasks: ClassVar[tuple[Task, ...]] = (_COMPARE, _PERSONAL, _SATISFACTION)
    metric_raters: ClassVar[tuple[str, ...]] = tuple(_METRICS)

    def unit(self, task: Task, record: Record, run: str) -> Unit | str:
        gold = record["personalized_answer"]
        if task == _PERSONAL:  # the answers are those of the data
            sources = ("personalized answer", "general answer")
            return _unit(record, item_of(task.name, record), (gold, record["general_answer"]), sources)
        if is_choice(record):
            return "a choice among given answers"
        if _task_of(record) != task:
            return f"of type {record['type']}, which is {'not compared' if task == _COMPARE else 'compared'}"
        if "answer" not in record:
            return "without an answer"
        item = item_of(task.name, record)
        if task == _SATISFACTION:
            return _unit(record, item, (record["answer"],), (run,))
        return _unit(record, item, (record["answer"], gold), (run, GOLD))

    def unit_of_two(self, record: Record, other: Record, runs: tuple[str, str]) -> Unit | str:
        if any(other[field] != record[field] for field in ("question", "personalized_answer")):
            return "not in both runs"
        if is_choice(record) or is_choice(other):
            return "a choice among given answers"
        if "answer" not in record or "answer" not in other:
            return "without an answer"
        if legible(record["answer"]) == legible(other["answer"]):
            return "identical in both runs"
        # The two texts that are seen name the item, as they do where the second is the gold answer.
        item = item_of(COMPARE, {**record, "personalized_answer": other["answer"]})
        return _unit(record, item, (record["answer"], other["answer"]), runs)

    def ratings(self, record: Record, raters: Mapping[str, str], *, metrics: bool) -> Iterator[RunRating | NotRated]:
        task, judge = _task_of(record), raters["judge"]
        if "judgement" not in record:
            yield NotRated(task.name, judge, failure_reason(record) or "never judged")
            return
        labels = [(judge, record["verdict"])]
        if "swapped_verdict" in record:
            labels.append((f"{judge}{SWAPPED}", record["swapped_verdict"]))
        if metrics and task == _COMPARE:
            labels += [(metric, _sign(near, record)) for metric, near in _METRICS.items()]
        item = item_of(task.name, record)
        for rater, label in labels:
            yield RunRating(task.name, item, rater, label, record["question"])

    def corrected_metrics(self, settings: Mapping[str, Any]) -> Mapping[str, Measure]:  # noqa: ARG002
        return {name: MEASURES[name] for name in _CORRECTED}

    def judged_scores(self, record: Record) -> Iterator[JudgedScore]:
        if "answer" in record and not is_choice(record):
            task = _task_of(record)
            yield JudgedScore(task, record["type"], item_of(task.name, record), record.get("score"))

    def score_of(self, task: Task, label: str) -> float | None:
        return SCORES[label.lower()] if label.lower() in task.labels else None

    def curation(self) -> Curation:
        from bowstring.benchmarks.hicupid.curation import HicupidCuration

        return HicupidCuration()


def _task_of(record: Record) -> Task:
    """The task of the judge for an answer."""
    return _SATISFACTION if record["type"] == "schedule" else _COMPARE


def facts_of(record: Record) -> Iterator[tuple[str, str]]:
    """The facts about the user that judges see for the question."""
    if persona := record["persona"]:
        yield persona["category"], f"The user {persona['relation']} {persona['entity']}."
    if profile := record["profile"]:
        for name, shown in _PROFILE.items():
            yield shown, profile[name]
    if schedule := record["schedule"]:
        yield "calendar", f"{schedule['datetime']}: {schedule['event']}"


def _unit(record: Record, item: str, answers: tuple[str, ...], sources: tuple[str, ...]) -> Unit:
    return Unit(
        ids=(item,),
        key=record["key"],
        cluster=cluster_of(record),
        type=record["type"],
        facts=tuple(facts_of(record)),
        asked=legible(record["question"]),
        answers=tuple(map(legible, answers)),
        sources=sources,
        right=legible(record["personalized_answer"]),
    )


def _sign(near: Callable[[str, str], float], record: Record) -> str:
    gold, general = (near(record["answer"], record[f"{kind}_answer"]) for kind in ("personalized", "general"))
    return WIN if gold > general else LOSE if gold < general else TIE
