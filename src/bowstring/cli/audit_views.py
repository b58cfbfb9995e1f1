"""How `bowstring audit` shows what it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bowstring.benchmarks.of_run import installed
from bowstring.cli.output import counted, plain
from bowstring.metrics.measures import MetricSet

_STYLES = {"unclear": "yellow", "fine": "green", "look here": "bold yellow", "told": "dim"}


def print_audit(found: Mapping[str, Any], to: Console) -> None:
    benchmark = installed(found["benchmark"])
    second = f", against {found['second_judge']}" if "second_judge" in found else ""
    said = f"{found['benchmark']}: {found['model']}, judged by {found['judge']}{second}"
    to.print(plain(said), style="bold", markup=False)
    asked = min(found["sample"], found["items"])
    to.print(f"{counted(found['items'], 'item')}; a sample of {asked:,} where a judge is asked\n", style="dim")
    findings: Sequence[Mapping[str, Any]] = found["findings"]
    for check in dict.fromkeys(one["check"] for one in findings):
        to.print(Text(check, style="bold"))
        for one in findings:
            if one["check"] == check:
                _print_finding(one, to)
        to.print()
    for check, why in found["skipped"].items():
        to.print(f"{check}: left out: {plain(why)}\n", markup=False)
    if "corrected" in found:
        _print_corrected(found["corrected"], benchmark.metrics({}), to)
    scores = found.get("corrected", {}).get("scores", {}).values()
    few = [*(one for one in findings if one["value"] is not None), *(one["corrected"] for one in scores)]
    if any(not one["trusted"] for one in few):
        to.print(f"* fewer than 30 {benchmark.cluster.many}: do not trust the interval", style="dim", markup=False)
    looks = [one for one in findings if one["verdict"] == "look here"]
    for note in found["notes"]:
        to.print(f"! {plain(note)}", style="yellow", markup=False)
    if found["failed"] or found["unparsed"]:
        to.print(f"! {found['failed']:,} items with a failed request, {found['unparsed']:,} verdicts could not be read")
    told = f"{len(looks):,} to look at" if looks else "nothing to look at in these checks"
    unclear = sum(one["verdict"] == "unclear" for one in findings)
    more = f", {unclear:,} unclear: more items (--sample) or users would tell" if unclear else ""
    to.print(f"{counted(len(findings), 'number')}: {told}{more}", markup=False)


def _print_finding(one: Mapping[str, Any], to: Console) -> None:
    style = _STYLES[one["verdict"]]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=9, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_row(Text(one["verdict"], style=style), Text(f"{plain(one['name'])}: {_number(one)}"))
    should = f"should be {plain(one['should'])}; " if one["should"] else ""
    grid.add_row("", Text(should + plain(one["says"]), style="dim"))
    to.print(grid)


def _number(one: Mapping[str, Any]) -> str:
    lost = f", {one['left_out']:,} left out" if one["left_out"] else ""
    if one["value"] is None:
        return f"not defined (n {one['n']:,}{lost})"
    value, low, high = (f"{one[k]:.{one['places']}f}" for k in ("value", "low", "high"))
    return f"{value} [{low}, {high}]{'' if one['trusted'] else '*'} (n {one['n']:,}{lost})"


def _print_corrected(found: Mapping[str, Any], metric_set: MetricSet, to: Console) -> None:
    to.print(Text("corrected by people's labels", style="bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, name in enumerate(("", "by the judge", "corrected", "labels")):
        table.add_column(name, justify="right" if n else "left", no_wrap=True)
    for name, one in found["scores"].items():
        values = [_between(one[by], name, metric_set) for by in ("judge", "corrected")]
        table.add_row(name, *values, f"{one['corrected']['n']:,}")
    to.print(table)
    lost = "".join(f", {n:,} {reason}" for reason, n in found["left_out"].items())
    said = f"{counted(found['items'], 'item')} labelled by {counted(found['raters'], 'rater')}{lost}."
    if found["too_few"]:
        few = f"{', '.join(found['too_few'])}: not corrected: fewer than {found['least']} labels of a question type"
        to.print(few, style="dim", markup=False)
    to.print(f"{said} Right on average if the labelled items were drawn by lot.\n", style="dim", markup=False)


def _between(e: Mapping[str, Any], metric: str, metric_set: MetricSet) -> str:
    value, low, high = (metric_set.number(e[k], metric) for k in ("value", "low", "high"))
    return f"{value} [{low}, {high}]{'' if e['trusted'] else '*'}"
