"""Units of a history that a search finds and a view shows: turns, or whole dialogues.

An utterance is searched by the user's message and shown with its answer; a dialogue is searched by all of its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from bowstring.records import Dialogue, History, Message

UTTERANCE = "utterance"  # every other unit is a whole dialogue, whatever its name in a benchmark


class Unit(NamedTuple):
    """Messages `first` to `end` of the dialogue at index `place`; a search reads those up to `searched`."""

    place: int
    first: int
    end: int
    searched: int


def units_of(history: History, unit: str) -> list[Unit]:
    """Return all units of a history, in order."""
    found = []
    for place, dialogue in enumerate(history):
        if unit == UTTERANCE:
            starts = [n for n, message in enumerate(dialogue.messages) if message.role == "user" or n == 0]
            ends = [*starts[1:], len(dialogue.messages)]
            found += [Unit(place, a, b, a + 1) for a, b in zip(starts, ends, strict=True)]
        else:
            found.append(Unit(place, 0, len(dialogue.messages), len(dialogue.messages)))
    return found


def text_of(history: History, unit: Unit) -> str:
    """Return the text that a search reads."""
    return "\n".join(message.text for message in history[unit.place].messages[unit.first : unit.searched])


def select_units(history: History, units: Iterable[Unit]) -> History:
    """Return the part of a history that contains these units, given in order: their dialogues, cut to the units."""
    kept: dict[int, list[Unit]] = {}
    for unit in units:
        kept.setdefault(unit.place, []).append(unit)
    return tuple(_cut(history[place], chosen) for place, chosen in kept.items())


def _cut(dialogue: Dialogue, units: Sequence[Unit]) -> Dialogue:
    messages: list[Message] = []
    for unit in units:
        messages += dialogue.messages[unit.first : unit.end]
    whole = len(messages) == len(dialogue.messages)
    return dialogue if whole else replace(dialogue, messages=tuple(messages))
