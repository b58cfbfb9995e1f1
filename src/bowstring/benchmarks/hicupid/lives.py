"""Profiles for the offline generator: people whose age, occupation, income and working hours fit together.

A profile value changes what is recommended. Working hours decide the time of a plan, income its price, and personality
whether it is for a group or one person, or fixed or open.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from bowstring.benchmarks.hicupid.banks import people
from bowstring.benchmarks.hicupid.types import Profile
from bowstring.benchmarks.hicupid.users import Turns

_GENDERS = (48, 48, 4)  # weights of female, male and non-binary
_TEMPERS = ("company", "planning")  # a personality decides one of them


def aspects_asked(n: int, rng: random.Random) -> list[str]:
    """What each of `n` profile questions is about; all that depend on the personality are about the same."""
    temper = rng.choice(_TEMPERS)
    found: list[str] = []
    while len(found) < n:
        found += rng.sample(["time", "budget", temper], 3)
    return found[:n]


class Life:
    """A profile, the dialogues that show it, and the value of each aspect that it decides."""

    def __init__(self, temper: str, rng: random.Random) -> None:
        bank = people()
        hours = rng.choice(list(bank["aspects"]["time"]["values"]))
        budget = rng.choice(list(bank["aspects"]["budget"]["values"]))
        occupation = rng.choice([o for o in bank["occupations"] if o["hours"] == hours and budget in o["incomes"]])
        income = rng.choice([i for i in bank["incomes"] if i["budget"] == budget])
        first, last = occupation["ages"]
        age = rng.randint(first, last)
        group = next(a for a in bank["ages"] if a["from"] <= age <= a["to"])
        gender = rng.choices(bank["genders"], weights=_GENDERS)[0]
        value = rng.choice(list(bank["aspects"][temper]["values"]))
        personality = rng.choice([p for p in bank["personalities"] if p.get(temper) == value])
        self.record = Profile(str(age), gender["name"], personality["name"], occupation["name"], income["name"])
        parts = (group, gender, personality, occupation, income)
        self.turns: Sequence[Turns] = [[_turn(rng.choice(part["shows"]), rng)] for part in parts]
        self.values = {"time": hours, "budget": budget, temper: value}


def _turn(shown: Sequence[str], rng: random.Random) -> tuple[str, str]:
    said, answered = shown
    return said, f"{answered} {rng.choice(people()['closings'])}"


def other_value(aspect: str, value: str, rng: random.Random) -> str:
    values: dict[str, Any] = people()["aspects"][aspect]["values"]
    return rng.choice([v for v in values if v != value])


def profile_truth() -> dict[str, Any]:
    """For each aspect: the profile field that decides it, the words of each value, and the value of each entry."""
    bank = people()
    entries = {
        "time": {o["name"]: o["hours"] for o in bank["occupations"]},
        "budget": {i["name"]: i["budget"] for i in bank["incomes"]},
        **{t: {p["name"]: p[t] for p in bank["personalities"] if t in p} for t in _TEMPERS},
    }
    return {
        aspect: {"field": raw["field"], "values": raw["values"], "of": entries[aspect]}
        for aspect, raw in bank["aspects"].items()
    }
