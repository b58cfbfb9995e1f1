"""Which known entities a history mentions, how often, and where: shortcuts that need no understanding.

An entity is found as whole words, singular or plural, without its leading article; of names that contain each other the
longest counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from bowstring.benchmarks.hicupid.types import Persona
from bowstring.history.bm25 import singular, words
from bowstring.records import History

Entity = tuple[str, str]  # category and name
_ARTICLES = ("the", "a", "an", "my", "your")
_singular = lru_cache(maxsize=1 << 17)(singular)


@dataclass(slots=True)
class Mentions:
    """How often an entity is mentioned, and its first and last place in the history."""

    number: int
    first: int
    last: int


def entity_of(persona: Persona) -> Entity:
    return persona.category, persona.entity.lower()


class MentionFinder:
    def __init__(self, entities: Iterable[Entity]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], list[Entity]]]] = {}
        by_name: dict[tuple[str, ...], list[Entity]] = {}
        for entity in sorted(set(entities)):
            if name := tuple(map(_singular, words(entity[1]))):
                by_name.setdefault(name[1:] if len(name) > 1 and name[0] in _ARTICLES else name, []).append(entity)
        for name, meant in sorted(by_name.items(), key=lambda named: -len(named[0])):
            self._by_first.setdefault(name[0], []).append((name, meant))

    def mentions(self, history: History) -> dict[Entity, Mentions]:
        """The entities that a history mentions; places count words from its beginning."""
        found: dict[Entity, Mentions] = {}
        begun = 0
        for dialogue in history:
            for message in dialogue.messages:
                said = [_singular(word) for word in words(message.text)]
                skip = 0
                for at, word in enumerate(said):
                    if at < skip or word not in self._by_first:
                        continue
                    for name, meant in self._by_first[word]:
                        if tuple(said[at : at + len(name)]) == name:
                            for entity in meant:
                                _count(found, entity, begun + at)
                            skip = at + len(name)
                            break
                begun += len(said)
        return found


def _count(found: dict[Entity, Mentions], entity: Entity, place: int) -> None:
    if (known := found.get(entity)) is None:
        found[entity] = Mentions(1, place, place)
    else:
        known.number += 1
        known.last = place
