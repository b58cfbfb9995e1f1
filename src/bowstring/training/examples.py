"""Examples: a prompt and the answer to learn, of either benchmark. Those of a group share most of their prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bowstring.records import Prompt


@dataclass(frozen=True, slots=True)
class Example:
    key: str  # identity as text
    owner: str  # the user or persona it is of: a step mixes owners
    kind: str  # question or instance type
    prompt: Prompt
    answer: str
    rejected: str | None = None  # what to prefer the answer to


@dataclass(frozen=True, slots=True)
class Examples:
    """All there is to learn, group after group. Groups are made when they are asked for: histories are long."""

    groups: Callable[[], Iterable[Sequence[Example]]]
    notes: tuple[str, ...] = ()
