"""The terminal output of `bowstring compare`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bowstring.cli.compare_correction_views import print_corrected_comparison
from bowstring.cli.output import counted, plain
from bowstring.cli.run_views import print_about_notes
from bowstring.metrics.comparing import CorrectedDifference
from bowstring.metrics.intervals import Estimate
from bowstring.studies.compare import Comparison
from bowstring.studies.compare_page import cluster_word, length_notes, p_value, power_notes, ranks_note, signed
from bowstring.studies.differing import Example

_METRIC = 20  # terminal columns for the name of a metric
_WIDE, _NARROW = 21, 16  # terminal columns for a value with its interval next to it, and below it


def print_comparison(compared: Comparison, items: int, to: Console) -> None:
    metrics = [metric for metric in compared.metrics if metric not in compared.metric_set.secondary]
    to.print()
    for line in compared.about.lines:
        to.print(plain(line), markup=False)
    print_about_notes(compared.about.notes, to)
    to.print()
    beside = _METRIC + _WIDE * len(compared.runs) <= to.width
    at_once = len(compared.runs) if beside else max(1, (to.width - _METRIC) // _NARROW)
    for first in range(0, len(compared.runs), at_once):
        names = compared.names[first : first + at_once]
        to.print(_side_by_side(compared, metrics, names, beside=beside))
    for name in compared.names:
        if name != compared.baseline:
            to.print(f"\n{plain(name)} − {plain(compared.baseline)} (difference)\n", style="bold", markup=False)
            to.print(_differences(compared, metrics, name))
    to.print(_legend(compared, metrics), style="dim", markup=False)
    if notes := length_notes(compared):
        to.print("\nScore of compared answers at equal length (0 to 100)\n", style="bold", markup=False)
        for note in notes:
            to.print(plain(note), markup=False)
    print_corrected_comparison(compared, to)
    to.print(f"\n{plain(ranks_note(compared))}", markup=False)
    for note in power_notes(compared):
        to.print(plain(note), markup=False)
    for found in compared.correlations:
        to.print(plain(found.sentence), markup=False)
    for note in compared.notes:
        to.print(f"! {plain(note)}", style="yellow", markup=False)
    for example in compared.examples[:items]:
        _print_example(example, to)
    if len(compared.examples) < items:
        to.print(
            f"\nThe runs differ in {compared.metric} on only {counted(len(compared.examples), 'item')}.", style="dim"
        )


def _table(*columns: str, wrapped: bool = False) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), collapse_padding=True, header_style="dim")
    for n, name in enumerate(columns):
        no_wrap = not (n and wrapped)
        table.add_column(Text(plain(name)), justify="right" if n else "left", no_wrap=no_wrap, overflow="fold")
    return table


def _side_by_side(compared: Comparison, metrics: Sequence[str], names: Sequence[str], *, beside: bool) -> Table:
    """One column per run; the interval is next to the value if there is room, otherwise below it."""
    table = _table("", *names, wrapped=True)
    for metric in metrics:
        own = compared.metrics[metric]
        table.add_row(metric, *(_value(compared, own.get(name), metric, beside=beside) for name in names))
    scored = compared.metrics[compared.metric]
    table.add_row(f"n of {compared.metric}", *(f"{scored[name].n:,}" for name in names), style="dim")
    if any(scored[name].missing_items for name in names):
        worst = (compared.metric_set.number(scored[name].as_worst, compared.metric) for name in names)
        table.add_row("missing", *(f"{scored[name].missing_items:,}" for name in names), style="dim")
        table.add_row("all items, missing as worst", *worst, style="dim")
        table.add_row("all items, bounds", *(_bounds(compared, scored[name]) for name in names), style="dim")
    return table


def _bounds(compared: Comparison, e: Estimate) -> str:
    """The value if all missing scores were the lowest, and if they were the highest."""
    low, high = e.bounds
    return f"{compared.metric_set.number(low, compared.metric)} – {compared.metric_set.number(high, compared.metric)}"


def _value(compared: Comparison, e: Estimate | None, metric: str, *, beside: bool) -> Text:
    if e is None:
        return Text("–")
    number = compared.metric_set.number
    between = f"[{number(e.low, metric)}, {number(e.high, metric)}]{'' if e.trusted else '*'}"
    return Text.assemble(number(e.value, metric), " " if beside else "\n", (between, "dim"))


def _differences(compared: Comparison, metrics: Sequence[str], name: str) -> Table:
    several = ["Holm"] if len(compared.runs) > 2 else []
    lacking = ["left out"] if any(own[name].left_out for own in compared.differences.values() if name in own) else []
    heads = ["difference", "95% interval", "p", *several, "n", cluster_word(compared), *lacking]
    table = _table("", *heads)
    for metric in metrics:
        found = compared.differences.get(metric, {}).get(name)
        if found is not None:
            cells = _difference(compared, found, metric)
            table.add_row(metric, *(cells[head] for head in heads), style="bold" if found.significant else "")
    return table


def _difference(compared: Comparison, found: CorrectedDifference, metric: str) -> dict[str, str]:
    mark = "" if found.trusted else "*"
    return {
        "difference": signed(compared, found.value, metric),
        "95% interval": f"{signed(compared, found.low, metric)} to {signed(compared, found.high, metric)}{mark}",
        "p": p_value(found.p),
        "Holm": p_value(found.corrected),
        "n": f"{found.n:,}",
        cluster_word(compared): f"{found.clusters:,}",
        "left out": f"{found.left_out:,}",
    }


def _legend(compared: Comparison, metrics: Sequence[str]) -> str:
    clusters = cluster_word(compared)
    legend = f"n: items that all runs were scored on. Intervals and p-values: paired t-test, clustered by {clusters}."
    if len(compared.runs) > 2:
        legend += f" Holm: p-value corrected for {len(compared.runs) - 1} comparisons per metric."
    few = any(not d.trusted for own in compared.differences.values() for d in own.values())
    legend += f" * fewer than 30 {clusters}: do not trust the interval." if few else ""
    return " ".join(filter(None, (legend, compared.metric_set.direction_note(metrics))))


def _print_example(example: Example, to: Console) -> None:
    to.print()
    to.print(Text(f"{plain(example.key)} · {plain(example.type)}", style="bold"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", justify="right", max_width=24, overflow="fold")
    grid.add_column(overflow="fold")
    lines = {"question": example.question} | ({"gold": example.gold} if example.gold else {})
    lines |= {name: f"[{one.verdict}] {one.answer}" for name, one in example.answers.items()}
    for label, text in lines.items():
        grid.add_row(Text(plain(label)), Text(plain(" ".join(text.split()))))
    to.print(grid)
