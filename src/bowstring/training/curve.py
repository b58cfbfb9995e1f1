"""Training curves as an SVG file: one panel per logged metric, over the steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from bowstring.files.ticks import axis_ticks

_WIDTH, _PANEL, _GAP = 720, 170, 46
_LEFT, _RIGHT, _TOP = 64, 16, 30
_SHOWN = {
    "loss": "loss",
    "margin": "reward margin of the chosen answers",
    "chosen_change": "log-probability of the chosen answers, change in nats per token",
    "accuracy": "share of pairs in which the chosen answer gained more",
    "lr": "learning rate",
}
_STYLE = """text{font:12px system-ui,sans-serif;fill:#444}.title{font-weight:600;fill:#222}.grid{stroke:#ddd}
.raw{stroke:#1f6f8b;stroke-opacity:.35}.smooth{stroke:#1f6f8b;stroke-width:2}
@media(prefers-color-scheme:dark){text{fill:#bbb}.title{fill:#eee}.grid{stroke:#3a3a3a}
.raw,.smooth{stroke:#6bb7d6}}"""


def draw_training(log: Sequence[Mapping[str, float | None]]) -> str:
    """Draw all panels; values that are not numbers leave gaps."""
    names = [name for name in _SHOWN if any(line.get(name) is not None for line in log)]
    height = _TOP + len(names) * (_PANEL + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="Training, {len(log)} steps"><style>{_STYLE}</style>'
    ]
    for n, name in enumerate(names):
        found = [(step, value) for line in log if (value := line.get(name)) is not None and (step := line["step"])]
        parts += _panel(_SHOWN[name], found, _TOP + n * (_PANEL + _GAP), smooth=name != "lr")
    return "\n".join((*parts, "</svg>\n"))


def _panel(title: str, points: Sequence[tuple[float, float]], top: float, *, smooth: bool) -> list[str]:
    low, high = min(v for _, v in points), max(v for _, v in points)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    low, high = low - room, high + room
    last = max(step for step, _ in points)

    def x(step: float) -> float:
        return _LEFT + (step - 1) / max(1, last - 1) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return top + _PANEL - (value - low) / (high - low) * _PANEL

    def line(of: Sequence[tuple[float, float]], kind: str) -> str:
        path = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in of)
        return f'<polyline points="{path}" fill="none" class="{kind}"/>'

    parts = [f'<text x="{_LEFT}" y="{top - 9}" class="title">{escape(title)}</text>']
    for tick in axis_ticks(low, high):
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in (step for step in axis_ticks(1, max(2, last)) if step == int(step) and x(step) > _LEFT + 40):
        parts.append(f'<text x="{x(tick):.1f}" y="{top + _PANEL + 17}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{_LEFT}" y="{top + _PANEL + 17}">step</text>')
    if not smooth:
        return [*parts, line(points, "smooth")]
    return [*parts, line(points, "raw"), line(_smoothed(points), "smooth")]


def _smoothed(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return an exponential moving average over a twentieth of the steps."""
    keep = math.exp(-1 / max(1.0, len(points) / 20))
    found, sums, weights = [], 0.0, 0.0
    for step, value in points:
        sums, weights = sums * keep + value, weights * keep + 1
        found.append((step, sums / weights))
    return found
