"""What labels have between them: nothing but a difference, an order, or distances.

>>> scale_of({"win", "tie", "lose"}).level
'ordinal'
>>> scale_of({"9", "10"}).labels
('9', '10')
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from bowstring.metrics.reliability import Level

MOST_LABELS = 40  # more make tables that nobody reads, and tell of numbers rather than of labels

# The benchmarks' own labels, from least to most, with what they score.
_KNOWN: tuple[Mapping[str, float], ...] = (
    {"lose": 0.0, "tie": 0.5, "win": 1.0},
    {"general": 0.0, "tie": 0.5, "personalized": 1.0},
    {"Not Covered": 0.0, "Partially Covered": 0.5, "Fully Covered": 1.0},
    {"no": 0.0, "yes": 1.0},
)
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d*)?(?:[eE][+-]?\d{1,2})?")


@dataclass(frozen=True, slots=True)
class Scale:
    """`labels` in their order, where they have one; `values` are their ranks or numbers; `levels` the alphas that fit.

    `level` is the one that takes most of the labels' meaning into account, unless another was asked for.
    """

    labels: tuple[str, ...]
    values: Mapping[str, float] | None
    levels: tuple[Level, ...]
    numeric: bool = False

    @property
    def level(self) -> Level:
        known = self.values is not None and not self.numeric
        return "ordinal" if known and "ordinal" in self.levels else self.levels[-1]

    @property
    def tabular(self) -> bool:
        return len(self.labels) <= MOST_LABELS


def parse_number(text: str) -> float | None:
    """The number that a label is, or None for a word."""
    found = float(text) if _NUMBER.fullmatch(text) else math.inf
    return found if math.isfinite(found) else None


def normalize_label(label: str) -> str:
    """7, 7.0 and 07 are one label."""
    number = parse_number(label)
    return label if number is None else str(int(number)) if number.is_integer() else repr(number)


def scale_of(found: Collection[str], order: Sequence[str] = (), level: Level | None = None) -> Scale:
    """The scale of tidy labels: numbers, labels of a benchmark, those of `order`; others only differ.

    Raises ValueError where `level` asks for more than the labels have, or `order` lacks one of them.
    """
    if missing := sorted(set(found) - set(order)) if order else []:
        raise ValueError(f"no place for {missing[0]!r}")
    scale = _scale(found, order)
    if level is None:  # between two labels there is nothing but a difference
        return scale if len(scale.labels) > 2 or scale.numeric else replace(scale, levels=("nominal",))
    if level not in scale.levels and scale.numeric:
        raise ValueError(f"{level} is for {MOST_LABELS} different labels at most; there are {len(found):,}")
    if level not in scale.levels:
        sample = ", ".join(scale.labels[:3])
        raise ValueError(f"{level} needs {'numbers' if level == 'interval' else 'an order'}; the labels are {sample}")
    return replace(scale, levels=(level,))


def _scale(found: Collection[str], order: Sequence[str]) -> Scale:
    numbers = {label: number for label in found if (number := parse_number(label)) is not None}
    if len(numbers) == len(found) and not order:
        by_size = tuple(sorted(numbers, key=lambda label: numbers[label]))
        few: tuple[Level, ...] = ("nominal", "ordinal", "interval")
        return Scale(by_size, numbers, few if len(found) <= MOST_LABELS else ("interval",), numeric=True)
    if order:
        ranks = {label: float(n) for n, label in enumerate(order)}
        return Scale(tuple(label for label in order if label in found), ranks, ("nominal", "ordinal"))
    for known in _KNOWN:
        if found and set(found) <= known.keys():
            used = tuple(label for label in known if label in found)
            return Scale(used, known, ("nominal", "ordinal", "interval"))
    return Scale(tuple(sorted(found)), None, ("nominal",))
