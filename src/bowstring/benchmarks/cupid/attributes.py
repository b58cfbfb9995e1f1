"""Random attributes of personas, balanced over a set: options that were drawn less often come first."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
class AttributeOptions:
    """What attributes are drawn from. A trait begins with its level, such as 'high'."""

    careers: tuple[str, ...] = CAREER_LEVELS
    traits: tuple[str, ...] = TRAITS
    values: tuple[str, ...] = VALUES
    decisions: tuple[str, ...] = DECISIONS


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

    def as_published(self, number: int, seed: str) -> Mapping[str, object]:
        """A seed with its attributes, under the names of CUPID's own pipeline and in its order."""
        return {
            "id": number,
            "seed": seed,
            "career_level": self.career,
            "personality_traits": list(self.traits),
            "personal_values": list(self.values),
            "decision_making_styles": self.decides,
        }


def balanced(n: int, seed: int, options: AttributeOptions | None = None) -> list[Attributes]:
    """`n` sets of attributes; in each, options that were drawn less often so far come first."""
    options = options or AttributeOptions()
    rng = random.Random(f"{seed}/attributes")  # noqa: S311 - repeatable on purpose
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("career", "traits", "values", "decides")}
    found = []
    for _ in range(n):
        traits = _rarest(options.traits, counts["traits"], 2, rng, apart=lambda a, b: _trait(a) != _trait(b))
        found.append(
            Attributes(
                _rarest(options.careers, counts["career"], 1, rng)[0],
                traits,
                _rarest(options.values, counts["values"], 2, rng),
                _rarest(options.decisions, counts["decides"], 1, rng)[0],
            )
        )
    return found


def _trait(with_level: str) -> str:
    return with_level.partition(" ")[2]


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
