"""Gold answers with the opposite stance, from the patterns of the generator that wrote them.

A persona or profile answer is for what the user dislikes, or against what the user likes. A schedule answer books a
time that is taken, or declines one that is free.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bowstring.benchmarks.hicupid.types import Question, Sentiment
from bowstring.synthesis.banks import fill

_OPPOSITE: Mapping[Sentiment, Sentiment] = {"POS": "NEG", "NEG": "POS"}


class Swaps:
    """`patterns` are those of truth.json: by category and side, answers and plans; those at the same place differ in
    side only."""

    def __init__(self, patterns: Mapping[str, Mapping[Sentiment, Mapping[str, Sequence[str]]]]) -> None:
        self._patterns = patterns

    def swapped(self, question: Question) -> str | None:
        """The gold answer with the opposite stance; None if no pattern of the generator wrote it."""
        if question.persona is None:
            return question.general_answer  # the opposite act: it books, or declines
        sides = self._patterns.get(question.persona.category)
        if sides is None:
            return None
        own, other = sides[question.persona.sentiment], sides[_OPPOSITE[question.persona.sentiment]]
        subject, gold = question.persona.entity, question.personalized_answer
        for line, opposite in zip(own["answers"], other["answers"], strict=False):
            match = _pattern(line, subject).fullmatch(gold)
            if match is not None:
                return fill(opposite, {"e": subject, "alt": match.groupdict().get("alt", "")})
        for line, opposite in zip(own["plans"], other["plans"], strict=False):
            match = _pattern(line, subject).search(gold)
            if match is not None:
                return gold[: match.start()] + opposite.replace("{e}", subject) + gold[match.end() :]
        return None


def _pattern(line: str, subject: str) -> re.Pattern[str]:
    """A pattern with the subject, and any suggestion as the group `alt`."""
    parts = re.split(r"\{(\w+)\}", line)
    seen, found = False, ""
    for n, part in enumerate(parts):
        if n % 2 == 0:
            found += re.escape(part)
        elif part == "e":
            found += re.escape(subject)
        else:
            found += "(?P=alt)" if seen else "(?P<alt>.{1,80}?)"
            seen = True
    return re.compile(found, re.IGNORECASE)
