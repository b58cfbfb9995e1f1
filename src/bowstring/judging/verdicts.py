"""Verdicts: what a judge decided, read from what it wrote.

    >>> read_pairwise("1. Personalization: B.\\nBetter Response: B, because A ignores the trip")
    'B'

Strict, because a verdict that is guessed is worse than one that is counted as unparsed: None means the latter.
"""

from __future__ import annotations

import re
from typing import Literal

Choice = Literal["A", "B", "tie"]

# The choice is the first word after the label: judges go on to explain, and name the other side.
_SIDE = r"(?:(?:answer|response|assistant|option)\W*)?"
_BETTER = re.compile(rf"^[^\w\n]*better (?:response|answer)\W*:\W*{_SIDE}(A|B|tie)\b", re.IGNORECASE | re.MULTILINE)
_SATISFIED = re.compile(r"^[^\w\n]*satisfaction\W*:\W*(yes|no)\b", re.IGNORECASE | re.MULTILINE)


def read_pairwise(text: str) -> Choice | None:
    """The last verdict in `text`, or None where there is none."""
    found = _BETTER.findall(text)
    if not found:
        return None
    last = found[-1].upper()
    return "tie" if last == "TIE" else "A" if last == "A" else "B"


def read_satisfaction(text: str) -> bool | None:
    """Whether the last verdict in `text` is yes, or None where there is none."""
    found = _SATISFIED.findall(text)
    return found[-1].lower() == "yes" if found else None
