"""Parsing of the parts of HiCUPID data that models write, with a schema and the rules of the benchmark."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field

from bowstring.benchmarks.hicupid.types import Schedule
from bowstring.benchmarks.hicupid.users import QuestionDraft
from bowstring.judging.structured import Unreadable, read_keyed
from bowstring.synthesis import quality
from bowstring.synthesis.making import validate_entry
from bowstring.synthesis.quality import Flaw

M = TypeVar("M", bound=BaseModel)
YEAR = 2025
_WHEN = re.compile(r"(\d{1,2}(?::\d\d)?) ?(AM|PM) on ([A-Z][a-z]+) (\d{1,2}), (\d{4})")


class PersonaOut(BaseModel):
    relation: str = Field(min_length=2, max_length=80)
    entity: str = Field(min_length=2, max_length=80)
    sentiment: Literal["POS", "NEG"]


class ProfileOut(BaseModel, coerce_numbers_to_str=True):
    age: str = Field(min_length=1, max_length=20)
    gender: str = Field(min_length=1, max_length=40)
    personality: str = Field(min_length=3, max_length=120)
    occupation: str = Field(min_length=3, max_length=80)
    income_range: str = Field(min_length=2, max_length=60)


class ScheduleOut(BaseModel):
    datetime: str
    event: str = Field(min_length=4, max_length=120)


class TurnOut(BaseModel):
    user: str = Field(min_length=10)
    assistant: str = Field(min_length=10)


class QuestionOut(BaseModel):
    question: str = Field(min_length=10, max_length=300)
    personalized_answer: str = Field(min_length=20, max_length=600)
    general_answer: str = Field(min_length=20, max_length=600)

    @property
    def draft(self) -> QuestionDraft:
        question, personalized, general = (
            " ".join(text.split()) for text in (self.question, self.personalized_answer, self.general_answer)
        )
        return QuestionDraft(question, personalized, general)


def read_one(text: str, key: str, model: type[M]) -> M:
    def convert(value: Any) -> M:
        if not isinstance(value, dict):
            raise Unreadable(f'expected one object with "{key}"')
        return validate_entry(model, value)

    return read_keyed(text, key, convert)


def read_list(text: str, key: str, model: type[M], n: int) -> list[M]:
    def convert(value: Any) -> list[M]:
        entries = value[key] if isinstance(value, dict) else value
        if not isinstance(entries, list) or len(entries) != n:
            there = len(entries) if isinstance(entries, list) else "none"
            raise Unreadable(f'expected {n} entries under "{key}"; there are {there}')
        return [validate_entry(model, raw) for raw in entries]

    return read_keyed(text, key, convert)


def read_personas(text: str, n: int, known: frozenset[str]) -> list[PersonaOut]:
    """The first n personas that are new and different; an error if there are fewer."""

    def convert(value: Any) -> list[PersonaOut]:
        entries = value["personas"] if isinstance(value, dict) else value
        if not isinstance(entries, list):
            raise Unreadable('expected {"personas": [...]}')
        new: dict[str, PersonaOut] = {}
        for raw in entries:
            try:
                made = validate_entry(PersonaOut, raw)
            except Unreadable:
                continue  # skip one bad entry, keep the others
            if made.entity.lower() not in known:
                new.setdefault(made.entity.lower(), made)
        if len(new) < n:
            raise Unreadable(f"expected {n} entries with new, different entities; there are {len(new)}")
        return list(new.values())[:n]

    return read_keyed(text, "personas", convert)


def read_schedules(text: str, n: int) -> list[ScheduleOut]:
    found = []
    for schedule in read_list(text, "schedules", ScheduleOut, n):
        found.append(schedule.model_copy(update={"datetime": _canonical(schedule.datetime)}))
    if len({s.datetime for s in found}) < n:
        raise Unreadable("two appointments are at the same time")
    return found


def _canonical(text: str) -> str:
    """A time in the published form, such as '11 AM on March 13, 2025'; raises Unreadable if it is not a time."""
    match = _WHEN.fullmatch(" ".join(text.split()))
    if match is None:
        raise Unreadable(f"{text!r:.60} is not of the form '11 AM on March 13, {YEAR}'")
    hour, _, minute = match[1].partition(":")
    try:
        moment = datetime.strptime(f"{hour}:{minute or '00'} {' '.join(match.groups()[1:])}", "%I:%M %p %B %d %Y")
    except ValueError as error:
        raise Unreadable(f"{text!r:.60} is no time: {error}") from error
    past = f":{moment:%M}" if moment.minute else ""
    return f"{int(hour)}{past} {match[2]} on {moment:%B} {moment.day}, {moment.year}"


def _missing_date(texts: Sequence[str], schedules: Sequence[Schedule]) -> Flaw | None:
    """A flaw if a text lacks the day or the hour of its appointment."""
    for text, schedule in zip(texts, schedules, strict=True):
        when = _WHEN.fullmatch(schedule.datetime)
        if when is None:
            continue
        day = when[3] in text and re.search(rf"\b{when[4]}(?:st|nd|rd|th)?\b", text)
        if not day or not re.search(rf"\b{when[1]}(?!\d)", text):
            return Flaw("the date or the hour is missing", text[:120])
    return None


def flaw_of_schedule_dialogues(made: Sequence[TurnOut], schedules: Sequence[Schedule]) -> Flaw | None:
    missing = _missing_date([f"{turn.user} {turn.assistant}" for turn in made], schedules)
    return missing or quality.contains_personal_data(text for turn in made for text in (turn.user, turn.assistant))


def flaw_of_schedule_questions(made: Sequence[QuestionOut], schedules: Sequence[Schedule]) -> Flaw | None:
    asked = [q.question for q in made]
    flaws: list[Callable[[], Flaw | None]] = [lambda: _missing_date(asked, schedules)]
    for n, (q, s) in enumerate(zip(made, schedules, strict=True)):
        flaws.append(partial(_names_no_clash, q.personalized_answer, s.event))
        flaws.append(partial(quality.gives_away, q.question, s.event))
        flaws.append(partial(quality.indistinct, q.personalized_answer, q.general_answer))
        flaws.append(partial(quality.repeats, q.question, asked[:n]))
        flaws.append(partial(quality.contains_personal_data, [q.question, q.personalized_answer, q.general_answer]))
    return next((flaw for find in flaws if (flaw := find()) is not None), None)


def _names_no_clash(answer: str, event: str) -> Flaw | None:
    wanted = quality.content_words(event)
    named = len(wanted & quality.content_words(answer)) >= 0.5 * len(wanted)
    return None if named else Flaw("the answer does not name the clash", answer[:120])
