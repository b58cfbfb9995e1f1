"""The word banks of HiCUPID's offline generator: one YAML file per dimension, and one about people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from bowstring.benchmarks.hicupid.types import Persona, Sentiment
from bowstring.synthesis.banks import read_bank

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


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a person to an entity, and lines that show it."""

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
    raw = read_bank(__package__, f"{name}.yaml")
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
    """Occupations, personalities, incomes, ages, events, and lines that fit any topic."""
    found: dict[str, Any] = read_bank(__package__, "people.yaml")
    return found


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
    """A phrase of the user in the assistant's words: 'my sister's wedding' becomes 'your sister's wedding'."""
    return re.sub(r"\b(my|me|I|mine|myself|our|us)\b", lambda found: _FIRST_PERSON[found[0].lower()], phrase)
