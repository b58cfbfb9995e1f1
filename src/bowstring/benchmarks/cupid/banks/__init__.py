"""The word bank of CUPID's offline generator."""

from __future__ import annotations

from functools import cache
from typing import Any

from bowstring.synthesis.banks import read_bank


@cache
def work() -> dict[str, Any]:
    """The parts of generated CUPID sessions: preferences, contexts, tasks, paragraphs."""
    found: dict[str, Any] = read_bank(__package__, "work.yaml")
    return found
