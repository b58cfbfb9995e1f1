"""The page of a run: scores with intervals, notes, breakdowns, and all items."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from bowstring.benchmarks.controls import ABOUT as CONTROLS_ABOUT
from bowstring.benchmarks.controls import columns_of as columns_of_controls
from bowstring.benchmarks.figures import Figure
from bowstring.benchmarks.findings import unclear_note
from bowstring.benchmarks.of_run import benchmark_of, metrics_of
from bowstring.benchmarks.standing import about_of
from bowstring.benchmarks.view import Histories
from bowstring.files.escaping import escape_control_characters
from bowstring.metrics.measures import NO_METRICS, MetricSet
from bowstring.reports.drawing import draw
from bowstring.reports.figures import axis_figures, main_figures
from bowstring.reports.items import blocks
from bowstring.reports.missing import ABOUT, HEADS, any_missing, missing_cells, missing_scores, shown_metrics
from bowstring.reports.published import DIFFERING, published_sections
from bowstring.reports.tables import unscored_text
from bowstring.reports.variance import variance_lines
from bowstring.runs.about import facts
from bowstring.runs.cut_answers import cut_numbers
from bowstring.runs.failures import commonest_failure

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_FRAGMENT = "benchmark.html"
_PUBLISHED = "published.html"


def write_page(
    metrics: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    histories: Histories | None = None,
    *,
    about_histories: str = "",
    sources_at: str = "",
) -> str:
    """One self-contained HTML file. All texts are escaped, so data and answers cannot run as code.

    `about_histories` explains missing histories. `sources_at`, before the key of an item, is the address at which a
    viewer says where the item's answers came from; a page without a viewer has none."""
    benchmark, metric_set = benchmark_of(metrics), metrics_of(metrics)
    view = benchmark.view()
    figures = {figure.name: draw_markup(figure) for figure in main_figures(metrics, records)}
    return rendered(
        "page.html",
        metric_set,
        view.fragment(),
        m=metrics,
        benchmark=benchmark,
        about_scores=view.about_scores(metrics, metric_set),
        about_configuration=view.about_configuration(metrics),
        about=(about := about_of(metrics)),
        about_scored=facts(about).values(),
        about_variance=variance_lines(metrics),
        published=published_sections(metrics),
        about_differing=DIFFERING,
        columns={axis: _columns(metrics, groups) for axis, groups in metrics["groups"].items()},
        shown=shown_metrics(metrics),
        about_controls=CONTROLS_ABOUT,
        control_columns=columns_of_controls(metrics.get("controls", [])),
        headline=metric_set.headlines(metrics["metrics"]),
        failure=commonest_failure(records),
        lengths=figures.pop("lengths", ""),
        figures=figures.values(),
        of_axis={axis: [draw_markup(figure) for figure in own] for axis, own in axis_figures(metrics).items()},
        blocks=blocks([view.item(record) for record in records], histories),
        tokens=_tokens(metrics["usage"]),
        config=metrics["config"],
        about_histories=about_histories,
        audits=benchmark.auditing() is not None and benchmark.is_judged(metrics["config"]["settings"]),
        unclear_note=unclear_note(metrics.get("validity", {}).get("audit", {}).get("findings", ()), benchmark.cluster),
        sources_at=sources_at,
        policy=policy(loads=bool(sources_at)),
        script=_ours("items.js"),
    )


def policy(*, loads: bool = False) -> str:
    """The content security policy of the page: its own style and script only. A page that `loads` may also ask the
    server it came from."""
    digest = b64encode(sha256(_ours("items.js").encode()).digest()).decode()
    own = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return f"{own}; connect-src 'self'" if loads else own


def draw_markup(figure: Figure) -> Markup:
    from markupsafe import Markup

    return Markup(f'<div class="figure">{draw(figure)}</div>')  # noqa: S704 - draw() escapes


def environment(metric_set: MetricSet = NO_METRICS) -> Environment:
    """The template environment of all pages: everything is escaped except our style and figures, and bidirectional
    control characters are shown as codes. Numbers are formatted by the metrics of a benchmark."""
    from jinja2 import Environment
    from markupsafe import Markup

    made = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: (
            escape_control_characters(value) if isinstance(value, str) and not isinstance(value, Markup) else value
        ),
    )
    made.filters |= {
        "number": metric_set.number,
        "place": metric_set.place,
        "any_missing": any_missing,
        "cut_numbers": cut_numbers,
        "lacking": partial(_lacking, metric_set),
        "unscored": lambda point, metric: unscored_text(point, metric, metric_set),
        "missing_cells": lambda e, name: missing_cells(e, partial(metric_set.number, metric=name)),
    }
    made.globals |= {"missing_heads": HEADS, "about_missing": ABOUT}
    made.globals["style"] = _ours("style.css")
    return made


def _lacking(metric_set: MetricSet, e: Mapping[str, Any], metric: str) -> Markup:
    """What an estimate in a group or of a point lacks, in small print."""
    from markupsafe import Markup

    missing = missing_scores(e)[1]
    worst = metric_set.number(e["missing"]["as_worst"], metric) if missing else ""
    return (
        Markup('<br><span class="tag">{} missing, as worst {}</span>').format(missing, worst) if missing else Markup()
    )


@cache
def _ours(name: str) -> Markup:
    """A file of this package, unescaped."""
    from markupsafe import Markup

    return Markup((files("bowstring.reports") / name).read_text(encoding="utf-8"))  # noqa: S704


def rendered(template: str, metric_set: MetricSet, fragment: Traversable | None = None, **given: Any) -> str:
    """A template of this package; it can import the `fragment` of the benchmark, which is also escaped."""
    from jinja2 import DictLoader

    made = environment(metric_set)
    own = "" if fragment is None else fragment.read_text(encoding="utf-8")
    made.loader = DictLoader({_FRAGMENT: own, _PUBLISHED: _ours(_PUBLISHED)})
    return made.from_string(_ours(template)).render(**given)


def _columns(metrics: Mapping[str, Any], groups: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The metrics of any group of an axis, in the order of the whole run."""
    return [name for name in metrics["metrics"] if any(name in found for found in groups.values())]


def _tokens(usage: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "role": role,
            **used,
            **_shares(used),
            "servers": [{"address": at, **one, **_shares(one)} for at, one in used.get("servers", {}).items()],
        }
        for role, used in usage.items()
    ]


def _shares(used: Mapping[str, Any]) -> dict[str, float | None]:
    prompt = used["prompt_tokens"]
    return {
        "cached": used["cached_tokens"] / prompt if prompt else None,
        "shareable": used["shareable_tokens"] / prompt if prompt else None,
    }
