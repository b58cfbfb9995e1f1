"""The page of a run: scores with intervals, what to keep in mind, breakdowns, and the items to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_ITEMS = 500  # items on the page; records.jsonl has them all


def write_page(metrics: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> str:
    """One self-contained HTML file. Every text in it is escaped: data and answers are shown, never obeyed."""
    template = environment().from_string((files("bowstring.reports") / "page.html").read_text(encoding="utf-8"))
    return template.render(
        m=metrics,
        columns={axis: _columns(metrics, groups) for axis, groups in metrics["groups"].items()},
        items=records[:_ITEMS],
        total=len(records),
        tokens=_tokens(metrics["usage"]),
        config=metrics["config"],
        policy=policy(),
    )


def policy() -> str:
    """What a browser may do with the page: apply its style, and nothing else."""
    return "default-src 'none'; style-src 'unsafe-inline'"


def environment() -> Environment:
    """What all pages are made with: everything is escaped, but for our own style and figures."""
    from jinja2 import Environment
    from markupsafe import Markup

    made = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"number": number, "place": _place}
    style = (files("bowstring.reports") / "style.css").read_text(encoding="utf-8")
    made.globals["style"] = Markup(style)  # noqa: S704 - a file of ours
    return made


def number(value: float | None, metric: str = "") -> str:
    """A value as papers print it: correlations and 1-10 scores with two places, percentages with one."""
    if value is None:
        return "–"
    low, high = in_range(metric)
    return f"{value:,.1f}" if high == 100.0 else f"{value:.2f}" if low < 0 or high > 1 else f"{value:.3f}"


def _place(value: float, metric: str) -> float:
    """Where a value stands in its range, in percent."""
    low, high = in_range(metric)
    return round(100 * (value - low) / (high - low), 2)


def in_range(metric: str) -> tuple[float, float]:
    """The least and the most that a metric can be."""
    if metric.endswith("correlation"):
        return -1.0, 1.0
    if metric in ("bleu", "rouge_l"):
        return 0.0, 1.0
    return (0.0, 10.0) if metric == "generation.score" else (0.0, 100.0)


def _columns(metrics: Mapping[str, Any], groups: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The metrics that any group of an axis has, in the order of the whole."""
    return [name for name in metrics["metrics"] if any(name in found for found in groups.values())]


def _tokens(usage: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for role, used in usage.items():
        prompt = used["prompt_tokens"]
        rows.append(
            {
                "role": role,
                **used,
                "cached": used["cached_tokens"] / prompt if prompt else None,
                "shareable": used["shareable_tokens"] / prompt if prompt else None,
            }
        )
    return rows
