"""Random attributes of personas, balanced over a set: options that were drawn less often come first."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CAREER_LEVELS = ("student", "early in the career", "mid-career", "senior", "leading others", "near retirement")
TRAITS = tuple(
    f"{level} {trait}"
    for trait in ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism")
    for level in ("high", "low")
)
VALUES = (
    "self-direction",
    "stimulation",
    "hedonism",
    "achievement",
    "power",
    "security",
    "conformity",
    "tradition",
    "benevolence",
    "universalism",
)
DECISIONS = ("directive", "analytical", "conceptual", "behavioural")


@dataclass(frozen=True, slots=True)
class Attributes:
    career: str
    traits: tuple[str, ...]
    values: tuple[str, ...]
    decides: str

    def described(self, seed: str) -> str:
        """A seed with its attributes, as text for a prompt."""
        traits, values = ", ".join(self.traits), " and ".join(self.values)
        return f"{seed} (career: {self.career}; traits: {traits}; values: {values}; decides: {self.decides})"


def balanced(n: int, seed: int) -> list[Attributes]:
    """`n` sets of attributes; in each, options that were drawn less often so far come first."""
    rng = random.Random(f"{seed}/attributes")  # noqa: S311 - repeatable on purpose
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("career", "traits", "values", "decides")}
    found = []
    for _ in range(n):
        traits = _rarest(TRAITS, counts["traits"], 2, rng, apart=lambda a, b: a.split()[1] != b.split()[1])
        found.append(
            Attributes(
                _rarest(CAREER_LEVELS, counts["career"], 1, rng)[0],
                traits,
                _rarest(VALUES, counts["values"], 2, rng),
                _rarest(DECISIONS, counts["decides"], 1, rng)[0],
            )
        )
    return found


def _rarest(
    options: Sequence[str],
    counts: Counter[str],
    n: int,
    rng: random.Random,
    apart: Callable[[str, str], bool] = lambda a, b: True,
) -> tuple[str, ...]:
    shuffled = rng.sample(options, len(options))
    chosen: list[str] = []
    for option in sorted(shuffled, key=lambda o: counts[o]):
        if len(chosen) < n and all(apart(option, other) for other in chosen):
            chosen.append(option)
    counts.update(chosen)
    return tuple(chosen)
