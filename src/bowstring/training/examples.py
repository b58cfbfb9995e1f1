"""Training examples: a prompt and the answer to learn. Examples of a group share most of their prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from bowstring.history.views import Kind
from bowstring.models.tokens import embedded_counter
from bowstring.records import Prompt

# Histories that can be trained on: those that need no other model.
TRAINED_VIEWS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind not in ("dense", "summary", "python"))


def count_tokens(texts: Sequence[str]) -> list[int]:
    return embedded_counter().count(texts)


@dataclass(frozen=True, slots=True)
class Example:
    key: str  # id as text
    owner: str  # the user or persona it belongs to: a step mixes owners
    kind: str  # question or instance type
    prompt: Prompt
    answer: str
    rejected: tuple[str, ...] = ()  # DPO: the answers that it is preferred to, each of them a pair


@dataclass(frozen=True, slots=True)
class Examples:
    """All examples, group by group. Groups are created on demand, because histories are long."""

    groups: Callable[[], Iterable[Sequence[Example]]]
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)  # fingerprints of what was read besides the set
