"""The few types that everything passes around: histories, prompts, completions, ratings.

A history is a tuple of dialogues. What is asked behind it is the benchmark's own: see benchmarks/NAME/types.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from hashlib import _Hash

Role = Literal["system", "user", "assistant"]
Side = Literal["A", "B"]

STAGE_ROLE = "history"  # of the model that stages between a history and a prompt ask

SIDES: tuple[Side, ...] = ("A", "B")


def fields_of(record: Any) -> dict[str, Any]:
    """A record's own fields, as they are. (`dataclasses.asdict` copies everything in them, and takes its time.)"""
    return {name: getattr(record, name) for name in record.__slots__}


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
    """One conversation of a history: `kind` is what its benchmark calls it, `when` its date where the data has one."""

    id: int
    kind: str
    messages: tuple[Message, ...]
    when: str = ""


History = tuple[Dialogue, ...]


@dataclass(frozen=True, slots=True)
class Rating:
    """What one rater, a person, a judge or a metric, says of one item.

    `task` is what was asked, "" where nobody says; ratings of two tasks are never compared. `cluster` is whose item it
    is, a user or persona; `type` that of the question; `personalization` how personalized the rater found it; `sides`
    the two runs whose answers were compared, where it was not the gold one: the label is of the first.
    """

    item: str
    rater: str
    label: str
    cluster: str | None = None
    task: str = ""
    type: str | None = None
    personalization: str | None = None
    sides: tuple[str, str] | None = None


class Trunk:
    """The beginning that several prompts share, and how many prompts those are.

    Its last message may go on in the branches: then they begin with a message of the same role. Everything
    derived from it is made once, however many branches there are.
    """

    def __init__(self, messages: Sequence[Message], *, branches: int = 1) -> None:
        self.messages = tuple(messages)
        self.branches = branches

    @cached_property
    def characters(self) -> int:
        return sum(len(m.text) for m in self.messages)

    @cached_property
    def hasher(self) -> _Hash:
        """The hash of the text so far; a prompt's hash goes on from a copy of it."""
        hasher = hashlib.sha256()
        for n, message in enumerate(self.messages):
            hasher.update(_opening(message.role) if n == 0 else _CLOSING + _opening(message.role))
            hasher.update(_bytes(message.text))
        return hasher

    @cached_property
    def digest(self) -> str:
        return self.hasher.hexdigest()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A trunk and what one prompt adds to it."""

    trunk: Trunk
    branch: tuple[Message, ...]

    @property
    def continues(self) -> bool:
        """Whether the branch begins inside the trunk's last message."""
        return bool(self.trunk.messages and self.branch) and self.trunk.messages[-1].role == self.branch[0].role

    @property
    def messages(self) -> tuple[Message, ...]:
        if not self.continues:
            return self.trunk.messages + self.branch
        *before, last = self.trunk.messages
        first, *after = self.branch
        return (*before, Message(last.role, last.parts + first.parts), *after)

    @property
    def digest(self) -> str:
        """A hash of the whole text, by role; where the trunk ends makes no difference to it."""
        hasher = self.trunk.hasher.copy()
        for n, message in enumerate(self.branch):
            if not (n == 0 and self.continues):
                opening = _opening(message.role)
                hasher.update(_CLOSING + opening if n or self.trunk.messages else opening)
            hasher.update(_bytes(message.text))
        hasher.update(_CLOSING)
        return hasher.hexdigest()


# Bytes that no UTF-8 text contains, so that no text can imitate the border of a message.
_CLOSING = b"\xff"


def _opening(role: str) -> bytes:
    return role.encode() + b"\xfe"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn. None leaves a setting to the model's own default."""

    max_tokens: int
    temperature: float | None = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None


def request_key(model: str, prompt: Prompt, sampling: Sampling) -> str:
    """What a response is kept under, in the store and in batches: the model, the whole prompt, how it was sampled."""
    settings = json.dumps(fields_of(sampling), sort_keys=True)
    return hashlib.sha256(f"{model}\0{settings}\0{prompt.digest}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a request took, as the server counted it; `cached` are prompt tokens it did not process again."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt + other.prompt, self.cached + other.cached, self.completion + other.completion)


Finish = Literal["stop", "length", "filter", "refusal"]


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered. `text` is without its reasoning; `finish` says why it ended."""

    text: str
    finish: Finish = "stop"
    reasoning: str | None = None
    usage: Usage = field(default_factory=Usage)


FailureKind = Literal["context", "server", "timeout", "protocol", "rejected"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A request that a run would make: of which role, and about how long its answer is. `estimated` where the
    prompt depends on answers that are not there yet."""

    role: str
    prompt: Prompt
    sampling: Sampling
    answer_tokens: int
    estimated: bool = False


# The stored answer of a role to a prompt, if there is one, so that a plan can see further.
Known = Callable[[str, Prompt, Sampling], str | None]
