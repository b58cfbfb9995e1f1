"""The options of readings of HiCUPID data: what is true of a user, and what is true of others.

Options are of one form, so that they tell nothing by themselves: two subjects, each with both sides.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from bowstring.benchmarks.hicupid.banks import DIMENSIONS, dimension
from bowstring.benchmarks.hicupid.types import Persona, Profile
from bowstring.benchmarks.hicupid.users import Turns
from bowstring.records import fields_of
from bowstring.synthesis.quality import content_words

Options = tuple[str, tuple[str, ...]]  # the right one and the others
STATED_OPTIONS = ("Yes, somebody puts it into words.", "No, it only shows.")
_OPPOSITES = {
    "likes": "dislikes",
    "loves": "hates",
    "enjoys": "dislikes",
    "adores": "detests",
    "prefers": "avoids",
    "favors": "avoids",
    "favours": "avoids",
    "avoids": "seeks out",
    "owns": "has never owned",
    "supports": "opposes",
    "wants": "does not want",
    "collects": "gets rid of",
}
_OPPOSITES |= {other: one for one, other in _OPPOSITES.items() if one not in ("enjoys", "favors", "favours", "prefers")}
_YEARS = 12  # between ages that should be told apart
_RATIO = 1.5  # between incomes
_NEAR = 3  # values of other users to choose from


def fact_of(relation: str, entity: str) -> str:
    return f"This person {relation} {entity}."


def as_text(turns: Turns) -> str:
    return "\n".join(f"User: {said}\nAssistant: {answered}" for said, answered in turns)


def opposite_relation(persona: Persona) -> str:
    """The relation that somebody with the other attitude has, in words that fit any entity."""
    plain = " ".join(persona.relation.split())
    if plain.lower() in _OPPOSITES:
        return _OPPOSITES[plain.lower()]
    for pattern, other in ((r"(has|is|does) (?:never|not) ", r"\1 "), (r"has ", "has never "), (r"is ", "is not ")):
        if re.match(pattern, plain):
            turned = re.sub(rf"^{pattern}", other, plain)
            return re.sub(r"^does ", "does indeed ", turned)
    return "dislikes" if persona.sentiment == "POS" else "likes"


def persona_options(persona: Persona, others: Sequence[Persona], rng: random.Random) -> Options:
    """The persona; the opposite one; and another subject with both."""
    turned = opposite_relation(persona)
    other = _other_entity(persona, others, rng)
    sides = [(relation, entity) for entity in (persona.entity, other) for relation in (persona.relation, turned)]
    right, *wrong = (fact_of(relation, entity) for relation, entity in sides)
    return right, tuple(wrong)


def _other_entity(persona: Persona, others: Sequence[Persona], rng: random.Random) -> str:
    """Another subject of the dimension: with the same relation if there is one, so that both relations fit it."""
    different = [o for o in others if _apart(o.entity, persona.entity)]
    for fits in (
        [o.entity for o in different if o.relation == persona.relation],
        [o.entity for o in different if o.sentiment == persona.sentiment],
        [o.entity for o in different],
    ):
        if fits:
            return rng.choice(fits)
    name = persona.category.replace(" ", "_")
    bank = dimension(name if name in DIMENSIONS else DIMENSIONS[0])
    return rng.choice([subject for subject in bank.subjects if _apart(subject, persona.entity)])


def _apart(one: str, other: str) -> bool:
    """Whether neither name has all words of the other."""
    a, b = content_words(one), content_words(other)
    return not (a <= b or b <= a)


def with_profile(
    persona: Persona, others: Sequence[Persona], profile: Profile, profiles: Sequence[Profile], rng: random.Random
) -> Options:
    """Persona and profile; either one of somebody else; and both. Whether the other persona is the opposite one or one
    of another subject is random."""
    right, (turned, other, _) = persona_options(persona, others, rng)
    wrong = turned if rng.random() < 0.5 else other
    people = [_described(one) for one in (profile, rng.choice([p for p in profiles if p != profile][:_NEAR]))]
    first, *rest = (f"{says} {who}" for who in people for says in (right, wrong))
    return first, tuple(rest)


def _described(profile: Profile) -> str:
    named = "; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in fields_of(profile).items())
    return f"About them: {named}."


def profile_options(name: str, profile: Profile, profiles: Sequence[Profile], rng: random.Random) -> Options:
    """A value and three that are clearly different, of the first profiles that have such; a gender and one other."""
    own: str = getattr(profile, name)
    chosen: list[str] = []
    for other in profiles:
        value: str = getattr(other, name)
        if all(_differ(name, value, other) for other in (own, *chosen)):
            chosen.append(value)
    said = "Their {} is {}."
    field = name.replace("_", " ")
    most = 1 if name == "gender" else 3
    wrong = rng.sample(chosen[:_NEAR], min(most, len(chosen)))
    return said.format(field, own), tuple(said.format(field, value) for value in wrong)


def _differ(name: str, one: str, other: str) -> bool:
    if name == "age" and one.isdigit() and other.isdigit():
        return abs(int(one) - int(other)) >= _YEARS
    if name == "income_range" and (low := _first_number(one)) and (high := _first_number(other)):
        return max(low, high) >= _RATIO * min(low, high)
    return _apart(one, other)


def _first_number(text: str) -> int:
    found = re.search(r"\d[\d,]*", text)
    return int(found[0].replace(",", "")) if found else 0
