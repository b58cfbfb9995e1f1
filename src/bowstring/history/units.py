"""The pieces of a history that a search finds and a view shows: turns, or whole dialogues.

An utterance is searched by what the user said and shown with its answer; a dialogue is searched by all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bowstring.records import Dialogue, History

UTTERANCE = "utterance"  # every other unit is a whole dialogue, whatever a benchmark calls it


class Unit(NamedTuple):
    """Messages `first` to `end` of the dialogue at `place` in a history, and the text a search looks at."""

    place: int
    first: int
    end: int
    text: str


def units_of(history: History, unit: str) -> list[Unit]:
    """All units of a history, in order."""
    found = []
    for place, dialogue in enumerate(history):
        if unit == UTTERANCE:
            starts = [n for n, message in enumerate(dialogue.messages) if message.role == "user" or n == 0]
            ends = [*starts[1:], len(dialogue.messages)]
            found += [Unit(place, a, b, dialogue.messages[a].text) for a, b in zip(starts, ends, strict=True)]
        else:
            text = "\n".join(message.text for message in dialogue.messages)
            found.append(Unit(place, 0, len(dialogue.messages), text))
    return found


def shown(history: History, units: Iterable[Unit]) -> History:
    """What of a history some of its units show: their dialogues, cut down to them, in their own order."""
    kept: dict[int, list[Unit]] = {}
    for unit in sorted(units):
        kept.setdefault(unit.place, []).append(unit)
    return tuple(_cut(history[place], chosen) for place, chosen in kept.items())


def _cut(dialogue: Dialogue, units: Sequence[Unit]) -> Dialogue:
    messages = tuple(message for unit in units for message in dialogue.messages[unit.first : unit.end])
    return dialogue if len(messages) == len(dialogue.messages) else Dialogue(dialogue.id, dialogue.kind, messages)
