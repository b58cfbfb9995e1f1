"""The terminal output of plans, runs and sweeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table

from bowstring.benchmarks.controls import ABOUT as CONTROLS_ABOUT
from bowstring.benchmarks.controls import columns_of as columns_of_controls
from bowstring.benchmarks.interface import Noun
from bowstring.benchmarks.of_run import benchmark_of, metrics_of
from bowstring.benchmarks.standing import about_of, abouts_of_points
from bowstring.cli.output import counted, plain
from bowstring.cli.progress import short
from bowstring.cli.protocol_views import print_protocols
from bowstring.cli.published_views import print_published
from bowstring.metrics.comparing import DIFFERING, least_clusters
from bowstring.metrics.measures import MetricSet
from bowstring.reports.missing import ABOUT, HEADS, any_missing, missing_cells, missing_scores, shown_metrics
from bowstring.reports.points import columns_of, lead_of
from bowstring.reports.tables import lost_items
from bowstring.reports.variance import variance_lines
from bowstring.runs.about import of_several, sentence
from bowstring.runs.plan import Plan, RolePlan
from bowstring.runs.running import Run
from bowstring.runs.sweep import SweepResult


def print_about_notes(notes: Iterable[str], to: Console) -> None:
    """Print what a reader must know about the data before the scores."""
    for note in filter(None, notes):
        to.print(f"! {plain(note)}", style="bold yellow", markup=False)


def print_plan(plan: Plan, to: Console, cluster: Noun | None = None) -> None:
    """Print a plan; `cluster` is the benchmark's word, where the plan is of an evaluation."""
    of = f"Shard {plan.shard}: " if plan.shard else ""
    size = f"{counted(plan.items, 'item')} in {counted(plan.groups, 'group')}"
    to.print(f"{of}{size}. This is a plan; no request was sent.\n", highlight=False)
    if plan.clusters and cluster is not None:
        to.print(f"{_detectable(plan, cluster)}\n", markup=False)
    if not plan.roles:
        to.print("The run needs no model and costs nothing.")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    table.add_column("")
    for role in plan.roles:
        table.add_column(role, justify="right", no_wrap=True)
    rows: dict[str, Callable[[RolePlan], str]] = {
        "requests": lambda p: f"{p.requests:,}",
        "of these in the store": lambda p: f"{p.stored:,}",
        "prompt tokens": lambda p: short(p.prompt_tokens),
        "of these not cached": lambda p: short(p.after_sharing),
        "answer tokens (estimate)": lambda p: short(p.completion_tokens),
        "cost": lambda p: _money(p.cost),
        "cost without caching": lambda p: _money(p.cost_unshared),
    }
    for label, shown in rows.items():
        table.add_row(label, *(shown(p) for p in plan.roles.values()))
    to.print(table)
    priced = dict.fromkeys(plain(p.model) for p in plan.roles.values() if p.cost_unshared)
    prices = f" Prices of {', '.join(priced)} as of {plan.prices_dated}." if priced else ""
    unknown = dict.fromkeys(plain(p.model) for p in plan.roles.values() if p.cost is None)
    prices += f" Price unknown: {', '.join(unknown)} (give it with --prices)." if unknown else ""
    sharing = (
        "Batch API: half price, no prefix cache."
        if plan.batch
        else "Assumes that the server has a prefix cache for trunks."
    )
    note = f"\nTokens counted with {plain(plan.tokenizer)}.{prices} {sharing}"
    to.print(note, style="dim", markup=False)


def _detectable(plan: Plan, cluster: Noun) -> str:
    """Which difference the planned users can show, before anything is known about the models."""
    have = f"{plan.clusters:,} {cluster.one if plan.clusters == 1 else cluster.many}"
    if plan.clusters < least_clusters():
        return f"{have} cannot show that two models differ: that takes {least_clusters()} {cluster.many} at least."
    if plan.detectable is None:
        return (
            f"{have} with {plan.items_each:.3g} items each are too few to find that two models differ, with 80% power."
        )
    apart = f"about {100 * plan.detectable:.2g}% of a score's range"
    return (
        f"{have} with {plan.items_each:.3g} items each can show a difference of {apart} between two models "
        f"(80% power, level 5%), if their scores differ on {DIFFERING:.0%} of the items."
    )


def print_sweep(swept: SweepResult, to: Console) -> None:
    """Print one row per setting: its context and its scores."""
    points, metric_set = swept.summary["points"], metrics_of(swept.summary)
    main = lead_of(points, metric_set)
    columns = columns_of(points, metric_set)
    family = (main or "").partition(".")[0]
    shown = [name for name in columns if name.startswith(f"{family}.")] or columns
    chiefs = {one.chief: one.heading for one in metric_set.families.values()}
    others = [name for name in chiefs if name in columns and name not in shown]
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    heads = [*(name.removeprefix(f"{family}.") for name in shown), *(chiefs[name] for name in others)]
    first = f"{family} by history" if main not in shown or main != family else "history"
    lacking = main is not None and any(
        main in p.get("unscored", {}) or any_missing(p["metrics"]) for p in points.values()
    )
    heads += HEADS[:2] if lacking else ()
    for n, head in enumerate((first, "tokens", *heads)):
        table.add_column(head, justify="right" if n else "left", no_wrap=True)
    for name, point in points.items():
        tokens = point["context_tokens"]
        table.add_row(
            plain(name),
            "–" if tokens is None else f"{tokens:,.0f}",
            *(
                _cell(point["metrics"].get(column), column, metric_set, interval=column == main, lacking=False)
                for column in (*shown, *others)
            ),
            *(_missing_of_point(point, main, metric_set) if lacking else ()),
        )
    about = of_several(abouts_of_points(swept.summary))
    to.print()
    for line in about.lines:
        to.print(plain(line), markup=False)
    print_about_notes(about.notes, to)
    to.print()
    to.print(table)
    untrusted = any(not e["trusted"] for p in points.values() for e in p["metrics"].values())
    clusters = benchmark_of(swept.summary).cluster.many
    tokenizer = plain(swept.summary["tokenizer"])
    each = next(iter(points.values()))["n"]
    legend = (
        f"{each:,} items each; 95% interval, clustered by {clusters}; tokens: shown history (estimate, {tokenizer})."
    )
    legend += f" Fewer than 30 {clusters}: do not trust the intervals." if untrusted else ""
    direction = metric_set.direction_note([*shown, *others])
    to.print(" ".join(filter(None, (legend, direction))), style="dim", markup=False)
    for run in list(swept.points.values())[:1]:  # the runs of a sweep have the same items
        _print_controls(run.metrics, metric_set, to)
    for note in swept.summary["notes"]:
        to.print(f"! {plain(note)}", style="yellow", markup=False)
    for name, point in points.items():
        if lost := lost_items(point):
            to.print(f"! {plain(name)}: {', '.join(lost)}", markup=False)
    print_published((run.metrics for run in swept.points.values()), to)


def _missing_of_point(point: Mapping[str, Any], main: str | None, metric_set: MetricSet) -> tuple[str, str]:
    e = shown_metrics(point).get(main or "")
    return ("", "") if e is None else missing_cells(e, partial(metric_set.number, metric=main or ""))[:2]


def _cell(
    e: Mapping[str, Any] | None, name: str, metric_set: MetricSet, *, interval: bool, lacking: bool = True
) -> str:
    if e is None:
        return "–"
    number = metric_set.number
    value = number(e["value"], name)
    if not interval:
        return value
    few = "" if e["trusted"] else "*"
    missing = missing_scores(e)[1] if lacking else 0
    worst = f"\n{missing:,} missing, as worst {number(e['missing']['as_worst'], name)}" if missing else ""
    return f"{value} [{number(e['low'], name)}, {number(e['high'], name)}]{few}{worst}"


def print_run(run: Run, to: Console) -> None:
    m = run.metrics
    metric_set = metrics_of(m)
    number = metric_set.number
    shown = shown_metrics(m)
    lacking = any_missing(shown)
    table = Table(box=None, pad_edge=False, padding=(0, 1 if lacking else 2), header_style="dim")
    heads = ("", "value", "95% interval", "n", *(HEADS if lacking else ()))
    for n, name in enumerate(heads):
        table.add_column(name, justify="right" if n else "left", no_wrap=True)
    untrusted = False
    for name, e in shown.items():
        untrusted |= not e["trusted"]
        mark = "" if e["trusted"] else " *"
        value, low, high = (number(e[k], name) for k in ("value", "low", "high"))
        missing = missing_cells(e, partial(number, metric=name)) if lacking else ()
        between = "–" if e["value"] is None else f"{low} – {high}{mark}"
        table.add_row(name, value, between, f"{e['n']:,}", *missing)
    about = about_of(m)
    to.print()
    to.print(plain(sentence(about)), markup=False)
    print_about_notes([about.note], to)
    to.print()
    to.print(table if shown else "There are no scores.")
    _print_splits(m, metric_set, to)
    print_protocols(m, metric_set, to)
    _print_controls(m, metric_set, to)
    print_published([m], to)
    if lacking:
        to.print(f"[dim]{ABOUT}[/dim]")
    if direction := metric_set.direction_note(m["metrics"]):
        to.print(direction, style="dim", markup=False)
    if untrusted:
        to.print(f"[dim]* fewer than 30 {benchmark_of(m).cluster.many}: do not trust the interval[/dim]")
    for line in _remarks(m):
        to.print(plain(line), style="dim", markup=False)
    for line in variance_lines(m):
        to.print(plain(line), style="dim", markup=False)
    for note in m["notes"]:
        to.print(f"! {plain(note)}", style="yellow", markup=False)
    if lost := lost_items(m):
        to.print(f"! {', '.join(lost)}")
    for role, usage in m["usage"].items():
        to.print(f"[dim]{role}: {_usage(usage)}[/dim]")
        for address, of_server in usage.get("servers", {}).items():
            to.print(f"[dim]  {plain(address)}: {_server_usage(of_server)}[/dim]")


def _print_splits(m: Mapping[str, Any], metric_set: MetricSet, to: Console) -> None:
    """Print the main metrics of each split, as papers report them."""
    splits = m["groups"].get("split")
    if not splits:
        return
    names = metric_set.headlines(m["metrics"])
    if not names:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, head in enumerate(("", *splits)):
        table.add_column(plain(head), justify="right" if n else "left", no_wrap=True)
    for name in names:
        table.add_row(name, *(_cell(found.get(name), name, metric_set, interval=True) for found in splits.values()))
    to.print()
    to.print("By split, as papers report them")
    to.print(table)
    to.print()


def _print_controls(m: Mapping[str, Any], metric_set: MetricSet, to: Console) -> None:
    """Print what answers of known quality get from the judge in use."""
    print_control_table(m.get("controls", []), metric_set, to)


def print_control_table(controls: Sequence[Mapping[str, Any]], metric_set: MetricSet, to: Console) -> None:
    names = columns_of_controls(controls)
    if not names:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, head in enumerate(("control", *(name.replace(".", "\n") for name in names))):
        table.add_column(head, justify="right" if n else "left", no_wrap=True)
    for control in controls:
        cells = (metric_set.number(control["scores"].get(name), name) for name in names)
        table.add_row(f"{control['kind']}: {plain(control['name'])}", *cells)
    to.print()
    to.print(CONTROLS_ABOUT)
    to.print(table)
    to.print()


def _remarks(m: Mapping[str, Any]) -> list[str]:
    try:
        return list(benchmark_of(m).view().remarks(m))
    except Exception as error:  # a fault in the code of a benchmark must not hide the scores
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return [f"The remarks of {m['benchmark']} are missing ({reason[:200]})."]


def _usage(usage: Mapping[str, Any]) -> str:
    line = f"{counted(usage['requests'], 'request')}, {usage['from_store']:,} from the store{_cached(usage)}"
    if usage["cost"]:
        line += f"; {_money(usage['cost'])}"
    return line


def _server_usage(usage: Mapping[str, Any]) -> str:
    line = f"{counted(usage['requests'], 'request')}{_cached(usage)}"
    return line + (f"; failed {counted(usage['outages'], 'time')}" if usage["outages"] else "")


def _cached(usage: Mapping[str, Any]) -> str:
    prompt = usage["prompt_tokens"]
    if not prompt:
        return ""
    served, cacheable = usage["cached_tokens"] / prompt, usage["shareable_tokens"] / prompt
    return f"; {short(prompt)} prompt tokens, {served:.0%} served from cache ({cacheable:.0%} was cacheable)"


def _money(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:,.2f}" if cost >= 1 or not cost else f"${cost:.4f}"
