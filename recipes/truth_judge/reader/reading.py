"""What an answer says: its stance on a subject, the value of life that it recommends, and how it treats a clash.

A stance is one of
for       the answer recommends the subject or builds on it
against   it steers away from the subject, or says that the user does
open      it brings the subject up and takes no side, or takes both
none      it does not bring the subject up
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import numpy as np

from bowstring.benchmarks.hicupid.stance.names import OTHER, SUBJECT, SUBJECTS, Field, marked, names_pattern, stem
from bowstring.benchmarks.hicupid.stance.worded import Wordings
from reader.network import TASKS, read
from reader.times import with_times_marked

Stance = Literal["for", "against", "open", "none"]

_STANCES: dict[str, Stance] = {"for": "for", "against": "against", "neither": "open"}
_WORD = re.compile(r"[^\W\d_]+")
_OF_BOOKING = frozenset(("booked", "booking", "bookings"))  # what happens to an appointment; names no book club
_SHORTEST, _LIKE = (
    3,
    4,
)  # letters of a word that tells an appointment from others, and of the start that two forms share
# Alone, these words do not name an appointment.
_MANY_HAVE = (
    "appointment visit session meeting test class check evening lesson course party game match practice day night "
    "training workshop shift tour call dinner lunch trip event annual follow-up new last first work time home the at "
    "with and for your group friend team bank town city family year morning afternoon"
)
_COMMON = frozenset(map(stem, _MANY_HAVE.split()))


def stance_of(answer: str, field: Field, subject: str, wordings: Wordings | None = None) -> Stance:
    """The stance of an answer; `wordings` are those of the generator that made the question."""
    side = wordings.side(answer, subject) if wordings is not None else None
    if side is not None:
        return "for" if side == "POS" else "against"
    text = marked(answer, field, subject)
    if SUBJECT not in text and SUBJECTS not in text:
        return "none"
    return _STANCES[_class(text, "stance")]


def value_of(answer: str, field: Field, subject: str, aspect: str) -> str | None:
    """The value of an aspect of life that an answer recommends, such as 'low' of 'budget'; None if there is none."""
    value = _class(marked(answer, field, subject), aspect)
    return None if value == "none" else value


def notices(answer: str, event: str, events: Iterable[str], question: str) -> bool:
    """Whether an answer gives the appointment as the reason why the time that the question asks for is taken."""
    text = appointment_marked(answer, event, tuple(events), question)
    return SUBJECT in text and _class(text, "clash") == "noticed"


def books(answer: str, event: str, events: Iterable[str], question: str) -> bool:
    """Whether an answer books the time that the question asks for."""
    return _class(appointment_marked(answer, event, tuple(events), question), "booking") == "booked"


def _class(text: str, task: str) -> str:
    return TASKS[task][int(np.argmax(read(text)[task]))]


def appointment_marked(answer: str, event: str, events: tuple[str, ...], question: str) -> str:
    """The answer with marks in place of the appointment, of others, and of times; the question has those asked for."""
    others = _others(event, events)
    if others is not None:
        answer = others.sub(f" {OTHER} ", answer)
    telling, found, last = _telling(event), "", 0
    for match in _WORD.finditer(answer):
        if _tells(match[0].lower(), telling):
            found += f"{answer[last : match.start()]} {SUBJECT} "
            last = match.end()
    return with_times_marked(found + answer[last:], question)


@lru_cache(maxsize=4096)
def _others(event: str, events: tuple[str, ...]) -> re.Pattern[str] | None:
    telling = _telling(event)
    others = [e for e in events if e != event and not any(_tells(w.lower(), telling) for w in _WORD.findall(e))]
    return names_pattern(tuple(others)) if others else None


@lru_cache(maxsize=4096)
def _telling(event: str) -> frozenset[str]:
    """The stems of an appointment's words that tell it from others; all of them if there are none."""
    stems = [stem(word) for word in _WORD.findall(event.lower()) if len(word) >= _SHORTEST]
    return frozenset(s for s in stems if s not in _COMMON) or frozenset(stems)


def _tells(word: str, telling: frozenset[str]) -> bool:
    if word in _OF_BOOKING:
        return False
    stemmed = stem(word)
    return any(
        stemmed == s or (min(len(s), len(stemmed)) >= _LIKE and (stemmed.startswith(s) or s.startswith(stemmed)))
        for s in telling
    )
