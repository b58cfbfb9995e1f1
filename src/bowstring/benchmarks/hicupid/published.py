"""HiCUPID as published: the sides of answers, and what the authors' code makes of a judge's text.

>>> read_score("persona", "Better Response: B, because A ignores the trip", "A")
Read(score=1.0, parsed=True)

The pattern is greedy and ignores case, so it finds the last A, B or Tie of a line, even inside a word.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from bowstring.records import History

SEED = 42
_SATISFACTION = re.compile(r"Satisfaction:.*(YES|NO)", re.IGNORECASE)
_BETTER = re.compile(r"Better Response:.*(A|B|Tie)", re.IGNORECASE)


class Read(NamedTuple):
    score: float
    parsed: bool


def read_score(kind: str, said: str, side: str) -> Read:
    """Return the score of an answer that was on this side. What cannot be parsed is a tie, or not satisfied."""
    if kind == "schedule":
        satisfied = _SATISFACTION.search(said)
        return Read(float(satisfied is not None and satisfied[1].upper() == "YES"), satisfied is not None)
    better = _BETTER.search(said)
    if better is None or better[1].upper() not in ("A", "B"):  # "Tİe" matches, too
        return Read(0.5, better is not None)
    return Read(float(better[1].upper() == side), True)


def verdict_line(kind: str, said: str) -> str:
    """Return the text that the score is read from; empty if there is none."""
    found = (_SATISFACTION if kind == "schedule" else _BETTER).search(said)
    return found[0] if found else ""


def arranged(history: History) -> History:
    """Return the dialogues by their ids, whatever their order in the files: the authors' code groups by them."""
    return tuple(sorted(history, key=lambda dialogue: dialogue.id))


def shuffled_sides(keys: Sequence[str], seed: int) -> dict[str, str]:
    """Return the side of each answer: half of them A, in one shuffle of the whole list."""
    half = len(keys) // 2
    sides = ["A"] * half + ["B"] * (len(keys) - half)
    random.Random(seed).shuffle(sides)  # noqa: S311 - as the authors do
    return dict(zip(keys, sides, strict=True))
