"""Figures for papers (svg, pdf, png) with matplotlib, on white, with fonts as text.

The same run always gives the same bytes: no date is written.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bowstring.benchmarks.figures import Curve, Figure, Histogram, Intervals, Scatter, Stack
from bowstring.files.names import safe_file_name
from bowstring.files.writing import write_file
from bowstring.labels import LOSE, NO, TIE, WIN, YES
from bowstring.reports.numbers import short

FORMATS = ("svg", "pdf", "png")
# Distinguishable with color blindness and in grayscale.
_COLOURS = ("#1f6f8b", "#b4552d", "#5a7d2a", "#7a4fa3", "#a88a1c", "#b03a6f", "#4c6a92", "#6b6b6b")
_SEGMENTS = {
    WIN: "#1f6f8b",
    YES: "#1f6f8b",
    TIE: "#b9c3cc",
    LOSE: "#b4552d",
    NO: "#b4552d",
    "unparsed": "#e9d8a6",
    "failed": "#6b6b6b",
}
_OTHERS = tuple(_COLOURS[n] for n in (2, 3, 6, 5, 4, 7, 1, 0))  # colors of other segments
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "svg.fonttype": "none",
    "svg.hashsalt": "bowstring",
    "pdf.fonttype": 42,
    "text.parse_math": False,  # a name may contain dollar signs
}
_NO_DATE: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
_BEND = 100.0  # tokens; the axis is linear below


NEEDED = "figures need matplotlib: pip install 'bowstring[plots]'"


def is_available() -> bool:
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError:  # missing, or its installation is broken
        return False
    return True


def save_figure(figure: Figure, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write a figure in each format; return the paths."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a missing glyph is drawn as a box
        canvas = Canvas(figsize=(6.4, _height(figure)), layout="constrained")
        axes = canvas.add_subplot()
        axes.set_title(short(figure.title, 70))
        if isinstance(figure, Intervals):
            _intervals(axes, figure)
        elif isinstance(figure, Stack):
            _stack(axes, figure)
        elif isinstance(figure, Histogram):
            _histogram(axes, figure)
        elif isinstance(figure, Scatter):
            _scatter(axes, figure)
        else:
            _curve(axes, figure)
        written = []
        for form in formats:
            path, drawn = folder / safe_file_name(figure.name, f".{form}"), io.BytesIO()
            canvas.savefig(drawn, format=form, dpi=200, metadata=_NO_DATE[form])
            write_file(path, drawn.getvalue())
            written.append(path)
    return written


def _height(figure: Figure) -> float:
    rows = len(figure.marks) if isinstance(figure, Intervals) else len(figure.rows) if isinstance(figure, Stack) else 0
    return 0.9 + 0.28 * rows if rows else 3.2


def _intervals(axes: Any, figure: Intervals) -> None:
    for n, mark in enumerate(figure.marks):
        axes.plot([mark.low, mark.high], [n, n], color=_COLOURS[0], linewidth=3, alpha=0.45, solid_capstyle="round")
        inside = _COLOURS[0] if mark.trusted else "white"
        axes.plot([mark.value], [n], "o", color=_COLOURS[0], markerfacecolor=inside, markersize=5, clip_on=False)
        if mark.most is not None:
            axes.barh(n, figure.scale.high - mark.most, left=mark.most, height=1, color="0.92", zorder=0)
        if mark.ceiling is not None:
            axes.plot([mark.ceiling] * 2, [n - 0.5, n + 0.5], color="0.35", linewidth=1, linestyle="--")
    if note := figure.ceiling_note():
        axes.set_xlabel(note)
    axes.set_yticks(range(len(figure.marks)), [f"{short(mark.label)} (n {mark.n})" for mark in figure.marks])
    axes.set_ylim(len(figure.marks) - 0.5, -0.5)
    axes.set_xlim(*figure.scale.limits)
    axes.grid(axis="x", linewidth=0.5, alpha=0.5)


def _stack(axes: Any, figure: Stack) -> None:
    segments = figure.segments()
    colours = {s: _SEGMENTS.get(s, _OTHERS[n % len(_OTHERS)]) for n, s in enumerate(segments)}
    for n, row in enumerate(figure.rows.values()):
        total, left = sum(row.values()), 0.0
        for segment in (s for s in segments if row.get(s)):
            share = 100 * row[segment] / total
            axes.barh(n, share, left=left, color=colours[segment], height=0.7)
            if share > 7:
                ink = "black" if segment == TIE else "white"
                axes.text(
                    left + share / 2, n, f"{segment} {share:.0f}", ha="center", va="center", fontsize=8, color=ink
                )
            left += share
    names = [f"{short(label)} ({figure.size(label)})" for label in figure.rows]
    axes.set_yticks(range(len(figure.rows)), names)
    axes.set_ylim(len(figure.rows) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.set_xlabel("%")


def _histogram(axes: Any, figure: Histogram) -> None:
    for n, (name, values) in enumerate(figure.series.items()):
        if values:
            counts = figure.counts(name)
            shares = [100 * count / sum(counts) for count in counts]
            mean = sum(values) / len(values)
            axes.stairs(
                shares,
                figure.edges,
                label=f"{name} (mean {mean:.{figure.decimals}f})",
                color=_COLOURS[n % 8],
                linewidth=1.6,
            )
    axes.set_xlabel(figure.unit)
    axes.set_ylabel("%")
    axes.legend(frameon=False, fontsize=8)


def _scatter(axes: Any, figure: Scatter) -> None:
    across, up = zip(*figure.points, strict=True)
    axes.scatter(across, up, s=26, color=_COLOURS[0], alpha=0.45, linewidths=0, clip_on=False)
    axes.set_xlabel(figure.across)
    axes.set_ylabel(figure.up)
    axes.set_xlim(*figure.limits[0])
    axes.set_ylim(*figure.limits[1])
    axes.grid(linewidth=0.5, alpha=0.5)


def _curve(axes: Any, figure: Curve) -> None:
    families = list(dict.fromkeys(point.family for point in figure.points))
    for n, family in enumerate(families):
        line = sorted((p for p in figure.points if p.family == family), key=lambda p: p.tokens)
        across, up = [p.tokens for p in line], [p.value for p in line]
        off = [[p.value - p.low for p in line], [p.high - p.value for p in line]]
        axes.errorbar(across, up, yerr=off, fmt="o-", color=_COLOURS[n % 8], label=family, capsize=2, linewidth=1.2)
    # Names alternate above and below at two distances, as neighbors may be close.
    for n, point in enumerate(sorted(figure.points, key=lambda p: p.tokens)):
        at = (point.tokens, point.high if n % 2 else point.low)
        above = (-14, 7, -24, 17)[n % 4]
        axes.annotate(short(point.name), at, (0, above), textcoords="offset points", fontsize=7, ha="center")
    most = max(_BEND, *(point.tokens for point in figure.points))
    axes.set_xscale("function", functions=(_forward, _back))
    axes.set_xlim(-0.1 * _BEND, 1.35 * most)
    ticks = [tick for tick in (0, 100, 300, 1000, 3000, 10_000, 30_000, 100_000) if tick <= most]
    axes.set_xticks(ticks, [f"{tick // 1000}k" if tick >= 1000 else str(tick) for tick in ticks])
    axes.margins(y=0.25)
    axes.set_xlabel(figure.across)
    axes.grid(linewidth=0.5, alpha=0.5)


def _forward(tokens: Any) -> Any:
    import numpy as np

    return np.log1p(np.maximum(tokens, -0.5 * _BEND) / _BEND)


def _back(place: Any) -> Any:
    import numpy as np

    return np.expm1(np.minimum(place, math.log(1e12))) * _BEND
