"""The generator's own wordings: whole answers, and clauses that occur on one side only, marked with that side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bowstring.benchmarks.hicupid.stance.names import AGAINST, FOR, names_pattern
from bowstring.benchmarks.hicupid.types import Sentiment

_HERE = "\x06"  # stands for the subject while patterns are compared
_SIDE = {"POS": FOR, "NEG": AGAINST}
_LEAST = 3  # words of a clause besides the subject


@dataclass(frozen=True, slots=True)
class Wordings:
    """The patterns of one category, compiled for any subject."""

    answers: dict[Sentiment, tuple[re.Pattern[str], ...]]
    plans: dict[Sentiment, tuple[re.Pattern[str], ...]]
    clauses: dict[Sentiment, tuple[re.Pattern[str], ...]]

    def side(self, answer: str, subject: str) -> Sentiment | None:
        """The side of an answer that is worded as the generator would word it, with any suggestion."""
        here = _with_subject(answer, subject)
        for side, patterns in self.answers.items():
            if any(pattern.fullmatch(here) for pattern in patterns):
                return side
        return None

    def plan(self, answer: str, subject: str) -> tuple[Sentiment, str] | None:
        """The side of a plan that an answer names, and the answer without the plan."""
        here = _with_subject(answer, subject)
        for side, patterns in self.plans.items():
            for pattern in patterns:
                match = pattern.search(here)
                if match:
                    return side, f"{here[: match.start()]}…{here[match.end() :]}"
        return None

    def marked(self, answer: str, subject: str) -> str:
        """The answer with a mark in place of each clause that the generator uses on one side only."""
        here = _with_subject(answer, subject)
        if _HERE not in here:
            return answer
        for side, patterns in self.clauses.items():
            for pattern in patterns:
                here = pattern.sub(f" {_SIDE[side]} ", here)
        return here.replace(_HERE, subject)


def wordings_of(patterns: Mapping[Sentiment, Mapping[str, Sequence[str]]]) -> Wordings:
    """The wordings of a category from truth.json."""
    pieces = {side: [p for line in of["answers"] for p in _pieces(line)] for side, of in patterns.items()}
    everywhere = {side: {p for other, ps in pieces.items() if other != side for p in ps} for side in pieces}
    return Wordings(
        {side: tuple(_compiled(line) for line in of["answers"]) for side, of in patterns.items()},
        {side: tuple(_compiled(line, end=r"(?![\w-])") for line in of["plans"]) for side, of in patterns.items()},
        {
            side: tuple(_compiled(p, start=r"(?<![\w-])", end=r"(?![\w-])") for p in ps if p not in everywhere[side])
            for side, ps in pieces.items()
        },
    )


def _pieces(line: str) -> list[str]:
    """The clauses of a pattern that name the subject and no suggestion."""
    found = [piece.strip(" .") for piece in line.split(",")]
    return [p for p in found if "{e}" in p and "{alt}" not in p and len(p.split()) > _LEAST]


def _compiled(line: str, start: str = "", end: str = "") -> re.Pattern[str]:
    escaped = re.escape(line).replace(r"\{e\}", rf"(?:(?:the|a|an)\ )?{_HERE}").replace(r"\{alt\}", ".{1,60}?")
    return re.compile(start + escaped + end, re.IGNORECASE)


@lru_cache(maxsize=64)
def _with_subject(answer: str, subject: str) -> str:
    return names_pattern((subject,)).sub(_HERE, answer)
