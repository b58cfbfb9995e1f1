"""An item or user of a data set for display: as JSON, and as blocks of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """A heading across the page."""

    title: str


@dataclass(frozen=True, slots=True)
class Heading:
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """A text with its label; `dim` if it describes the text before it."""

    label: str
    text: str
    dim: bool = False


@dataclass(frozen=True, slots=True)
class Remark:
    text: str


Block = Rule | Heading | Line | Remark


@dataclass(frozen=True, slots=True)
class ItemDisplay:
    json: Any
    blocks: Sequence[Block]


def json_of(record: Any) -> dict[str, Any]:
    """Return a record of a data set as JSON. A dialogue without a date has no `when`."""
    return asdict(record, dict_factory=lambda fields: {k: v for k, v in fields if (k, v) != ("when", "")})
