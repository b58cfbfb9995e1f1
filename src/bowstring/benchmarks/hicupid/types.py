"""HiCUPID's records: personas, profiles and schedules of users, their questions, and judge transcripts of answers.

A question is identified by user and question id; `key` is that identity as text. It is never used as a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bowstring.records import Side

QuestionType = Literal["persona", "profile", "schedule"]
Sentiment = Literal["POS", "NEG"]
QUESTION_TYPES: tuple[QuestionType, ...] = ("persona", "profile", "schedule")


@dataclass(frozen=True, slots=True)
class Persona:
    category: str
    relation: str
    entity: str
    sentiment: Sentiment


@dataclass(frozen=True, slots=True)
class Profile:
    age: str
    gender: str
    personality: str
    occupation: str
    income_range: str


@dataclass(frozen=True, slots=True)
class Schedule:
    datetime: str
    event: str


@dataclass(frozen=True, slots=True)
class Question:
    """A HiCUPID question; `evidence` are the ids of the dialogues that its answer depends on."""

    split: str
    user_id: int
    question_id: int
    type: QuestionType
    question: str
    personalized_answer: str
    general_answer: str
    evidence: tuple[int, ...]
    persona: Persona | None
    profile: Profile | None
    schedule: Schedule | None

    @property
    def key(self) -> str:
        return f"{self.user_id}/{self.question_id}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's transcript of an answer to a HiCUPID question: training data of evaluators.

    In a comparison with the gold answer, the transcript calls the two answers A and B; `answer_is` is the side of the
    model's answer. It is None for schedule questions, which are not compared, and for sets without this column.
    """

    question: Question
    answer: str
    judgement: str
    answer_is: Side | None = None
