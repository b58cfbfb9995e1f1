"""Whether an answer fits a profile: which values of an aspect it recommends, in the generator's words or in others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from bowstring.benchmarks.hicupid.stance.clauses import clauses_of
from bowstring.benchmarks.hicupid.stance.names import SUBJECT, names_pattern
from bowstring.benchmarks.hicupid.stance.signs import sign_of
from bowstring.synthesis.banks import read_bank

# What a question asks about, by aspect.
_ASKED = {
    "time": re.compile(r"\b(when|what time|which hour|fit in)\b", re.IGNORECASE),
    "budget": re.compile(r"\b(how much (?!should I fix|to fix)|price|budget|cost|spend|money)\b", re.IGNORECASE),
    "company": re.compile(
        r"\b(company|how many people|come along|with whom|who (?:should|could|with)|on my own|together)\b",
        re.IGNORECASE,
    ),
    "planning": re.compile(
        r"\b(go about|beforehand|arrange|in advance|how firmly|plan ahead|organi[sz]e)\b", re.IGNORECASE
    ),
}


def asked_of(question: str) -> str | None:
    """The aspect that a question ends with, or None."""
    tail = question[question.rfind(",") + 1 :]
    return next((aspect for aspect, pattern in _ASKED.items() if pattern.search(tail)), None)


def values_named(aspect: str, values: Mapping[str, Sequence[str]], answer: str, question: str) -> set[str]:
    """The values of an aspect that an answer recommends. Words of the question do not count: 'this Saturday'."""
    exact = {value for value, phrases in values.items() if names_pattern(tuple(phrases)).search(answer)}
    found = set()
    for value in values:
        pattern = _words(aspect, value)
        if pattern is None:
            continue
        asked = {m[0].lower() for m in pattern.finditer(question)}
        text = pattern.sub(lambda m, asked=asked: m[0] if m[0].lower() in asked else f" {SUBJECT} ", answer)  # type: ignore[misc]
        if SUBJECT in text and _recommended(text):
            found.add(value)
    if exact:
        return exact | (found if len(exact) > 1 else set())
    return found


@lru_cache(maxsize=64)
def _words(aspect: str, value: str) -> re.Pattern[str] | None:
    text = read_bank(__package__, "profiles.yaml").get(aspect, {}).get(value)
    return names_pattern(tuple(phrase.strip() for phrase in text.split(","))) if text else None


def _recommended(text: str) -> bool:
    """Whether a value is named other than to reject it."""
    return any(sign_of(clause, at).value >= 0 for clause in clauses_of(text) for at in clause.mentions())


def fits(question: str, answer: str, aspects: Iterable[tuple[str, Mapping[str, Sequence[str]], str | None]]) -> bool:
    """Whether an answer has the user's value of an aspect, and no other value of the aspect that is asked about.
    `aspects` are names, words of each value, and the user's value."""
    asked, fitting = asked_of(question), False
    for name, values, value in aspects:
        if value is None:
            continue
        named = values_named(name, values, answer, question)
        if name == asked and named - {value}:
            return False
        fitting = fitting or named == {value}
    return fitting
