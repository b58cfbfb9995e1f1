"""Times and dates in an answer to a request for a time: those that were asked for, and others."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import TypeVar

Found = TypeVar("Found")
Day = tuple[tuple[int, int] | None, int | None, int | None]  # month and day, weekday, a day without its month

# Marks of the time or date that was asked for, and of another one.
ASKED_TIME, OTHER_TIME, ASKED_DATE, OTHER_DATE = "\x0e", "\x0f", "\x10", "\x11"

_HOURS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_MONTHS = ["january", "february", "march", "april", "may", "june", "july"]
_MONTHS += ["august", "september", "october", "november", "december"]
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH = rf"(?:{'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in _MONTHS)})\.?"
_TIME = re.compile(
    rf"""(?<![\w:.,])(?:
        (?P<half>half[-\s]past\s|quarter\spast\s|quarter\sto\s)?
        (?: (?P<digits>\d{{1,2}})(?:[:.](?P<minutes>\d\d))?\s*(?P<half_day>[ap]\.?m\b\.?|o['’]clock)?
          | (?P<word>{"|".join(_HOURS)})(?P<thirty>[\s-]thirty)?(?P<oclock>\so['’]clock|\s(?:am|pm)\b)? )
        | (?P<noon>noon|midday)
    )(?!\w|:\d)""",
    re.IGNORECASE | re.VERBOSE,
)
_BEFORE_TIME = re.compile(r"(?:\b(?:at|for|from|by|is|until|till|to|about|around|than|past|before|after)|,)\s+$", re.I)
_AFTER_NUMBER = re.compile(
    r"[,.]?\s*(?:of |20\d\d|people|persons|guests|minutes|hours|days|weeks|pounds|dollars|other|things?|%)", re.I
)
_DATE = re.compile(
    rf"\b(?:(?P<month>{_MONTH})\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?:the\s+)?(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month2>{_MONTH})"
    rf"|the\s+(?P<day3>\d{{1,2}})(?:st|nd|rd|th)"
    rf"|(?P<weekday>{'|'.join(_WEEKDAYS)}))(?:,?\s+(?P<year>20\d\d))?(?!\w)",
    re.IGNORECASE,
)


def with_times_marked(text: str, asked: str) -> str:
    """The text with marks in place of times and dates; `asked` is the text that has those that were asked for."""
    times = set(_times(asked).values())
    month_day, weekday = next((day[:2] for day in _dates(asked).values() if day[0]), (None, None))

    def date_mark(found: Day) -> str:
        own, own_weekday, own_day = found
        if own is not None:
            return ASKED_DATE if own == month_day else OTHER_DATE
        if own_day is not None:
            return ASKED_DATE if month_day and own_day == month_day[1] else OTHER_DATE
        return ASKED_DATE if own_weekday == weekday else OTHER_DATE

    text = _replaced(text, _dates(text), date_mark)
    return _replaced(text, _times(text), lambda time: ASKED_TIME if time in times else OTHER_TIME)


def _replaced(text: str, spans: dict[tuple[int, int], Found], mark: Callable[[Found], str]) -> str:
    for (start, end), value in sorted(spans.items(), reverse=True):
        text = f"{text[:start]} {mark(value)} {text[end:]}"
    return text


def _times(text: str) -> dict[tuple[int, int], tuple[int, int]]:
    """The times of day in a text by their place, as hour from 0 to 11 and minute."""
    found = {}
    for match in _TIME.finditer(text):
        time = _time(match, text)
        if time is not None:
            found[match.span()] = time
    return found


def _time(match: re.Match[str], text: str) -> tuple[int, int] | None:
    if match["noon"]:
        return 0, 0
    before, after = text[: match.start()], text[match.end() :]
    stated = match["half"] or match["minutes"] or match["half_day"] or match["oclock"] or match["thirty"]
    if not stated and (
        not _BEFORE_TIME.search(before)
        or _AFTER_NUMBER.match(after)
        or re.search(rf"{_MONTH}\s+$", before, re.I)
        or re.match(rf"(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b", after, re.I)
    ):
        return None
    hour = _HOURS.index(match["word"].lower()) + 1 if match["word"] else int(match["digits"])
    if not 1 <= hour <= 24:
        return None
    half = (match["half"] or "").lower()
    minute = int(match["minutes"] or 0)
    if half.startswith("half") or match["thirty"]:
        minute = 30
    elif half.startswith("quarter past"):
        minute = 15
    elif half.startswith("quarter to"):
        hour, minute = hour - 1, 45
    return hour % 12, minute


def _dates(text: str) -> dict[tuple[int, int], Day]:
    found: dict[tuple[int, int], Day] = {}
    for match in _DATE.finditer(text):
        month, day = match["month"] or match["month2"], match["day"] or match["day2"]
        if month:
            number = next(n for n, name in enumerate(_MONTHS, 1) if name.startswith(month[:3].lower()))
            found[match.span()] = (number, int(day)), _weekday(match["year"], number, int(day)), None
        elif match["weekday"]:
            found[match.span()] = None, _WEEKDAYS.index(match["weekday"].lower()), None
        else:
            found[match.span()] = None, None, int(match["day3"])
    return found


def _weekday(year: str | None, month: int, day: int) -> int | None:
    try:
        return date(int(year), month, day).weekday() if year else None
    except ValueError:
        return None
