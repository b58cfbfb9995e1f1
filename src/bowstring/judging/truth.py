"""The truth judge: on a set that was generated offline it is known what an answer has to use, so no model need judge.

    persona    the entity, or what goes with it, is brought up; for a dislike, in words that steer clear of it
    profile    the same, and something of the user's life besides
    schedule   the event that takes the time is named

It writes the verdict lines that other judges write, and a tie is the best an answer can do: as good as gold. Exact on
its own sets only; anywhere else it would be one more word counter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bowstring.errors import DataError, UsageError
from bowstring.history.bm25 import stems
from bowstring.records import Question

NAME = "truth"
FILE = "truth.json"
NOTE = "judged by the generator's own truth: exact on this set, which is no substitute for text that people wrote"

# Words that steer clear of something: anywhere in the sentence that brings a dislike up; for a liking, right before it
# only, since 'not' and 'without' may be about anything else.
_AVOIDS = re.compile(
    r"\b(avoid\w*|without|rather than|instead of|leav\w+|left|skip\w*|steer\w*|not|never|aside|nobody|none|nothing|no|"
    r"free of|other than|away from|dislike\w*|unlike|except|pass\w* (?:on|over|up)|spare\w*|drop\w*|forget|clear of|"
    r"(?:walk|look|scroll|go|goes|straight) past|someone else)\b|n't\b|n’t\b",
    re.IGNORECASE,
)
_TURNED_DOWN = re.compile(
    r"\b(avoid\w*|without|rather than|instead of|leav\w+|skip\w*|steer\w* clear of|free of|away from|no|not|never)"
    r"(?:\s+(?:the|any|all|a|an|of|those|these))?\s*$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.;!?]+(?:\s|$)")


class Truth:
    """What the generator knew, read from the file beside its set."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._entities: Mapping[str, Mapping[str, list[str]]] = known["entities"]
        self._profiles: Mapping[str, Mapping[str, str]] = known["profiles"]

    def pairwise(self, question: Question, answer: str, *, answer_is: str) -> str:
        persona, other = question.persona, "B" if answer_is == "A" else "A"
        if persona is None:
            raise DataError(f"question {question.key} has no persona; expected a set that was generated offline")
        brought_up = [part for part in _SENTENCE.split(answer) if self._names(part, persona.category, persona.entity)]
        if persona.sentiment == "NEG":
            respected = bool(brought_up) and all(_AVOIDS.search(part) for part in brought_up)
        else:
            respected = any(not _turned_down(part, persona.entity) for part in brought_up)
        lives = question.type != "profile" or self._uses_life(question, answer)
        verdict = "Tie" if respected and lives else other
        said = "respected" if respected else "not respected" if brought_up else "not brought up"
        life = "" if question.type != "profile" else f"; the user's life {'used' if lives else 'not used'}"
        return f"1. Personalization: {persona.entity} {said}{life}.\nBetter Response: {verdict}"

    def satisfaction(self, question: Question, answer: str) -> str:
        if question.schedule is None:
            raise DataError(f"question {question.key} has no schedule; expected a set that was generated offline")
        event = set(stems(question.schedule.event))
        caught = bool(event) and len(event & set(stems(answer))) >= 0.6 * len(event)
        return f"1. Conflict: {'named' if caught else 'not named'}.\nSatisfaction: {'YES' if caught else 'NO'}"

    def _names(self, text: str, category: str, entity: str) -> bool:
        """Whether a text has all the words that carry the meaning of the entity, or of one of its cues."""
        found = set(stems(text))
        cues = self._entities.get(category, {}).get(entity, [])
        return any(wanted and wanted <= found for wanted in (set(stems(name)) for name in (entity, *cues)))

    def _uses_life(self, question: Question, answer: str) -> bool:
        """Whether an answer has a name from the user's profile, or most of a clause that tells of it."""
        if question.profile is None:
            return False
        found = set(stems(answer))
        for field, uses in self._profiles.items():
            value = getattr(question.profile, field)
            name = set(stems(value)) if field in ("occupation", "personality") else set()
            clause = set(stems(uses.get(value, "")))
            if (name and name <= found) or (clause and len(clause & found) >= 0.75 * len(clause)):
                return True
        return False


def _turned_down(sentence: str, entity: str) -> bool:
    before, named, _ = sentence.lower().partition(entity.lower())
    return bool(named) and _TURNED_DOWN.search(before) is not None


def load_truth(data: str) -> Truth:
    """The truth of a set in a folder."""
    path = Path(data).expanduser() / FILE
    if not path.is_file():
        raise UsageError(
            f"--judge truth: {data} has no {FILE}; expected a set made by bowstring synth hicupid --offline"
        )
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return Truth(known)
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise DataError(f"{path}: cannot be read as a generator's truth: {error}") from error
