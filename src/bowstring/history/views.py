"""The views that need neither an index nor a model."""

from __future__ import annotations

from collections.abc import Collection

from bowstring.errors import UsageError
from bowstring.records import History

HISTORY_NAMES = ("full", "gold", "none")


def check_name(name: str) -> str:
    if name not in HISTORY_NAMES:
        raise UsageError(f"--history {name}: expected {', '.join(HISTORY_NAMES[:-1])} or {HISTORY_NAMES[-1]}")
    return name


def is_shared(name: str) -> bool:
    """Whether all questions of a user see the same history, so that it belongs to the trunk."""
    return name in ("full", "none")


def view(name: str, history: History, evidence: Collection[int]) -> History:
    match name:
        case "full":
            return history
        case "gold":
            return tuple(dialogue for dialogue in history if dialogue.id in evidence)
        case "none":
            return ()
    raise UsageError(f"--history {name} is not known")
