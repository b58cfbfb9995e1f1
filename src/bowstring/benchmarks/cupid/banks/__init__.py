"""The word banks of CUPID's offline generator."""

from __future__ import annotations

from functools import cache
from typing import Any

from bowstring.synthesis.banks import read_bank


@cache
def work() -> dict[str, Any]:
    """Who asks for what, for whom: occupations, contexts, tasks."""
    found: dict[str, Any] = read_bank(__package__, "work.yaml")
    return found


@cache
def talk() -> dict[str, Any]:
    """What users say around their hints."""
    found: dict[str, Any] = read_bank(__package__, "talk.yaml")
    return found


@cache
def matters() -> list[dict[str, Any]]:
    """What requests are about, with the facts that drafts are made of."""
    found: list[dict[str, Any]] = read_bank(__package__, "matters.yaml")
    return found


@cache
def drafts() -> dict[str, Any]:
    """The sentences of drafts around the facts."""
    found: dict[str, Any] = read_bank(__package__, "drafts.yaml")
    return found
