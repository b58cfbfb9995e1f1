"""Figures of a run or a sweep as data. A benchmark creates them; `reports` draws them for the page and for papers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bowstring.labels import LOSE, NO, TIE, WIN, YES
from bowstring.metrics.measures import Scale

# Segments of bars with fixed colors, best first.
_LOST = ("unparsed", "failed")
SEGMENTS = (WIN, YES, TIE, LOSE, NO, *_LOST)


class Mark(NamedTuple):
    """An estimate with its interval; drawn hollow if the interval is not to be trusted."""

    label: str
    value: float
    low: float
    high: float
    n: int
    trusted: bool


@dataclass(frozen=True, slots=True)
class Intervals:
    name: str
    title: str
    marks: Sequence[Mark]
    scale: Scale


@dataclass(frozen=True, slots=True)
class Stack:
    """Shares of a whole, one bar per row."""

    name: str
    title: str
    rows: Mapping[str, Mapping[str, int]]

    def segments(self) -> list[str]:
        """The segments: known ones best first, then others, then unparsed and failed."""
        there = {segment for row in self.rows.values() for segment, n in row.items() if n}
        others = [s for s in dict.fromkeys(s for row in self.rows.values() for s in row) if s not in SEGMENTS]
        lost = len(_LOST)
        return [s for s in (*SEGMENTS[:-lost], *others, *SEGMENTS[-lost:]) if s in there]


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
