"""The record types that all modules share: histories, prompts, completions, ratings.

A history is a tuple of dialogues. Each benchmark defines its own item type: see benchmarks/NAME/types.py.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from bowstring.seeding import seeded_number

if TYPE_CHECKING:
    from hashlib import _Hash

Role = Literal["system", "developer", "user", "assistant"]  # "developer" is OpenAI's other name of "system"
Side = Literal["A", "B"]

MODEL_ROLE = "model"  # the role of the evaluated model
STAGE_ROLE = "history"  # that of the model that history stages call

SIDES: tuple[Side, ...] = ("A", "B")


def fields_of(record: Any) -> dict[str, Any]:
    """Return a record's fields without copying their values. (`dataclasses.asdict` makes deep copies, which is
    slow.)"""
    return {name: getattr(record, name) for name in record.__slots__}


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. Its content is a list of parts, so that a trunk can end inside a message."""

    role: Role
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation of a history. `kind` is the benchmark's name for it; `when` is its date, if the data has one."""

    id: int
    kind: str
    messages: tuple[Message, ...]
    when: str = ""


History = tuple[Dialogue, ...]


@dataclass(frozen=True, slots=True)
class Rating:
    """One rating of one item by one rater: a person, a judge or a metric.

    `task` is the question put to the rater, "" if unknown; ratings of different tasks are never compared. `cluster` is
    the user or persona the item belongs to; `type` is the question type; `personalization` is how personalized the
    rater found the answer. `sides` names the two runs whose answers were compared, unless one side was the gold answer;
    the label applies to the first.
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
    """The shared beginning of several prompts, and the number of those prompts.

    Its last message may continue in the branches; those then begin with a message of the same role. Everything derived
    from a trunk is computed once, however many branches there are.
    """

    def __init__(self, messages: Sequence[Message], *, branches: int = 1) -> None:
        self.messages = tuple(messages)
        self.branches = branches

    @cached_property
    def characters(self) -> int:
        return sum(len(m.text) for m in self.messages)

    @cached_property
    def hasher(self) -> _Hash:
        """Hash of the trunk's text; a prompt's hash continues from a copy of it."""
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
    """A trunk and the branch that one prompt adds to it."""

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
        """Hash of the whole text with roles; it does not depend on where the trunk ends."""
        hasher = self.trunk.hasher.copy()
        for n, message in enumerate(self.branch):
            if not (n == 0 and self.continues):
                opening = _opening(message.role)
                hasher.update(_CLOSING + opening if n or self.trunk.messages else opening)
            hasher.update(_bytes(message.text))
        hasher.update(_CLOSING)
        return hasher.hexdigest()


# Bytes that no UTF-8 text contains, so that no text can imitate a message boundary.
_CLOSING = b"\xff"


def _opening(role: str) -> bytes:
    return role.encode() + b"\xfe"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings of a request. None means the model's default. `sample` is 0 for the first answer to a prompt,
    1 for a second one, and so on; it is not sent. `template_args` are arguments of the chat template, as JSON;
    `thinking_tokens` is the budget of thoughts, apart from `max_tokens`. `schema` is the answer's JSON schema, with its
    name; empty if the model refused or ignored one, and was asked for text instead. `options` are given answers, as a
    JSON list: the response is how probable the model finds each of them, and nothing is sampled."""

    max_tokens: int
    temperature: float | None = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    sample: int = 0
    template_args: str | None = None
    thinking_tokens: int | None = None
    schema: str | None = None
    options: str | None = None

    def again(self, sample: int) -> Sampling:
        """Return the settings of a further answer to the same prompt; the seed depends on the sample number."""
        if not sample:
            return self
        return replace(self, sample=sample, seed=seeded_number(self.seed or 0, "sample", str(sample)) % 2**31)

    def settings(self) -> dict[str, Any]:
        """Return what a model samples by."""
        return {name: value for name, value in fields_of(self).items() if name not in _BESIDE}

    def as_json(self) -> str:
        """Return everything that a request's result depends on, as text."""
        beside = {name: value for name in _BESIDE if (value := getattr(self, name)) is not None}
        if not self.sample:
            del beside["sample"]
        return json.dumps(self.settings() | beside, sort_keys=True)


# part of a request's key where given
_BESIDE = ("sample", "template_args", "thinking_tokens", "schema", "options")


def request_key(model: str, prompt: Prompt, sampling: Sampling) -> str:
    """Return the key of a response in the store and in batches: a hash of model, full prompt and sampling settings."""
    settings = sampling.as_json()
    return hashlib.sha256(f"{_without_label(model)}\0{settings}\0{prompt.digest}".encode()).hexdigest()


def text_digest(text: str) -> str:
    """Return a short hash by which a record knows the text that was used."""
    return hashlib.sha256(_bytes(text)).hexdigest()[:16]


_WEIGHTS = re.compile(r"(hf|vllm)/.*#([^#]+)", re.DOTALL)


def _without_label(identity: str) -> str:
    """Return an identity without the name of a folder: weights are known by fingerprint, precision and engine."""
    found = _WEIGHTS.fullmatch(identity)
    return f"{found[1]}#{found[2]}" if found else identity


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a request as reported by the server; `cached` counts prompt tokens served from a prefix cache."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt + other.prompt, self.cached + other.cached, self.completion + other.completion)


Finish = Literal["stop", "length", "filter", "refusal"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a completion came from. What depends on timing (address, response id, time) is kept in the store alone."""

    key: str = ""  # of the request in the store
    role: str = ""  # for which it was asked first
    address: str = ""  # base URL of the server that answered, without user and password
    sent: str = ""  # settings really sent, as JSON
    raw_finish: str | None = None  # as the server gave it
    response_id: str | None = None
    engine: str = ""  # that generated it, with its version, if that is known
    precision: str = ""  # of the weights
    may_be_thought: bool = False  # cut at its limit, and the server does not say whether answers begin in a thought
    stored_at: float = 0.0  # seconds since 1970

    def as_record(self) -> dict[str, Any]:
        """Return what records.jsonl holds: nothing that depends on timing."""
        known = {"engine": self.engine, "precision": self.precision, "finish": self.raw_finish}
        return {
            "role": self.role,
            "key": self.key,
            "sent": json.loads(self.sent) if self.sent else {},
            **{name: value for name, value in known.items() if value},
        }


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer. `text` excludes the reasoning; `finish` says why generation ended."""

    text: str
    finish: Finish = "stop"
    reasoning: str | None = None
    usage: Usage = field(default_factory=Usage)
    provenance: Provenance = field(default_factory=Provenance, compare=False)


# "code": a model that is Python code of the user raised an exception, did not return in time, or returned a wrong type
FailureKind = Literal["context", "server", "timeout", "protocol", "rejected", "code"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A request that a run would make: its role and its approximate answer length. `estimated` if the prompt depends on
    answers that do not exist yet. `as_text` is what a model is asked that takes no schema."""

    role: str
    prompt: Prompt
    sampling: Sampling
    answer_tokens: int
    estimated: bool = False
    as_text: tuple[Prompt, Sampling] | None = None


# Looks up the stored answer of a role to a prompt, if any, so that a plan can look ahead.
Known = Callable[[str, Prompt, Sampling], str | None]


REPEAT = "repeat"  # the field of a record that is a further answer, or a further judgement, of an item


def item_and_answer(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return which item a record is of, and which answer to it."""
    said = record.get(REPEAT)
    if not isinstance(said, Mapping):
        return str(record.get("key")), "1"
    return str(said.get("of")), str(said.get("answer"))


def is_repeated(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a further answer or judgement of an item that has another record."""
    return REPEAT in record


def by_item(records: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the records of each item, by its key: one, or several answers and judgements."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        found.setdefault(item_and_answer(record)[0], []).append(record)
    return found
