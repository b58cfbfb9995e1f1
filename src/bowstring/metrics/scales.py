"""Measurement scales of labels: nominal, ordinal or interval.

>>> scale_of({"win", "tie", "lose"}).level
'ordinal'
>>> scale_of({"9", "10"}).labels
('9', '10')
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from bowstring.labels import COMPARED_SCORES, PREFERRED_SCORES, YES_OR_NO_SCORES
from bowstring.metrics.reliability import Level

MOST_LABELS = 40  # beyond this, tables are unreadable and the labels are really numbers


def _ascending(scores: Mapping[str, float]) -> Mapping[str, float]:
    return dict(sorted(scores.items(), key=lambda item: item[1]))


# The benchmarks' labels, from lowest to highest, with their scores.
_KNOWN: tuple[Mapping[str, float], ...] = (
    _ascending(COMPARED_SCORES),
    _ascending(PREFERRED_SCORES),
    {"Not Covered": 0.0, "Partially Covered": 0.5, "Fully Covered": 1.0},
    _ascending(YES_OR_NO_SCORES),
)
_STYLES = "\ufe0e\ufe0f"  # variation selectors: whether a symbol is drawn as text or as an emoji
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d*)?(?:[eE][+-]?\d{1,2})?")


@dataclass(frozen=True, slots=True)
class Scale:
    """`labels` in order, if they have one; `values` are their ranks or numbers; `levels` are the applicable alpha
    levels.

    `level` is the one that uses most of the labels' meaning, unless another was requested. Macro F1 averages over the
    labels of the task, which may be fewer: `averaged`, by default all.
    """

    labels: tuple[str, ...]
    values: Mapping[str, float] | None
    levels: tuple[Level, ...]
    numeric: bool = False
    averaged: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        known = self.values is not None and not self.numeric
        return "ordinal" if known and "ordinal" in self.levels else self.levels[-1]

    @property
    def tabular(self) -> bool:
        return len(self.labels) <= MOST_LABELS


def normalize_text(text: str) -> str:
    """Return a label or a name such that texts that look alike are equal: in Unicode's form NFKC, without invisible
    characters, and with single blanks. Case is kept.

    >>> normalize_text("Ａ\u00a0 win\u200b")
    'A win'
    """
    if text.isascii():
        return " ".join(text.split())
    visible = (c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf" and c not in _STYLES)
    # Characters that an invisible one kept apart may combine now.
    return " ".join(unicodedata.normalize("NFKC", "".join(visible)).split())


def parse_number(text: str) -> float | None:
    """Return the number a label represents, or None for a word."""
    found = float(text) if _NUMBER.fullmatch(text) else math.inf
    return found if math.isfinite(found) else None


def normalize_label(label: str) -> str:
    """Normalize a label: Unicode form, and numbers: 7, 7.0 and 07 are the same label."""
    label = normalize_text(label)
    number = parse_number(label)
    return label if number is None else str(int(number)) if number.is_integer() else repr(number)


def scale_of(
    found: Collection[str], order: Sequence[str] = (), level: Level | None = None, task_labels: Collection[str] = ()
) -> Scale:
    """Return the scale of normalized labels: numbers, labels of a benchmark, labels of `order`; all others are nominal.

    The scale has all labels of `order`, or of `task_labels` if those include every label that was found, also labels
    that nobody gave. Numbers are the exception: of a range of numbers, it has those that were found.

    Raise ValueError if `level` asks for more than the labels support, or `order` lacks one of them.
    """
    if missing := sorted(set(found) - set(order)) if order else []:
        raise ValueError(f"{missing[0]!r} is not in the order")
    scale = _scale(found, order)
    if not order and not scale.numeric and set(found) < set(task_labels):
        scale = _scale(task_labels, order)
    if level is None:  # two labels are always nominal
        return scale if len(found) > 2 or scale.numeric else replace(scale, levels=("nominal",))
    if level not in scale.levels and scale.numeric:
        raise ValueError(f"{level} supports at most {MOST_LABELS} different labels; there are {len(found):,}")
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
        return Scale(tuple(dict.fromkeys(order)), ranks, ("nominal", "ordinal"))
    for known in _KNOWN:
        if found and set(found) <= known.keys():
            used = tuple(label for label in known if label in found)
            return Scale(used, known, ("nominal", "ordinal", "interval"))
    return Scale(tuple(sorted(found)), None, ("nominal",))
