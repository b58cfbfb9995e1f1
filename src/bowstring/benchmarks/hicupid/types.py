"""HiCUPID's records: what is known of a user, the questions they ask later, and what judges said of answers.

A question is identified by user and question id; `key` is that identity as text, and never a path.
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
    """A HiCUPID question; `evidence` are the ids of the dialogues that hold what its answer needs."""

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
    """A judge's transcript on an answer to a HiCUPID question: what evaluators are trained on.

    Where the answer was compared with the gold one, the transcript calls the two A and B; `answer_is` says which of
    them the answer was. None for schedules, which are not compared, and for sets that do not say.
    """

    question: Question
    answer: str
    judgement: str
    answer_is: Side | None = None
