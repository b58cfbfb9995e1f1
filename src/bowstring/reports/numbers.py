"""How the reports print numbers and names, and between which limits a metric lies."""

from __future__ import annotations


def number(value: float | None, metric: str = "") -> str:
    """A value as papers print it: correlations and 1-10 scores with two places, percentages with one."""
    if value is None:
        return "–"
    low, high = in_range(metric)
    return f"{value:,.1f}" if high == 100.0 else f"{value:.2f}" if low < 0 or high > 1 else f"{value:.3f}"


def in_range(metric: str) -> tuple[float, float]:
    """The least and the most that a metric can be."""
    if metric.endswith("correlation"):
        return -1.0, 1.0
    if metric in ("bleu", "rouge_l"):
        return 0.0, 1.0
    return (0.0, 10.0) if metric == "generation.score" else (0.0, 100.0)


def place(value: float, metric: str) -> float:
    """Where a value stands in its range, in percent."""
    low, high = in_range(metric)
    return round(100 * (value - low) / (high - low), 2)


def short(name: str, most: int = 27) -> str:
    """A name for a figure, which has little room."""
    return name if len(name) <= most else name[: most - 1] + "…"
