"""The few types that everything passes around.

Both benchmarks are a history of dialogues and something asked behind it:

    HiCUPID   Question   asked of a user, whose history is a tuple of Dialogue
    CUPID     Instance   a request behind a tuple of Session, each a Dialogue with its context

A question is identified by user and question id, an instance by persona and type: three instances share
a persona. `key` is that identity as text, for records and messages; it is never a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]
QuestionType = Literal["persona", "profile", "schedule"]
Sentiment = Literal["POS", "NEG"]
InstanceType = Literal["consistent", "contrastive", "changing"]

QUESTION_TYPES: tuple[QuestionType, ...] = ("persona", "profile", "schedule")
INSTANCE_TYPES: tuple[InstanceType, ...] = ("consistent", "contrastive", "changing")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat. Its content is a list of parts, so that a trunk can end inside it."""

    role: Role
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation of a history. `kind` is HiCUPID's type, or 'session' in CUPID."""

    id: int
    kind: str
    messages: tuple[Message, ...]


History = tuple[Dialogue, ...]


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
    """A judge's transcript on an answer to a HiCUPID question: what evaluators are trained on."""

    question: Question
    answer: str
    judgement: str


@dataclass(frozen=True, slots=True)
class Session:
    """A CUPID session: a dialogue, the context it happened in, and the preference that held there."""

    context_factor: str
    preference: str
    dialogue: Dialogue


@dataclass(frozen=True, slots=True)
class Instance:
    """A CUPID instance: a request, the preference that applies to it, and the sessions before it."""

    persona_id: str
    type: InstanceType
    request: str
    context_factor: str
    preference: str
    checklist: tuple[str, ...]
    sessions: tuple[Session, ...]

    @property
    def key(self) -> str:
        return f"{self.persona_id}+{self.type}"

    @property
    def history(self) -> History:
        return tuple(session.dialogue for session in self.sessions)

    @property
    def evidence(self) -> tuple[int, ...]:
        """Ids of the sessions that happened in the request's context, older preferences included."""
        return tuple(s.dialogue.id for s in self.sessions if s.context_factor == self.context_factor)
