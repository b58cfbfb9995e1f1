"""Judging of a HiCUPID answer by a model, by a generator's ground truth, or by words; verdicts and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bowstring.benchmarks.hicupid.prompts import HicupidPrompts
from bowstring.benchmarks.hicupid.truth import Truth
from bowstring.benchmarks.hicupid.types import Persona, Profile, Question, Schedule
from bowstring.benchmarks.judges import ask_as_published, ask_judge
from bowstring.judging import builtin, verdicts
from bowstring.labels import COMPARED_SCORES, LOSE, NO, TIE, WIN, YES, YES_OR_NO_SCORES
from bowstring.records import Sampling, item_and_answer
from bowstring.runs.asking import Asker

SCORES = COMPARED_SCORES | YES_OR_NO_SCORES


@dataclass(frozen=True, slots=True)
class HicupidJudging:
    prompts: HicupidPrompts
    truth: Truth | None
    sampling: Sampling
    published: bool = False  # a judge's message without text is a failed request

    async def judgement(self, question: Question, answer: str, side: str, judge: Asker | None) -> str:
        """The text of the judge; without an asker, of the truth judge or the builtin judge."""
        if judge is not None:
            request = self.prompts.judge(question, answer, answer_is=side)
            purpose = f"verdicts on {question.type} questions"
            if self.published:
                return await ask_as_published(judge, request.text, self.sampling, purpose=purpose)
            return await ask_judge(judge, request, self.sampling, purpose=purpose)
        return self.by_rule(question, answer, side)

    def by_rule(self, question: Question, answer: str, side: str) -> str:
        """The text of a judge that asks no model."""
        if self.truth is not None:
            if question.type == "schedule":
                return self.truth.satisfaction(question, answer)
            return self.truth.pairwise(question, answer, answer_is=side)
        if question.type == "schedule" and question.schedule:
            return builtin.satisfaction(answer, question.schedule.event)
        return builtin.pairwise(answer, question.personalized_answer, question.general_answer, answer_is=side)


def verdict_of(question: Question, said: str, side: str) -> str | None:
    """win, tie or lose, or yes or no; None if unparsed."""
    if question.type == "schedule":
        satisfied = verdicts.read_satisfaction(said)
        return None if satisfied is None else YES if satisfied else NO
    choice = verdicts.read_pairwise(said)
    if choice is None or choice == TIE:
        return choice
    return WIN if choice == side else LOSE


def question_of(record: Mapping[str, Any]) -> Question:
    """The question of a record."""
    return Question(
        split=record["split"],
        user_id=record["user"],
        question_id=int(item_and_answer(record)[0].rpartition("/")[2]),
        type=record["type"],
        question=record["question"],
        personalized_answer=record["personalized_answer"],
        general_answer=record["general_answer"],
        evidence=tuple(record["evidence"]),
        persona=Persona(**record["persona"]) if record["persona"] else None,
        profile=Profile(**record["profile"]) if record["profile"] else None,
        schedule=Schedule(**record["schedule"]) if record["schedule"] else None,
    )
