"""Views of a history: which of its dialogues a model sees.

full              everything
gold              the dialogues that hold the evidence
none              nothing
last:3            the newest three; last:4k the newest that fit into 4,000 tokens
bm25/session/3    the three that a keyword search finds
summary           a summary of each, which a model writes (a stage of the run, not a function here)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from bowstring.errors import UsageError
from bowstring.history.bm25 import Bm25, words
from bowstring.records import Dialogue, History

Kind = Literal["full", "gold", "none", "last", "bm25", "summary"]
_LAST = re.compile(r"last:(\d{1,6})(k?)")
_BM25 = re.compile(r"bm25/(\w+)/(\d{1,3})")


@dataclass(frozen=True, slots=True)
class View:
    kind: Kind
    number: int = 0
    in_tokens: bool = False
    unit: str = ""


def parse_view(name: str, *, kinds: Collection[Kind], units: Collection[str] = ()) -> View:
    """A view by the name that users write; `kinds` and `units` are those a benchmark has."""
    view = _parse(name)
    if view is None or view.kind not in kinds or (view.kind == "bm25" and view.unit not in units):
        raise UsageError(f"--history {name}: expected {_forms(kinds, units)}")
    if view.kind in ("last", "bm25") and view.number < 1:
        raise UsageError(f"--history {name}: expected at least 1")
    return view


def _parse(name: str) -> View | None:
    match name:
        case "full" | "gold" | "none" | "summary":
            return View(name)
    if match := _LAST.fullmatch(name):
        return View("last", int(match[1]) * (1000 if match[2] else 1), bool(match[2]))
    if match := _BM25.fullmatch(name):
        return View("bm25", int(match[2]), unit=match[1])
    return None


def _forms(kinds: Collection[Kind], units: Collection[str]) -> str:
    shown = {"last": "last:N (or last:4k, in tokens)", "bm25": ", ".join(f"bm25/{unit}/K" for unit in units)}
    forms = [shown.get(kind, kind) for kind in kinds]
    return f"{', '.join(forms[:-1])} or {forms[-1]}"


def select(
    view: View,
    history: History,
    evidence: Collection[int],
    query: str,
    count: Callable[[Dialogue], int],
) -> History:
    """The dialogues that a view shows, in their own order. `count` gives a dialogue's tokens."""
    match view.kind:
        case "full" | "summary":
            return history
        case "none":
            return ()
        case "gold":
            return tuple(dialogue for dialogue in history if dialogue.id in evidence)
        case "last":
            return _newest(history, view.number, count) if view.in_tokens else history[-view.number :]
        case "bm25":
            index = Bm25([words(_text(dialogue)) for dialogue in history])
            return tuple(history[n] for n in index.best(words(query), view.number))


def _newest(history: History, tokens: int, count: Callable[[Dialogue], int]) -> History:
    kept: list[Dialogue] = []
    for dialogue in reversed(history):
        tokens -= count(dialogue)
        if tokens < 0:
            break
        kept.append(dialogue)
    return tuple(reversed(kept))


def _text(dialogue: Dialogue) -> str:
    return "\n".join(message.text for message in dialogue.messages)
