"""Who a sentence is about: the user or somebody else, as the user or the assistant would write it.

A bank line has slots for a person: {A} agent, {P} bystander; {Am} and {As} are object and possessive. In lower case
they are pronouns: {a}, {am}, {as}, {aself}. Lines use the past tense or modal verbs, which fit every person, or {has}.

>>> "{A} ate {as} soup.".format(**slots("A", USER, by_assistant=False))
'I ate my soup.'
>>> "{A} ate {as} soup.".format(**slots("A", Person("my aunt", "she"), by_assistant=True))
'your aunt ate her soup.'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from typing import Literal

from bowstring.benchmarks.hicupid.banks import people

Pronoun = Literal["I", "she", "he"]
_PRONOUNS: tuple[Pronoun, ...] = ("she", "he")
_FORMS = {  # subject, object, possessive, reflexive
    "I": ("I", "me", "my", "myself"),
    "you": ("you", "you", "your", "yourself"),
    "she": ("she", "her", "her", "herself"),
    "he": ("he", "him", "his", "himself"),
}


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    pronoun: Pronoun


USER = Person("I", "I")


def slots(letter: str, person: Person, *, by_assistant: bool) -> dict[str, str]:
    """The forms of a person for the slots of one letter, in the words of the user or of the assistant."""
    pronoun = "you" if by_assistant and person is USER else person.pronoun
    subject, thing, possessive, reflexive = _FORMS[pronoun]
    if person is USER:
        names = (subject, thing, possessive)
    else:
        name = to_you(person.name) if by_assistant else person.name
        names = (name, name, f"{name}'s")
    upper, lower = letter.upper(), letter.lower()
    return {
        upper: names[0],
        f"{upper}m": names[1],
        f"{upper}s": names[2],
        lower: subject,
        f"{lower}m": thing,
        f"{lower}s": possessive,
        f"{lower}self": reflexive,
        **({"has": "have" if pronoun in ("I", "you") else "has"} if upper == "A" else {}),
    }


def to_you(phrase: str) -> str:
    """A phrase of the user in the assistant's words: 'my sister' becomes 'your sister'."""
    return re.sub(r"\bmy\b", "your", phrase)


@cache
def all_persons() -> tuple[Person, ...]:
    """Relatives, and friends, colleagues and neighbours, who have different first names."""
    bank = people()["persons"]
    found: list[Person] = []
    for pronoun in _PRONOUNS:
        roles = cycle(bank["roles"])
        found += [Person(name, pronoun) for name in bank[pronoun]]
        found += [Person(f"{next(roles)} {name}", pronoun) for name in bank["names"][pronoun]]
    return tuple(found)


def first_names() -> list[str]:
    names = people()["persons"]["names"]
    return [name for pronoun in _PRONOUNS for name in names[pronoun]]
