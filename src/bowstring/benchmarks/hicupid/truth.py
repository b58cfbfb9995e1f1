"""The truth judge: judges answers without a model, from the ground truth of a set that was generated offline.

    persona    the answer is for an entity that the user likes, or against one that the user dislikes (stance/reading)
    profile    the same, and the answer recommends the variant that fits the user's profile (stance/fits)
    schedule   the answer gives the conflicting event as the reason why the time is taken, and does not book over it;
               without a conflict, it books (stance/clash)

Answers in the generator's wording are recognized by its patterns, others by a grammar that makes mistakes:
docs/results.md has its accuracy. An answer that lists more than three entities or events counts as using none. The
best verdict is a tie: as good as gold. The verdict lines have the format of other judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from bowstring.benchmarks.hicupid.stance.clash import books, notices
from bowstring.benchmarks.hicupid.stance.fits import fits
from bowstring.benchmarks.hicupid.stance.names import Field, fields_of_categories, key_of, names_pattern
from bowstring.benchmarks.hicupid.stance.reading import Stance, stance_of
from bowstring.benchmarks.hicupid.stance.worded import wordings_of
from bowstring.benchmarks.hicupid.swaps import Swaps
from bowstring.benchmarks.hicupid.types import Persona, Question, Sentiment
from bowstring.errors import BowstringError, DataError, UsageError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json

NAME = "truth"
FILE = "truth.json"
NOTE = (
    "judge truth reads answers with a small grammar and the generator's ground truth; it misreads about one free "
    "answer in four (docs/results.md)"
)

_MOST_NAMED = 3  # an answer that names more entities of a category, or more events, counts as a list
_ALONE = Field({})  # of a category that the ground truth does not have
_WANTED: Mapping[Sentiment, Stance] = {"POS": "for", "NEG": "against"}
_SAID: Mapping[Stance, str] = {
    "for": "recommended",
    "against": "advised against",
    "open": "mentioned",
    "none": "not brought up",
}
_TREATED: Mapping[Stance, str] = {"for": "VIOLATED", "against": "RESPECTED", "open": "MENTIONED", "none": "OMITTED"}


class Aspect(BaseModel):
    """What a profile field decides: words for each value, and the value of each entry of the field."""

    field: Literal["age", "gender", "personality", "occupation", "income_range"]
    values: dict[str, list[str]]
    of: dict[str, str]


class Patterns(BaseModel):
    """How the generator's answers of one side are worded."""

    answers: list[str] = []
    plans: list[str] = []


class TruthFile(BaseModel):
    """The part of truth.json that the judge reads."""

    entities: dict[str, dict[str, list[str]]]
    aspects: dict[str, Aspect] = {}
    patterns: dict[str, dict[Sentiment, Patterns]] = {}
    events: list[str] = []
    no_clash: list[str] = []  # keys of the schedule questions that ask for a free time


class Truth:
    """The ground truth of a generated set, read from the file beside it."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._fields = fields_of_categories(known["entities"])
        self._aspects: Mapping[str, Mapping[str, Any]] = known.get("aspects", {})
        self._wordings = {category: wordings_of(sides) for category, sides in known.get("patterns", {}).items()}
        self.swaps = Swaps(known.get("patterns", {}))
        self._events: tuple[str, ...] = tuple(known.get("events", ()))
        self.no_clash: frozenset[str] = frozenset(known.get("no_clash", ()))

    def clashes(self, question: Question) -> bool:
        """Whether the time that a schedule question asks for is taken."""
        return question.key not in self.no_clash

    def pairwise(self, question: Question, answer: str, *, answer_is: str) -> str:
        persona, other = _persona(question), "B" if answer_is == "A" else "A"
        stance = self.stance(persona, answer)
        listed = len(self._field(persona).named(answer)) > _MOST_NAMED
        respected = stance == _WANTED[persona.sentiment] and not listed
        lives = question.type != "profile" or self._fits(question, answer)
        said = "one of many" if listed else _SAID[stance]
        life = "" if question.type != "profile" else f"; the user's life {'used' if lives else 'not used'}"
        verdict = "Tie" if respected and lives else other
        return f"1. Personalization: {persona.entity} {said}{life}.\nBetter Response: {verdict}"

    def stance(self, persona: Persona, answer: str) -> Stance:
        """Whether an answer is for the persona's entity, against it, neither, or does not bring it up."""
        return stance_of(answer, self._field(persona), persona.entity, self._wordings.get(persona.category))

    def satisfaction(self, question: Question, answer: str) -> str:
        if question.schedule is None:
            raise DataError(f"question {question.key} has no schedule; expected a set that was generated offline")
        named = _events_named(answer, self._events)
        if not self.clashes(question):
            booked = books(answer, question.question) and not named - {question.schedule.event.lower()}
            return f"1. Conflict: none.\nSatisfaction: {'YES' if booked else 'NO'}"
        said = notices(answer, question.schedule.event, question.schedule.datetime)
        if len(named) > _MOST_NAMED:
            said = "one of many"
        return f"1. Conflict: {said}.\nSatisfaction: {'YES' if said == 'named' else 'NO'}"

    def dislike(self, question: Question, answer: str) -> str:
        """Whether the answer respects, violates, only mentions or omits what the user dislikes."""
        persona = _persona(question)
        kind = _TREATED[self.stance(persona, answer)]
        return f"1. {persona.entity}: {kind.lower()}.\nDislike: {kind}"

    @staticmethod
    def dragged_in(answer: str, entities: Sequence[str]) -> str:
        named = [entity for entity in entities if names_pattern((entity,)).search(answer)]
        return f"1. Bearing: {', '.join(named) or 'nothing'} named.\nDragged In: {'YES' if named else 'NO'}"

    def _field(self, persona: Persona) -> Field:
        return self._fields.get(persona.category) or _ALONE

    def _fits(self, question: Question, answer: str) -> bool:
        if question.profile is None:
            return False
        profile = question.profile
        aspects = [
            (name, aspect["values"], aspect["of"].get(getattr(profile, aspect["field"])))
            for name, aspect in self._aspects.items()
        ]
        return fits(question.question, answer, aspects)


def _persona(question: Question) -> Persona:
    if question.persona is None:
        raise DataError(f"question {question.key} has no persona; expected a set that was generated offline")
    return question.persona


def _events_named(answer: str, events: tuple[str, ...]) -> set[str]:
    """The appointments that are named in full in an answer."""
    if not events:
        return set()
    keys = _event_keys(events)
    return {keys[key] for match in names_pattern(events).finditer(answer) if (key := key_of(match[0])) in keys}


@lru_cache(maxsize=16)
def _event_keys(events: tuple[str, ...]) -> dict[str, str]:
    return {key_of(event): event.lower() for event in events}


def no_clash_keys(data: str) -> frozenset[str]:
    """The keys of schedule questions that ask for a free time; none if the folder has no readable truth."""
    try:
        return load_truth(data).no_clash
    except BowstringError:
        return frozenset()


def swaps_of(data: str) -> Swaps | None:
    """Gold answers with the opposite stance for a folder; None if it has no readable truth."""
    try:
        return load_truth(data).swaps
    except BowstringError:
        return None


def load_truth(data: str) -> Truth:
    """The ground truth of the set in a folder."""
    path = Path(data).expanduser() / FILE
    if not path.is_file():
        raise UsageError(f"--judge truth: {data} has no {FILE}; expected a set from bowstring synth hicupid --offline")
    try:
        return Truth(TruthFile.model_validate(parse_strict_json(path.read_bytes())).model_dump())
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        place = ".".join(map(str, error["loc"]))[:200]
        raise DataError(f"{path}: cannot be read as a generator's truth: {place}: {error['msg']}") from invalid
    except (ParseError, OSError) as error:
        raise DataError(f"{path}: cannot be read as a generator's truth: {error}") from error
