"""Controls of HiCUPID: what answers get that do not know the user, or not which side, and what gold answers get.

Judges that ask no model score them with every run; other judges score them in an audit, on its sample.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from bowstring.benchmarks.controls import Control, Kind, scored_control
from bowstring.benchmarks.hicupid import published
from bowstring.benchmarks.hicupid.judging import SCORES, HicupidJudging, verdict_of
from bowstring.benchmarks.hicupid.scores import cluster_of, metrics_by
from bowstring.benchmarks.hicupid.swaps import Swaps
from bowstring.benchmarks.hicupid.types import Question
from bowstring.metrics.measures import estimates_as_json
from bowstring.runs.runner import Record
from bowstring.seeding import seeded_number

GOLD, COIN, SWAPPED, OTHER, GENERAL = (
    "gold",
    "coin-flip stance",
    "swapped gold",
    "another user's gold",
    "general answer",
)
_CONTROLS: Mapping[str, tuple[Kind, str]] = {
    GOLD: ("ceiling", "The gold answer."),
    COIN: (
        "floor",
        "The gold answer or the swapped gold answer, by a coin: the right subject without the user's side.",
    ),
    SWAPPED: ("floor", "The gold answer with the opposite stance; schedules: books over the clash, or declines."),
    OTHER: ("floor", "The gold answer of a random other user to a question of the same type and category."),
    GENERAL: ("floor", "The general answer, which knows nothing about the user."),
}


class ControlAnswers:
    """The answers of each control to a question. `questions` are those whose gold answers may be another user's;
    without `swaps` there is no opposite stance."""

    def __init__(self, questions: Sequence[Question], swaps: Swaps | None) -> None:
        self._swaps = swaps
        self._alike: dict[tuple[str, str], list[Question]] = defaultdict(list)
        for question in questions:
            self._alike[_kind_of(question)].append(question)

    def of(self, question: Question) -> dict[str, str]:
        """Answers to be judged, by control. The coin's answer is one of them."""
        other = self._other(question)
        swapped = None if self._swaps is None else self._swaps.swapped(question)
        return {
            GOLD: question.personalized_answer,
            **({SWAPPED: swapped} if swapped is not None else {}),
            **({OTHER: other.personalized_answer} if other is not None else {}),
            GENERAL: question.general_answer,
        }

    def _other(self, question: Question) -> Question | None:
        """The question of another user after a random position among those of its type and category."""
        alike = self._alike[_kind_of(question)]
        start = seeded_number(0, "control", question.key)
        users = (question.split, question.user_id)
        turns = (alike[(start + n) % len(alike)] for n in range(len(alike)))
        return next((one for one in turns if (one.split, one.user_id) != users), None)


def _kind_of(question: Question) -> tuple[str, str]:
    return question.type, "" if question.persona is None else question.persona.category


def coin(key: str) -> str:
    """The control whose answer the coin takes."""
    return (GOLD, SWAPPED)[seeded_number(0, "coin", key) % 2]


def controls_by_rule(
    questions: Sequence[Question], answers: ControlAnswers, judging: HicupidJudging, judge: str | None, protocol: str
) -> list[Control]:
    """The controls of a judge that asks no model."""
    records: dict[str, list[Record]] = {name: [] for name in _CONTROLS}
    for question in questions:
        side = "AB"[seeded_number(0, "control side", question.key) % 2]
        judged = {
            name: _record(question, judging.by_rule(question, answer, side), side)
            for name, answer in answers.of(question).items()
        }
        if SWAPPED in judged:
            judged[COIN] = judged[coin(question.key)]
        for name, record in judged.items():
            records[name].append(record)
    return controls_of(records, judge, protocol)


def _record(question: Question, said: str, side: str) -> Record:
    """The parts of a record that are scored."""
    verdict = verdict_of(question, said, side)
    return {
        "user": question.user_id,
        "type": question.type,
        "persona": None if question.persona is None else asdict(question.persona),
        "judgement": said,
        "verdict": verdict,
        "score": None if verdict is None else SCORES[verdict],
        "published": published.read_score(question.type, said, side)._asdict(),
    }


def controls_of(records: Mapping[str, Sequence[Record]], judge: str | None, protocol: str) -> list[Control]:
    """The scores of the records of each control, without controls that answered nothing."""
    measures = metrics_by(judge, protocol).measures
    scores = {name: measure for name, measure in measures.items() if name.startswith("score.")}
    values = {
        name: estimates_as_json(scores, [(cluster_of(record), record) for record in of])
        for name, of in records.items()
        if of
    }
    shown = [name for name in scores if any(name in found for found in values.values())]
    return [
        scored_control(name, kind, about, values[name], shown, len(records[name]))
        for name, (kind, about) in _CONTROLS.items()
        if name in values
    ]
