"""The word banks of HiCUPID's offline generator: one YAML file per dimension, and one about people.

A scene is a message with the reply that answers it. It tells what somebody does with a subject and shows a side, for or
against, without stating it. Who does it is a slot: the user's own scenes and those of other people have the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from bowstring.benchmarks.hicupid.types import Persona, Sentiment
from bowstring.synthesis.banks import read_bank
from bowstring.synthesis.quality import content_words

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
_FEW = 3  # a word in the names of more subjects than this is common
SIDES: tuple[Sentiment, Sentiment] = ("POS", "NEG")


@dataclass(frozen=True, slots=True)
class Scene:
    """A message of the user and the reply to it."""

    said: str
    reply: str


@dataclass(frozen=True, slots=True)
class Dimension:
    name: str
    topic: str
    relations: dict[Sentiment, str]
    subjects: dict[str, tuple[str, ...]]  # name -> what goes with it
    places: tuple[str, ...]
    alternatives: tuple[str, ...]  # what an answer can suggest to anybody; none is a subject
    scenes: dict[Sentiment, tuple[Scene, ...]]
    both: tuple[Scene, ...]  # about two subjects, without a side
    details: tuple[str, ...]  # a fact about a subject and what goes with it
    situations: tuple[str, ...]  # occasions of questions that a model writes
    questions: tuple[str, ...]
    answers: tuple[dict[Sentiment, str], ...]
    plans: tuple[dict[Sentiment, str], ...]  # what a profile question can suggest, without its article
    general: tuple[str, ...]
    common: frozenset[str]  # words in the names of several subjects, such as 'diet'

    def telling_words(self, text: str) -> frozenset[str]:
        """The content words of a text that can tell subjects apart."""
        return _words(text) - self.common

    @property
    def category(self) -> str:
        return self.name.replace("_", " ")

    def record(self, subject: str, side: Sentiment) -> Persona:
        return Persona(self.category, self.relations[side], subject, side)


@lru_cache(maxsize=16_384)
def _words(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


@cache
def dimension(name: str) -> Dimension:
    raw = read_bank(__package__, f"{name}.yaml")
    words = Counter(word for subject in raw["subjects"] for word in content_words(subject))
    return Dimension(
        name,
        raw["topic"],
        {"POS": raw["likes"], "NEG": raw["dislikes"]},
        {subject: tuple(cues) for subject, cues in raw["subjects"].items()},
        tuple(raw["places"]),
        tuple(raw["alternatives"]),
        {"POS": _scenes(raw["liking"]), "NEG": _scenes(raw["disliking"])},
        _scenes(raw["both"]),
        tuple(raw["details"]),
        tuple(raw["situations"]),
        tuple(raw["questions"]),
        _pairs(raw["answers"]),
        _pairs(raw["plans"]),
        tuple(raw["general"]),
        frozenset(word for word, n in words.items() if n > _FEW),
    )


def _scenes(lines: Iterable[list[str]]) -> tuple[Scene, ...]:
    return tuple(Scene(said, reply) for said, reply in lines)


def _pairs(lines: Iterable[list[str]]) -> tuple[dict[Sentiment, str], ...]:
    return tuple({"POS": liked, "NEG": disliked} for liked, disliked in lines)


@cache
def people() -> dict[str, Any]:
    """Occupations, personalities, incomes, ages, persons, appointments, and lines that fit any topic."""
    found: dict[str, Any] = read_bank(__package__, "people.yaml")
    return found
