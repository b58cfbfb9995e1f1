"""Preferences that a program can check: 24 features of a text, each with two rules that exclude each other.

>>> meets("The roof leaks. Shall we call the roofer?", "end-question")
True
>>> opposite("end-question")
'no-questions'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from bowstring.benchmarks.cupid.rules.checks import CHECKS
from bowstring.benchmarks.cupid.rules.parts import parts_of
from bowstring.seeding import seeded_number
from bowstring.synthesis.banks import read_bank

VERSION = 1  # of the rules and their checks; it is written beside a set
_HELD_OUT_ONE_IN = 4


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    opposite: str
    group: str  # a preference takes at most one rule of a group
    type: str  # one of the published types of preferences
    clauses: tuple[str, ...]  # complete "The text must …"; the first is the plain statement
    items: tuple[str, ...]  # of a checklist
    hints: tuple[str, ...]  # what a user says when the rule is not met
    allusions: tuple[str, ...]  # and when it is met

    @property
    def feature(self) -> str:
        """The name of the pair: that of its rules which comes first in the alphabet."""
        return min(self.id, self.opposite)

    @property
    def held_out(self) -> bool:
        """Whether the rule is never part of training data. Both rules of a feature are, or none."""
        return seeded_number(0, "held-out feature", self.feature) % _HELD_OUT_ONE_IN == 0


@cache
def rules() -> dict[str, Rule]:
    """All rules by id, in the order of the file."""
    made: dict[str, Rule] = {}
    for feature in read_bank(__package__, "rules.yaml"):
        first, second = feature["rules"]
        for raw, other in ((first, second), (second, first)):
            lists = {name: tuple(raw[name]) for name in ("clauses", "items", "hints", "allusions")}
            made[raw["id"]] = Rule(raw["id"], other["id"], feature["group"], raw["type"], **lists)
    return made


def opposite(rule: str) -> str:
    return rules()[rule].opposite


def meets(text: str, rule: str) -> bool:
    return CHECKS[rule](parts_of(text))


def met(text: str, wanted: Iterable[str]) -> list[str]:
    """Those of the rules that the text meets."""
    parts = parts_of(text)
    return [rule for rule in wanted if CHECKS[rule](parts)]
