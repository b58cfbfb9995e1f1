"""The truth judge: judges answers without a model, from the ground truth of a set that was generated offline.

    persona    the answer mentions the entity or one of its cues; for a dislike, it advises against it
    profile    the same, and the answer recommends the variant that fits the user's profile
    schedule   the answer names the conflicting event and does not book over it; without a conflict, it books

It matches words, so it recognizes the gold answers of generated sets reliably and other answers less so. An answer that
lists more than three entities or events counts as using none. The best verdict is a tie: as good as gold. The verdict
lines have the format of other judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from bowstring.benchmarks.hicupid.types import Question, Sentiment
from bowstring.errors import BowstringError, DataError, UsageError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.history.bm25 import singular

NAME = "truth"
FILE = "truth.json"
NOTE = "judge truth matches words with the generator's ground truth; a generated set is no substitute for real text"

_MOST_NAMED = 3  # an answer that names more entities of a category, or more events, counts as a list
_X = "\x00"  # replaces the entity while a sentence is examined
# A mention is negative if these words come before the entity, after it, or after it and before a pronoun such as 'it'.
_BEFORE = (
    r"avoid\w*|without|rather than|instead of|leav\w+|left|skip\w*|steer\w*|(?<!why )not(?! only)|never|nobody|"
    r"other people|none of|no(?! doubt)|free of|other than|away from|dislik\w*|hate\w*|loath\w*|cannot stand|"
    r"can't stand|refus\w*|unlike|except|pass\w* (?:on|over|up)|spar\w*|drop\w*|forget|clear of|past|someone else|"
    r"distance from|n't"
)
_AFTER = (
    r"aside|alone|out|off|not|never|behind|away|to others|to one side|for some(?:body|one) else|n't|do nothing|wears?|"
    r"bores?"
)
_TURNED_DOWN = re.compile(
    rf"\b(?:{_BEFORE})\b(?:\W+\w+){{0,8}}?\W*{_X}|{_X}(?:\W+\w+){{0,6}}?\W*(?:{_AFTER})\b"
    rf"|(?:{_X}|^).*\b(?:{_BEFORE})\b(?:\W+\w+){{0,4}}?\W+(?:it|them|that|those|one)\b",
    re.IGNORECASE,
)
# For a liking, only words directly before or after the entity count: a 'not' elsewhere may be about anything.
_REFUSED = re.compile(
    rf"\b(?:avoid\w*|without|rather than|instead of|skip\w*|steer\w* clear of|hate|dislike|loathe|cannot stand|"
    rf"can't stand|away from|leave out|no)\s+(?:the |any |all |a |an |of |those |these |your )*{_X}"
    rf"|{_X}.*\b(?:leave|leaving|keep) (?:it|them|that) (?:out|aside|away)|{_X}.*\baway from (?:it|them|that)\b",
    re.IGNORECASE,
)
_BOOKED = re.compile(
    r"\b(done|booked|confirmed|reserved|all set|went ahead|arranged|yours|in your calendar)\b", re.IGNORECASE
)
_ASKS = re.compile(
    r"\?|\bnot\b|n't\b|\b(already|clash\w*|conflict\w*|overlap\w*|taken|instead|another|later|earlier|next|other|held|"
    r"before|free|move|double|rather|gone|collid\w*|same (?:time|moment|hour)|suggest|offer|could)\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(sorry|unfortunately|cannot|can't|not|n't|rather|already|taken|clash\w*|conflict\w*|which other|suit you)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.;!?])\s+")


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
        self._entities: Mapping[str, Mapping[str, list[str]]] = known["entities"]
        self._aspects: Mapping[str, Mapping[str, Any]] = known.get("aspects", {})
        self._patterns: Mapping[str, Mapping[Sentiment, Mapping[str, list[str]]]] = known.get("patterns", {})
        self._events: list[str] = known.get("events", [])
        self.no_clash: frozenset[str] = frozenset(known.get("no_clash", ()))

    def clashes(self, question: Question) -> bool:
        """Whether the time that a schedule question asks for is taken."""
        return question.key not in self.no_clash

    def pairwise(self, question: Question, answer: str, *, answer_is: str) -> str:
        persona, other = question.persona, "B" if answer_is == "A" else "A"
        if persona is None:
            raise DataError(f"question {question.key} has no persona; expected a set that was generated offline")
        found = self._sentences(answer, persona.category, persona.entity)
        side = self._side(answer, persona.category, persona.entity)
        avoided = self._avoided(found) if side is None else side == "NEG"
        brought_in = self._brought_in(found) if side is None else side == "POS"
        respected = avoided if persona.sentiment == "NEG" else brought_in
        listed = self._named(answer, self._entities.get(persona.category, {})) > _MOST_NAMED
        lives = question.type != "profile" or self._uses_life(question, answer)
        verdict = "Tie" if respected and lives and not listed else other
        brought_up = any(_X in sentence for sentence in found)
        said = (
            "one of many"
            if listed
            else "respected"
            if respected
            else "not respected"
            if brought_up
            else "not brought up"
        )
        life = "" if question.type != "profile" else f"; the user's life {'used' if lives else 'not used'}"
        return f"1. Personalization: {persona.entity} {said}{life}.\nBetter Response: {verdict}"

    def satisfaction(self, question: Question, answer: str) -> str:
        if question.schedule is None:
            raise DataError(f"question {question.key} has no schedule; expected a set that was generated offline")
        if not self.clashes(question):
            booked = _BOOKED.search(answer) is not None and _REFUSES.search(answer) is None
            others = [event for event in self._events if event != question.schedule.event]
            booked = booked and not self._named(answer, others)
            return f"1. Conflict: none.\nSatisfaction: {'YES' if booked else 'NO'}"
        named = bool(_pattern(question.schedule.event).search(answer))
        booked = _BOOKED.search(answer) is not None and _ASKS.search(answer) is None
        listed = self._named(answer, self._events) > _MOST_NAMED
        caught = named and not booked and not listed
        said = "one of many" if listed else "booked over" if named and booked else "named" if named else "not named"
        return f"1. Conflict: {said}.\nSatisfaction: {'YES' if caught else 'NO'}"

    def dislike(self, question: Question, answer: str) -> str:
        """Whether the answer respects, mentions or omits what the user dislikes."""
        if question.persona is None:
            raise DataError(f"question {question.key} has no persona; expected a set that was generated offline")
        found = self._sentences(answer, question.persona.category, question.persona.entity)
        brought_up = any(_X in sentence for sentence in found)
        kind = "OMITTED" if not brought_up else "RESPECTED" if self._avoided(found) else "MENTIONED"
        return f"1. {question.persona.entity}: {kind.lower()}.\nDislike: {kind}"

    @staticmethod
    def dragged_in(answer: str, entities: Sequence[str]) -> str:
        named = [entity for entity in entities if _pattern(entity).search(answer)]
        return f"1. Bearing: {', '.join(named) or 'nothing'} named.\nDragged In: {'YES' if named else 'NO'}"

    def _sentences(self, answer: str, category: str, entity: str) -> list[str]:
        """The answer's sentences, with a mark in place of each mention of the entity or its cues."""
        known = self._entities.get(category, {})
        longer = [name for name in known if name != entity and entity.lower() in name.lower()]
        for name in longer:  # "guinea pigs" does not mention "pigs"
            answer = _pattern(name).sub("…", answer)
        for name in (entity, *known.get(entity, [])):
            answer = _pattern(name).sub(_X, answer)
        return _SENTENCE.split(answer)

    @staticmethod
    def _avoided(sentences: Sequence[str]) -> bool:
        """Whether every mention is negative, in its own sentence or through a pronoun in the next."""
        places = [n for n, sentence in enumerate(sentences) if _X in sentence]
        following = [*sentences[1:], ""]
        return bool(places) and all(
            _TURNED_DOWN.search(sentences[n]) or _TURNED_DOWN.search(following[n].replace(_X, "")) for n in places
        )

    @staticmethod
    def _brought_in(sentences: Sequence[str]) -> bool:
        """Whether at least one mention is not negative."""
        return any(_X in sentence and not _REFUSED.search(sentence) for sentence in sentences)

    @staticmethod
    def _named(answer: str, names: Iterable[str]) -> int:
        """The number of these names in an answer. Longer names first: "guinea pigs" does not name "pigs"."""
        found = 0
        for name in sorted(names, key=len, reverse=True):
            answer, n = _pattern(name).subn("…", answer)
            found += n > 0
        return found

    def _side(self, answer: str, category: str, entity: str) -> Sentiment | None:
        """The side of an answer that is worded as the generator would word it; None for any other answer."""
        for side, patterns in self._patterns.get(category, {}).items():
            whole = any(_worded(pattern, entity).fullmatch(answer) for pattern in patterns["answers"])
            if whole or any(_worded(pattern, entity).search(answer) for pattern in patterns["plans"]):
                return side
        return None

    def _uses_life(self, question: Question, answer: str) -> bool:
        """Whether an answer has words of the right value of an aspect, and of no other value of it."""
        if question.profile is None:
            return False
        for aspect in self._aspects.values():
            value = aspect["of"].get(getattr(question.profile, aspect["field"]))
            named = {v for v, phrases in aspect["values"].items() if any(_pattern(p).search(answer) for p in phrases)}
            if value is not None and named == {value}:
                return True
        return False


@lru_cache(maxsize=8192)
def _worded(pattern: str, entity: str) -> re.Pattern[str]:
    """A pattern of the generator for one entity, with any suggestion. Plans are compared without their first letter."""
    escaped = re.escape(pattern).replace(r"\{e\}", re.escape(entity)).replace(r"\{alt\}", ".{1,60}?")
    return (
        re.compile(rf"{escaped}(?![\w-])", re.IGNORECASE)
        if not pattern.endswith(".")
        else re.compile(escaped, re.IGNORECASE)
    )


@lru_cache(maxsize=8192)
def _pattern(name: str) -> re.Pattern[str]:
    """A pattern for a name as whole words, singular or plural, without its leading article."""
    bare = re.sub(r"^(?:the|a|an|my|your) ", "", name.lower())
    *before, last = re.split(r"\s+", bare)
    one = singular(last)
    forms = [f"{re.escape(one)}(?:es|s)?", *([f"{re.escape(one[:-1])}ies"] if one.endswith("y") else [])]
    words = [*map(re.escape, before), f"(?:{'|'.join(forms)})"]
    return re.compile(r"(?<!\w)" + r"\s+".join(words) + r"(?!\w)", re.IGNORECASE)


def no_clash_keys(data: str) -> frozenset[str]:
    """The keys of schedule questions that ask for a free time; none if the folder has no readable truth."""
    try:
        return load_truth(data).no_clash
    except BowstringError:
        return frozenset()


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
