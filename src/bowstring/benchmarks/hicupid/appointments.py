"""Appointments for the offline generator, at times of day that fit them, and requests for taken and for free times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from bowstring.benchmarks.hicupid.banks import people
from bowstring.benchmarks.hicupid.options import Kind, Option
from bowstring.benchmarks.hicupid.types import Schedule
from bowstring.benchmarks.hicupid.users import QuestionDraft, SchedulePart
from bowstring.synthesis.banks import fill
from bowstring.synthesis.quality import content_words

_FIRST_DAY = date(2025, 1, 6)
_DAYS = 350
_WEEKDAYS = 5
_HALF_PAST = 0.3
_REMINDED = 0.45  # share of replies that add a remark
_FAR = 3  # hours between a free time and an appointment on the same day


@dataclass(frozen=True, slots=True)
class Window:
    """When something can take place: hours, and whether at weekends."""

    name: str
    first: int
    last: int
    weekends: bool

    def holds(self, at: datetime) -> bool:
        return self.first <= at.hour <= self.last and (self.weekends or at.weekday() < _WEEKDAYS)


WINDOWS = {
    w.name: w
    for w in (
        Window("office", 9, 16, weekends=False),
        Window("day", 10, 16, weekends=True),
        Window("evening", 18, 20, weekends=True),
        Window("weeknight", 18, 20, weekends=False),
    )
}


@dataclass(frozen=True, slots=True)
class _Booked:
    event: str
    window: Window
    at: datetime


def schedule_parts(n: int, no_clash: float, rng: random.Random) -> list[SchedulePart]:
    """`n` appointments, with one question each; in the share `no_clash` of them the time that is asked for is free."""
    bank = people()
    events = [(event, WINDOWS[name]) for name, group in bank["events"].items() for event in group]
    days = iter(rng.sample(range(_DAYS), 4 * n + 20))
    booked: list[_Booked] = []
    for event, window in rng.sample(events, n):
        at = _time(next(days), window, rng)
        while not window.holds(at):
            at = _time(next(days), window, rng)
        booked.append(_Booked(event, window, at))
    free = set(rng.sample(range(n), int(n * no_clash + rng.random())))
    parts = [_part(booked, k, k not in free, events, rng) for k in range(n)]
    rng.shuffle(parts)
    return parts


def _time(day: int, window: Window, rng: random.Random) -> datetime:
    minutes = 30 if rng.random() < _HALF_PAST else 0
    return datetime.combine(_FIRST_DAY + timedelta(days=day), time(rng.randint(window.first, window.last), minutes))


def _part(
    booked: Sequence[_Booked], k: int, clash: bool, events: Sequence[tuple[str, Window]], rng: random.Random
) -> SchedulePart:
    bank, own = people(), booked[k]
    at = own.at if clash else _free_time(booked, own, rng)
    others = [e for e, window in events if window.holds(at) and e not in {b.event for b in booked}]
    other, another = rng.sample(others, 2)
    elsewhere = rng.choice([b for b in booked if b is not own] or [_Booked(another, own.window, at)])
    request = _request(at, {own.event, other, elsewhere.event}, rng)
    values = {"request": request, "when": written(at), "there": written(elsewhere.at)}
    ask, refusal, book, booked_and = (rng.choice(bank[k]) for k in ("asks", "clash", "books", "books_beside"))

    def text(line: str, event: str = "") -> str:
        return fill(line, values | {"event": event})

    declines = text(rng.choice(bank["declines"]))
    options: list[tuple[str, Kind]]
    if clash:
        options = [
            (text(refusal, own.event), "gold"),
            (text(book), "books_over"),
            (text(refusal, other), "other_appointment"),
            (declines, "declines"),
            (text(booked_and, elsewhere.event), "unrelated"),
        ]
    else:
        options = [
            (text(book), "gold"),
            (declines, "declines"),
            (text(refusal, other), "other_appointment"),
            (text(refusal, own.event), "unrelated"),
            (text(booked_and, another), "other_appointment"),
        ]
    made = tuple(Option(said, kind) for said, kind in options)
    general = text(book) if clash else declines
    asked = QuestionDraft(text(ask), made[0].text, general, made, clash)
    noted = {"event": own.event, "when": written(own.at)}
    said, answered = (fill(line, noted) for line in rng.choice(bank["booking"]))
    if rng.random() < _REMINDED:
        answered = f"{answered} {rng.choice(bank['reminders'])}"
    turns = [(said, answered)]
    return SchedulePart(Schedule(written(own.at), own.event), turns, asked)


def _free_time(booked: Sequence[_Booked], own: _Booked, rng: random.Random) -> datetime:
    """A time without an appointment: another hour of that day, or that hour of another day.

    Hours and days are shifted in a circle, so that all are as frequent as among appointments.
    """
    taken = {b.at.date() for b in booked}
    hours = own.window.last - own.window.first + 1
    while True:
        if hours > 2 * _FAR and rng.random() < 0.5:
            shift = rng.randint(_FAR, hours - _FAR)
            return own.at.replace(hour=own.window.first + (own.at.hour - own.window.first + shift) % hours)
        day = (own.at.date() - _FIRST_DAY).days + rng.choice((-7, -2, -1, 1, 2, 7))
        at = datetime.combine(_FIRST_DAY + timedelta(days=day % _DAYS), own.at.time())
        if at.date() not in taken and own.window.holds(at):
            return at


def _request(at: datetime, events: set[str], rng: random.Random) -> str:
    """Something that can take place then and has no word in common with the events."""
    named = content_words(" ".join(events))
    fits = [r for name, group in people()["requests"].items() if WINDOWS[name].holds(at) for r in group]
    free: list[str] = [r for r in fits if not content_words(r) & named]
    return rng.choice(free)


def written(at: datetime) -> str:
    """A time in the published form: '11 AM on March 13, 2025'."""
    half = f":{at.minute}" if at.minute else ""
    return f"{(at.hour - 1) % 12 + 1}{half} {'AM' if at.hour < 12 else 'PM'} on {at:%B} {at.day}, {at.year}"


def appointment_truth() -> dict[str, Any]:
    bank = people()
    return {kind: [text for group in bank[kind].values() for text in group] for kind in ("events", "requests")}
