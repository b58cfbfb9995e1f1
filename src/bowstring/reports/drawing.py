"""Figures as SVG for pages; the style sheet sets the colors for light and dark mode. All texts are escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from bowstring.benchmarks.figures import SEGMENTS, Curve, Figure, Histogram, Intervals, Point, Scatter, Stack
from bowstring.files.escaping import escape_control_characters
from bowstring.files.ticks import axis_ticks
from bowstring.reports.numbers import short

_WIDTH = 760
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 24, 30, 44
_ROW = 26
_NAMES = 190  # width of the row names
_TICKS = (0, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
_BEND = 100.0  # tokens; the axis is linear below, to include 0
_OTHERS = (2, 3, 6, 5, 4, 7, 1, 0)  # colors of other segments
_LETTER, _LINE = 6.4, 14.0  # approximate width of a character and height of a line


def draw(figure: Figure) -> str:
    """The complete SVG."""
    if isinstance(figure, Intervals):
        return _intervals(figure)
    if isinstance(figure, Stack):
        return _stack(figure)
    if isinstance(figure, Histogram):
        return _histogram(figure)
    return _scatter(figure) if isinstance(figure, Scatter) else _curve(figure)


def _svg(figure: Figure, height: float, parts: Sequence[str]) -> str:
    label = _safe(figure.title)
    head = f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{label}">'
    return "\n".join((head, f'<text x="12" y="18" class="title">{label}</text>', *parts, "</svg>"))


def _safe(text: str) -> str:
    return escape(escape_control_characters(text))


def _text(x: float, y: float, said: str, *, anchor: str = "start", kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{name}>{_safe(said)}</text>'


def _intervals(figure: Intervals) -> str:
    """One row per estimate, on one scale."""
    (low, high), number = figure.scale.limits, figure.scale.number
    across = _WIDTH - _NAMES - 110

    def x(value: float) -> float:
        return _NAMES + (value - low) / (high - low) * across

    bottom = _TOP + _ROW * len(figure.marks)
    parts = []
    for tick in axis_ticks(low, high):
        line = f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{_TOP}" y2="{bottom}" class="grid"/>'
        parts += [line, _text(x(tick), bottom + 16, f"{tick:g}", anchor="middle")]
    for n, mark in enumerate(figure.marks):
        y = _TOP + _ROW * (n + 0.5)
        said = f"{mark.label}: {number(mark.value)} ({number(mark.low)} to {number(mark.high)}), n {mark.n}"
        kind = "dot" if mark.trusted else "dot hollow"
        if mark.most is not None:
            beyond = f"the highest possible value is {mark.most:g}"
            parts.append(
                f'<g><title>{beyond}</title><rect x="{x(mark.most):.1f}" y="{y - _ROW / 2:.1f}" '
                f'width="{x(high) - x(mark.most):.1f}" height="{_ROW}" class="beyond"/></g>'
            )
        if mark.ceiling is not None:
            at = x(mark.ceiling)
            parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y - _ROW / 2}" y2="{y + _ROW / 2}" class="ceiling"/>')
        parts += [
            _text(_NAMES - 10, y + 4, short(mark.label), anchor="end", kind="name"),
            f"<g><title>{_safe(said)}</title>"
            f'<line x1="{x(mark.low):.1f}" x2="{x(mark.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" class="range"/>'
            f'<circle cx="{x(mark.value):.1f}" cy="{y:.1f}" r="4.5" class="{kind}"/></g>',
            _text(_NAMES + across + 14, y + 4, number(mark.value), kind="name"),
            _text(_WIDTH - 12, y + 4, f"n {mark.n}", anchor="end"),
        ]
    if note := figure.ceiling_note():
        parts.append(_text(_NAMES, bottom + 34, note))
        bottom += 18
    return _svg(figure, bottom + 26, parts)


def _stack(figure: Stack) -> str:
    across = _WIDTH - _NAMES - (70 if not any(figure.lost.values()) else 150)
    segments = figure.segments()
    classes = {s: s if s in SEGMENTS else f"c{_OTHERS[n % len(_OTHERS)]}" for n, s in enumerate(segments)}
    parts = []
    for n, (label, row) in enumerate(figure.rows.items()):
        total, x, y = sum(row.values()), float(_NAMES), _TOP + _ROW * n + 3
        parts.append(_text(_NAMES - 10, y + 15, short(label), anchor="end", kind="name"))
        for segment in (s for s in segments if row.get(s)):
            width = row[segment] / total * across
            said = f"{segment}: {row[segment]} of {total} ({row[segment] / total:.0%})"
            parts.append(
                f'<g><title>{_safe(said)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 6}" '
                f'class="seg {classes[segment]}"/></g>'
            )
            inside = f"{segment} {row[segment] / total:.0%}"
            if width > _LETTER * len(inside) + 8:
                parts.append(_text(x + width / 2, y + 15, inside, anchor="middle", kind="in"))
            x += width
        parts.append(_text(_WIDTH - 12, y + 15, figure.size(label), anchor="end"))
    return _svg(figure, _TOP + _ROW * len(figure.rows) + 8, parts)


def _histogram(figure: Histogram) -> str:
    """Step lines, one per series: bars would hide each other."""
    height = 240
    bottom = height - _BOTTOM
    counts = {name: figure.counts(name) for name, values in figure.series.items() if values}
    most = max(max(found) / max(1, sum(found)) for found in counts.values())
    first, last = figure.edges[0], figure.edges[-1]

    def x(value: float) -> float:
        return _LEFT + (value - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

    def y(share: float) -> float:
        return bottom - share / most * (bottom - _TOP - 18)

    parts = [f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}" class="axis"/>']
    for tick in axis_ticks(0.0, most):
        line = f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>'
        parts += [line, _text(_LEFT - 8, y(tick) + 4, f"{tick:.0%}" if most > 0.05 else f"{tick:.1%}", anchor="end")]
    parts += [_text(x(t), bottom + 16, f"{t:g}", anchor="middle") for t in axis_ticks(first, last)]
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, height - 8, f"{figure.unit}", anchor="middle"))
    legend = float(_WIDTH - _RIGHT)
    for n, (name, found) in enumerate(reversed(counts.items())):
        series = len(counts) - 1 - n
        path = [f"M{x(first):.1f},{bottom}"]
        for edge, following, count in zip(figure.edges, figure.edges[1:], found, strict=False):
            path.append(
                f"V{y(count / sum(found)):.1f}" if edge == first else f"H{x(edge):.1f}V{y(count / sum(found)):.1f}"
            )
            path.append(f"H{x(following):.1f}")
        parts.append(f'<path d="{"".join(path)}V{bottom}" class="step s{series % 8}"/>')
        mean = sum(figure.series[name]) / len(figure.series[name])
        said = f"{name} (mean {mean:.{figure.decimals}f})"
        parts.append(_text(legend, 18, said, anchor="end", kind=f"c{series % 8}"))
        legend -= _LETTER * len(said) + 22
    return _svg(figure, height, parts)


def _scatter(figure: Scatter) -> str:
    """A scatter plot; coinciding points are drawn larger."""
    height = 320
    bottom = height - _BOTTOM
    (left, right), (low, high) = figure.limits

    def x(value: float) -> float:
        return _LEFT + (value - left) / (right - left) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - _TOP - 18)

    parts = []
    for tick in axis_ticks(low, high):
        line = f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>'
        parts += [line, _text(_LEFT - 8, y(tick) + 4, f"{tick:g}", anchor="end")]
    parts += [_text(x(t), bottom + 16, f"{t:g}", anchor="middle") for t in axis_ticks(left, right)]
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, height - 8, figure.across, anchor="middle"))
    parts.append(_text(_LEFT, 36, figure.up))
    together: dict[tuple[float, float], int] = {}
    for point in figure.points:
        at = (round(point[0], 1), round(point[1], 1))
        together[at] = together.get(at, 0) + 1
    most = max(together.values())
    for (across, up), n in together.items():
        radius = 3 + 9 * math.sqrt(n / most) if most > 1 else 4.5
        said = f"{figure.across} {across:g}, {figure.up} {up:g}: {n}"
        parts.append(
            f'<g><title>{_safe(said)}</title><circle cx="{x(across):.1f}" cy="{y(up):.1f}" r="{radius:.1f}" '
            'class="dot soft"/></g>'
        )
    return _svg(figure, height, parts)


class _Plane:
    height = 400

    def __init__(self, figure: Curve) -> None:
        points, limits, self._across = figure.points, figure.scale.limits, figure.across
        self._most = max([_BEND, *(p.tokens for p in points)]) * 1.15
        low, high = min(p.low for p in points), max(p.high for p in points)
        room = max((high - low) * 0.15, (limits[1] - limits[0]) * 0.02)
        self.low, self.high = max(limits[0], low - room), min(limits[1], high + room)

    def x(self, tokens: float) -> float:
        share = math.log1p(tokens / _BEND) / math.log1p(self._most / _BEND)
        return _LEFT + 12 + share * (_WIDTH - _LEFT - _RIGHT - 12)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)

    def axes(self) -> list[str]:
        bottom = self.height - _BOTTOM
        parts = []
        for tick in axis_ticks(self.low, self.high):
            y = self.y(tick)
            parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
            parts.append(_text(_LEFT - 8, y + 4, f"{tick:g}", anchor="end"))
        for tick in (t for t in _TICKS if t <= self._most):
            x = self.x(tick)
            shown = f"{tick // 1000}k" if tick >= 1000 else str(tick)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}" class="axis"/>')
            parts.append(_text(x, bottom + 19, shown, anchor="middle"))
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}" class="axis"/>')
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        parts.append(_text(middle, self.height - 8, self._across, anchor="middle"))
        return parts


def _curve(figure: Curve) -> str:
    points = figure.points
    plane, number = _Plane(figure), figure.scale.number
    families = list(dict.fromkeys(p.family for p in points))
    colour = {family: n % 8 for n, family in enumerate(families)}
    parts = plane.axes()
    for family in families:
        line = sorted((p for p in points if p.family == family), key=lambda p: p.tokens)
        path = " ".join(f"{plane.x(p.tokens):.1f},{plane.y(p.value):.1f}" for p in line)
        if len(line) > 1:
            parts.append(f'<polyline points="{path}" class="step s{colour[family]}"/>')
    for p in points:
        x, ink = plane.x(p.tokens), colour[p.family]
        said = f"{p.name}: {number(p.value)} ({number(p.low)} to {number(p.high)}), {p.tokens:,.0f} tokens"
        parts.append(
            f'<g><title>{_safe(said)}</title><line x1="{x:.1f}" x2="{x:.1f}" y1="{plane.y(p.low):.1f}" '
            f'y2="{plane.y(p.high):.1f}" class="range s{ink}"/>'
            f'<circle cx="{x:.1f}" cy="{plane.y(p.value):.1f}" r="4.5" class="c{ink}"/></g>'
        )
    return _svg(figure, plane.height, [*parts, *_labels(points, plane, colour)])


def _labels(points: Sequence[Point], plane: _Plane, colour: dict[str, int]) -> list[str]:
    """Names next to their points, without overlaps as far as possible."""
    taken = [(plane.x(p.tokens) - 6, plane.y(p.value) - 6, plane.x(p.tokens) + 6, plane.y(p.value) + 6) for p in points]
    parts = []
    for p in sorted(points, key=lambda p: p.tokens):
        x, y = plane.x(p.tokens), plane.y(p.value)
        width = _LETTER * len(p.name)
        places = [(dx, dy) for dy in (-6, 14, -20, 28, -34, 42) for dx in (8, -8 - width)]
        boxes = [(x + dx, y + dy - 11, x + dx + width, y + dy - 11 + _LINE) for dx, dy in places]
        inside = [
            b for b in boxes if b[0] >= _LEFT and b[2] <= _WIDTH and b[1] >= _TOP - 4 and b[3] <= plane.height - _BOTTOM
        ]
        box = next((b for b in inside if not any(_overlap(b, t) for t in taken)), (inside or boxes)[0])
        taken.append(box)
        parts.append(_text(box[0], box[1] + 11, p.name, kind=f"c{colour[p.family]}"))
    return parts


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
