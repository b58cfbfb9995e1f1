"""Figures of a run or a sweep as data. A benchmark creates them; `reports` draws them for the page and for papers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bowstring.labels import LOSE, NO, TIE, WIN, YES
from bowstring.metrics.measures import Scale

# Segments of bars with fixed colors, best first.
SEGMENTS = (WIN, YES, TIE, LOSE, NO)


class Mark(NamedTuple):
    """An estimate with its interval; drawn hollow if the interval is not to be trusted."""

    label: str
    value: float
    low: float
    high: float
    n: int
    trusted: bool
    most: float | None = None  # the highest possible value, if it is below that of the axis
    ceiling: float | None = None  # the value of a perfect answer, if that is not the highest


@dataclass(frozen=True, slots=True)
class Intervals:
    name: str
    title: str
    marks: Sequence[Mark]
    scale: Scale

    def ceiling_note(self) -> str:
        """What the line at the ceiling of some marks means; empty if there is none."""
        there = {mark.ceiling for mark in self.marks if mark.ceiling is not None}
        means = self.scale.ceiling_means
        return f"dashed line: {' or '.join(f'{value:g}' for value in sorted(there))}, {means}" if there else ""


@dataclass(frozen=True, slots=True)
class Stack:
    """Shares of a whole, one bar per row; `lost` counts, by row, what is not in the bar: it has no verdict."""

    name: str
    title: str
    rows: Mapping[str, Mapping[str, int]]
    lost: Mapping[str, int] = field(default_factory=dict)

    def segments(self) -> list[str]:
        """The segments: known ones best first, then others."""
        there = {segment for row in self.rows.values() for segment, n in row.items() if n}
        others = [s for s in dict.fromkeys(s for row in self.rows.values() for s in row) if s not in SEGMENTS]
        return [s for s in (*SEGMENTS, *others) if s in there]

    def size(self, row: str) -> str:
        """The size of a row, and what is missing from it."""
        lost = self.lost.get(row, 0)
        return f"n {sum(self.rows[row].values()):,}" + (f", {lost:,} missing" if lost else "")


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of values between edges, one line per series."""

    name: str
    title: str
    unit: str
    series: Mapping[str, Sequence[float]]
    edges: Sequence[float]
    decimals: int = 1  # of the mean in the legend

    def counts(self, name: str) -> list[int]:
        found = [0] * (len(self.edges) - 1)
        for value in self.series[name]:
            found[min(max(bisect_right(self.edges, value) - 1, 0), len(found) - 1)] += 1
        return found


@dataclass(frozen=True, slots=True)
class Scatter:
    name: str
    title: str
    across: str
    up: str
    points: Sequence[tuple[float, float]]
    limits: tuple[tuple[float, float], tuple[float, float]]


class Point(NamedTuple):
    name: str
    family: str
    tokens: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Score against context: one point per setting; a line joins the points of a family."""

    name: str
    title: str
    points: Sequence[Point]
    scale: Scale
    across: str = "history shown, tokens per item"


Figure = Intervals | Stack | Histogram | Scatter | Curve


def lengths_figure(series: Mapping[str, Sequence[float]]) -> Histogram:
    """Lengths of answers in words, in about twenty bins. The longest 1% falls into the last bin."""
    found = sorted(value for values in series.values() for value in values)
    most = found[min(len(found) - 1, int(0.99 * len(found)))] if found else 1.0
    step = next(s for s in _STEPS if most < 20 * s or s == _STEPS[-1])
    edges = [float(step * n) for n in range(int(most // step) + 2)]
    return Histogram("lengths", "Length of answers", "words", series, edges)


_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)


def is_empty(figure: Figure) -> bool:
    """Whether there is nothing to show; such a figure is left out."""
    if isinstance(figure, Histogram):
        return not any(figure.series.values())
    if isinstance(figure, Stack):
        return not figure.segments()
    return not (figure.marks if isinstance(figure, Intervals) else figure.points)
