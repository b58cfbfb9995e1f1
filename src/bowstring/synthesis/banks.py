"""The word banks of the offline generators: YAML files, read once, and how their lines are filled.

>>> fill("{person} took {e} along {time}.", {"person": "my aunt", "e": "chess", "time": "on Friday"})
'My aunt took chess along on Friday.'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from bowstring.records import Persona, Sentiment

DIMENSIONS = (
    "academic_major",
    "art",
    "movies",
    "environment",
    "finance",
    "games",
    "religion",
    "animals",
    "fitness",
    "literature",
    "social_issues",
    "music",
    "gadgets",
    "grooming",
    "technology",
    "home",
    "cars",
    "diet",
    "travel",
    "life_experience",
    "sports",
    "skills",
    "fashion",
    "politics",
    "food",
)
_SLOT = re.compile(r"\{(\w+)\}")
_DOUBLED = re.compile(r"\b(on|once|at|in|after|before|during|the|a) \1\b")
_SENTENCE = re.compile(r"(^|[.!?] )([a-z])")


@dataclass(frozen=True, slots=True)
class Relation:
    """How a person stands to an entity, and lines in which it shows."""

    says: str
    sentiment: Sentiment
    shows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    name: str
    topic: str
    relations: tuple[Relation, ...]
    entities: dict[str, tuple[str, ...]]  # name -> cues
    lines: dict[str, tuple[str, ...]]  # section -> lines
    situations: tuple[str, ...]

    @property
    def category(self) -> str:
        return self.name.replace("_", " ")

    def personas(self) -> list[tuple[Relation, str]]:
        """Every relation to every entity."""
        return [(relation, entity) for entity in self.entities for relation in self.relations]

    def record(self, relation: Relation, entity: str) -> Persona:
        return Persona(self.category, relation.says, entity, relation.sentiment)


@cache
def dimension(name: str) -> Dimension:
    raw = _read(f"hicupid/{name}.yaml")
    sections = ("openers", "neutral", "distract", "replies", "questions", "answers_pos", "answers_neg", "general")
    return Dimension(
        name,
        raw["topic"],
        tuple(Relation(r["says"], r["sentiment"], tuple(r["shows"])) for r in raw["relations"]),
        {e["name"]: tuple(e["cues"]) for e in raw["entities"]},
        {section: tuple(raw[section]) for section in sections},
        tuple(raw["situations"]),
    )


@cache
def people() -> dict[str, Any]:
    """Occupations, personalities, incomes, ages, events, and lines that go with any topic."""
    found: dict[str, Any] = _read("people.yaml")
    return found


@cache
def work() -> dict[str, Any]:
    """What CUPID's sessions are made of: preferences, contexts, tasks, paragraphs."""
    found: dict[str, Any] = _read("cupid.yaml")
    return found


def _read(name: str) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (files("bowstring.synthesis") / "banks" / name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader, in C where there is one


_FIRST_PERSON = {
    "my": "your",
    "me": "you",
    "i": "you",
    "mine": "yours",
    "myself": "yourself",
    "our": "your",
    "us": "you",
}


def to_you(phrase: str) -> str:
    """A phrase of the user's as the assistant says it: 'my sister's wedding' is 'your sister's wedding'."""
    return re.sub(r"\b(my|me|I|mine|myself|our|us)\b", lambda found: _FIRST_PERSON[found[0].lower()], phrase)


def fill(line: str, values: dict[str, str]) -> str:
    """A line with its slots filled, its sentences beginning with capitals."""
    text = _DOUBLED.sub(r"\1", _SLOT.sub(lambda slot: values[slot[1]], line))
    return _SENTENCE.sub(lambda found: found[1] + found[2].upper(), text)
