"""Views of a history: which part of it a model sees.

full                everything
gold                the dialogues that contain the evidence
none                nothing
last:3              the newest three dialogues; last:4k the newest turns that fit into 4,000 tokens
bm25/utterance/5    the five turns that a keyword search finds, in history order
dense/dialogue/3    the three dialogues whose embeddings are nearest to the question's
summary             a summary of each dialogue, written by a model
python:module:Class a user-supplied stage

The last four are stages (history/stages): their result may depend on models.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bowstring.errors import UsageError

Kind = Literal["full", "gold", "none", "last", "bm25", "dense", "summary", "python"]
_LAST = re.compile(r"last:([1-9]\d{0,5})(k?)")
_OWN = re.compile(r"python:[\w.]+:\w+")
_FOUND = re.compile(r"(bm25|dense)/(\w+)/([1-9]\d{0,5})")


@dataclass(frozen=True, slots=True)
class View:
    kind: Kind
    number: int = 0
    in_tokens: bool = False
    unit: str = ""
    name: str = ""  # of a user-supplied stage

    @property
    def by_question(self) -> bool:
        """Whether what is shown may differ between questions of a user."""
        return self.kind in ("gold", "bm25", "dense", "python")

    @property
    def is_stage(self) -> bool:
        return self.kind in ("bm25", "dense", "summary", "python")

    @property
    def asks(self) -> bool:
        """Whether a model may be called before the question is asked."""
        return self.kind in ("summary", "python")

    @property
    def searches(self) -> bool:
        return self.kind in ("bm25", "dense")


def parse_view(name: str, *, kinds: Sequence[Kind], units: Sequence[str]) -> View:
    """Parse a view as users write it; `kinds` and `units` (smallest first) are those that the benchmark supports."""
    view = _parse(name, units)
    if view is None or view.kind not in kinds or (view.searches and view.unit not in units):
        near = _nearest(name, kinds, units)
        hint = f"; did you mean {near}?" if near else ""
        raise UsageError(f"--history {name}: expected {view_forms(kinds, units)}{hint}")
    return view


def _nearest(name: str, kinds: Sequence[Kind], units: Sequence[str]) -> str | None:
    """The view that a name with a typing error may stand for."""
    number = found[1] if (found := re.search(r"[:/](\d+k?)$", name)) else "5"
    forms: list[str] = [kind for kind in kinds if kind not in ("last", "bm25", "dense", "python")]
    forms += [f"last:{number}"] if "last" in kinds else []
    forms += [f"{kind}/{unit}/{number.rstrip('k')}" for kind in kinds if kind in ("bm25", "dense") for unit in units]
    return next(iter(difflib.get_close_matches(name, forms, n=1, cutoff=0.75)), None)


def _parse(name: str, units: Sequence[str]) -> View | None:
    match name:
        case "full" | "gold" | "none" | "summary":
            return View(name)
    if match := _LAST.fullmatch(name):
        in_tokens = bool(match[2])
        return View("last", int(match[1]) * (1000 if in_tokens else 1), in_tokens, units[0 if in_tokens else -1])
    if _OWN.fullmatch(name):
        return View("python", name=name)
    if match := _FOUND.fullmatch(name):
        return View("bm25" if match[1] == "bm25" else "dense", int(match[3]), unit=match[2])
    return None


def view_forms(kinds: Sequence[Kind], units: Sequence[str]) -> str:
    """The views of these kinds, as users write them."""
    shown = {"last": "last:N (or last:4k, in tokens)", "python": "python:module:Class"}
    shown |= {kind: ", ".join(f"{kind}/{unit}/K" for unit in units) for kind in ("bm25", "dense")}
    forms = [shown.get(kind, kind) for kind in kinds]
    return f"{', '.join(forms[:-1])} or {forms[-1]}"
