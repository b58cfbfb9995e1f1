"""Texts for trying a reader: of people whom the offline generator invents, so that what is true of them is known."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Protocol

from bowstring.benchmarks.hicupid.banks import DIMENSIONS, SIDES, dimension, people
from bowstring.benchmarks.hicupid.lives import Life
from bowstring.benchmarks.hicupid.offline import OfflineHicupid
from bowstring.benchmarks.hicupid.reader_options import (
    as_text,
    fact_of,
    persona_options,
    profile_options,
)
from bowstring.benchmarks.hicupid.types import Persona, Question
from bowstring.benchmarks.hicupid.users import PROFILE_FIELDS, Sizes, Turns, User
from bowstring.records import Dialogue
from bowstring.synthesis.reader import Choice, Known

DIALOGUES, STATEMENTS = "personas from their dialogues", "whether a dialogue states a persona"
ANSWERS, PROFILES = "personas from personalized answers", "profiles from their dialogues"
EACH = 40  # texts of a kind
_USERS = EACH // len(PROFILE_FIELDS)
_SEED, _TEMPER = 0, "company"
_STATEMENTS = {
    "POS": ("I absolutely adore {e}.", "As you know, you love {e}.", "Honestly, {e} is my favourite."),
    "NEG": ("I simply cannot stand {e}.", "As you know, you hate {e}.", "To be honest, I detest {e}."),
}
Build = Callable[["AskAbout", "AskStated"], list[Known]]


class AskAbout(Protocol):
    def __call__(self, text: str, right: str, wrong: Sequence[str]) -> Choice: ...


class AskStated(Protocol):
    def __call__(self, text: str, fact: str, *, stated: bool) -> Choice: ...


def _dialogues(about: AskAbout, stated: AskStated) -> list[Known]:  # noqa: ARG001
    return [
        Known(q.key, (about(as_text(turns), *persona_options(persona, _bank(persona), _rng(q))),))
        for q, persona, turns in _personas()
    ]


def _statements(about: AskAbout, stated: AskStated) -> list[Known]:  # noqa: ARG001
    """Every second dialogue gets a statement, of the user or of the assistant."""
    found = []
    for n, (q, persona, turns) in enumerate(_personas()):
        added, shown = n % 2 == 1, list(turns)
        if added:
            line = _STATEMENTS[persona.sentiment][n // 2 % 3].format(e=persona.entity)
            at = _rng(q).randrange(len(shown))
            said, answered = shown[at]
            shown[at] = (said, f"{line} {answered}") if "you know" in line else (f"{said} {line}", answered)
        fact = fact_of(persona.relation, persona.entity)
        found.append(Known(q.key, (stated(as_text(shown), fact, stated=added),), chance=0.5))
    return found


def _answers(about: AskAbout, stated: AskStated) -> list[Known]:  # noqa: ARG001
    return [
        Known(
            q.key,
            (
                about(
                    f"Question: {q.question}\nAnswer for this person: {q.personalized_answer}",
                    *persona_options(persona, _bank(persona), _rng(q)),
                ),
            ),
        )
        for q, persona, _ in _personas()
    ]


def _profiles(about: AskAbout, stated: AskStated) -> list[Known]:  # noqa: ARG001
    lives = known_lives()
    found = []
    for n, life in enumerate(lives[:_USERS]):
        for name, turns in zip(PROFILE_FIELDS, life.turns, strict=True):
            others = [other.record for other in lives if _unlike(name, life, other)]
            right, wrong = profile_options(name, life.record, others, random.Random(f"{n}/{name}"))  # noqa: S311
            found.append(Known(f"{n}/{name}", (about(as_text(turns), right, wrong),), chance=1 / (1 + len(wrong))))
    return found


KNOWN: Mapping[str, Build] = {
    DIALOGUES: _dialogues,
    STATEMENTS: _statements,
    ANSWERS: _answers,
    PROFILES: _profiles,
}


@cache
def _users() -> tuple[User, ...]:
    sizes = Sizes(users=4, dimensions=len(DIMENSIONS), turns=6, schedules=0, profile_questions=0, share=1)
    generator = OfflineHicupid(sizes, _SEED)
    return tuple(generator.user(number) for number in range(2))


@cache
def known_lives() -> tuple[Life, ...]:
    """Invented people with the dialogues that show them, in the order of the profile's fields."""
    return tuple(Life(_TEMPER, random.Random(f"{_SEED}/life/{n}")) for n in range(4 * _USERS))  # noqa: S311


def _unlike(name: str, one: Life, other: Life) -> bool:
    """Whether a value of two people is of different kinds: somebody cheerful is also likely to be playful."""
    aspect = {"personality": _TEMPER, "income_range": "budget"}.get(name)
    return aspect is None or one.values[aspect] != other.values[aspect]


def invented_events() -> list[str]:
    return [event for events in people()["events"].values() for event in events]


def _personas() -> list[tuple[Question, Persona, Turns]]:
    """Persona questions with their dialogues; twins have the same subjects and opposite sides."""
    found = []
    for user in _users():
        by_id = {d.id: d for d in user.history}
        for q in user.questions:
            if q.type == "persona" and q.persona is not None:
                found.append((q, q.persona, _turns(by_id[q.evidence[0]])))
    return found[:EACH]


def _turns(dialogue: Dialogue) -> Turns:
    texts = [message.text for message in dialogue.messages]
    return list(zip(texts[::2], texts[1::2], strict=True))


def _bank(persona: Persona) -> list[Persona]:
    """The personas of other people in the same dimension."""
    of = dimension(persona.category.replace(" ", "_"))
    return [of.record(subject, side) for subject in of.subjects for side in SIDES]


def _rng(q: Question) -> random.Random:
    return random.Random(f"known/{q.key}")  # noqa: S311 - repeatable on purpose
