"""Score against context as an SVG: a point a setting, its interval, and a line through those of a kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_WIDTH, _HEIGHT = 760, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 24, 20, 52
_TICKS = (0, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
_BEND = 100.0  # tokens below which the axis is linear, so that 0 has a place on it
_COLOURS = ("#1f6f8b", "#b4552d", "#5a7d2a", "#7a4fa3", "#a88a1c", "#b03a6f", "#4c6a92", "#6b6b6b")
_LABEL_WIDTH, _LABEL_HEIGHT = 6.4, 14.0  # of a character and a line, about


class Point(NamedTuple):
    name: str
    family: str
    tokens: float
    value: float
    low: float
    high: float


def draw(points: Sequence[Point], metric: str, limits: tuple[float, float]) -> str:
    """The whole picture; every text in it is escaped."""
    scale = _Scale(points, limits)
    families = list(dict.fromkeys(p.family for p in points))
    colour = {family: _COLOURS[n % len(_COLOURS)] for n, family in enumerate(families)}
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(metric)} against context in tokens">',
        *scale.axes(metric),
    ]
    for family in families:
        line = sorted((p for p in points if p.family == family), key=lambda p: p.tokens)
        path = " ".join(f"{scale.x(p.tokens):.1f},{scale.y(p.value):.1f}" for p in line)
        if len(line) > 1:
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour[family]}" stroke-width="1.5"/>')
    for p in points:
        x, y, ink = scale.x(p.tokens), scale.y(p.value), colour[p.family]
        said = f"{p.name}: {p.value:.1f} ({p.low:.1f} to {p.high:.1f}), {p.tokens:,.0f} tokens"
        parts.append(
            f'<g><title>{escape(said)}</title><line x1="{x:.1f}" x2="{x:.1f}" y1="{scale.y(p.low):.1f}" '
            f'y2="{scale.y(p.high):.1f}" stroke="{ink}" stroke-opacity=".45" stroke-width="3"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{ink}"/></g>'
        )
    parts += _labels(points, scale, colour)
    return "\n".join((*parts, "</svg>"))


class _Scale:
    def __init__(self, points: Sequence[Point], limits: tuple[float, float]) -> None:
        self._most = max([_BEND, *(p.tokens for p in points)]) * 1.15
        low, high = min(p.low for p in points), max(p.high for p in points)
        room = max((high - low) * 0.15, (limits[1] - limits[0]) * 0.02)
        self.low, self.high = max(limits[0], low - room), min(limits[1], high + room)

    def x(self, tokens: float) -> float:
        share = math.log1p(tokens / _BEND) / math.log1p(self._most / _BEND)
        return _LEFT + 12 + share * (_WIDTH - _LEFT - _RIGHT - 12)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self, metric: str) -> list[str]:
        bottom = _HEIGHT - _BOTTOM
        parts = []
        for tick in round_steps(self.low, self.high):
            y = self.y(tick)
            parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
            parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        for tick in (t for t in _TICKS if t <= self._most):
            x = self.x(tick)
            shown = f"{tick // 1000}k" if tick >= 1000 else str(tick)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}" class="axis"/>')
            parts.append(f'<text x="{x:.1f}" y="{bottom + 19}" text-anchor="middle">{shown}</text>')
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}" class="axis"/>')
        parts.append(
            f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">history shown, tokens a question</text>'
        )
        parts.append(f'<text x="{_LEFT}" y="{_TOP - 7}" class="title">{escape(metric)}</text>')
        return parts


def round_steps(low: float, high: float) -> list[float]:
    """Round numbers between two, some five of them."""
    rough = (high - low) / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough)
    first = math.ceil(low / step)
    return [round(n * step, 10) for n in range(first, math.floor(high / step) + 1)]


def _labels(points: Sequence[Point], scale: _Scale, colour: dict[str, str]) -> list[str]:
    """Names beside their points, each where it covers no other name and no point, as far as there is room."""
    taken = [(scale.x(p.tokens) - 6, scale.y(p.value) - 6, scale.x(p.tokens) + 6, scale.y(p.value) + 6) for p in points]
    parts = []
    for p in sorted(points, key=lambda p: p.tokens):
        x, y = scale.x(p.tokens), scale.y(p.value)
        width = _LABEL_WIDTH * len(p.name)
        places = [(dx, dy) for dy in (-6, 14, -20, 28, -34, 42) for dx in (8, -8 - width)]
        boxes = [(x + dx, y + dy - 11, x + dx + width, y + dy - 11 + _LABEL_HEIGHT) for dx, dy in places]
        inside = [
            b for b in boxes if b[0] >= _LEFT and b[2] <= _WIDTH and b[1] >= _TOP - 4 and b[3] <= _HEIGHT - _BOTTOM
        ]
        box = next((b for b in inside if not any(_overlap(b, t) for t in taken)), (inside or boxes)[0])
        taken.append(box)
        parts.append(f'<text x="{box[0]:.1f}" y="{box[1] + 11:.1f}" fill="{colour[p.family]}">{escape(p.name)}</text>')
    return parts


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
