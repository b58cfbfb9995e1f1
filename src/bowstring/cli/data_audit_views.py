"""The terminal output of `bowstring data audit`: problems first, each with what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bowstring.benchmarks.findings import unclear_note
from bowstring.benchmarks.of_run import installed_benchmark
from bowstring.cli.output import counted, plain

_STYLES = {"unclear": "yellow", "fine": "green", "problem": "bold yellow", "info": "dim"}


def print_data_audit(audit: Mapping[str, Any], name: str, to: Console) -> None:
    benchmark = installed_benchmark(audit["benchmark"])
    users = f"{audit['users']:,} {benchmark.cluster.one if audit['users'] == 1 else benchmark.cluster.many}"
    items = f"{audit['items']:,} {benchmark.item.one if audit['items'] == 1 else benchmark.item.many}"
    to.print(Text(f"{plain(name)}", style="bold"), end="  ")
    to.print(f"{benchmark.title}: {users}, {items}; numbers are in percent, with 95% intervals\n", markup=False)
    findings: Sequence[Mapping[str, Any]] = audit["findings"]
    for one in findings:
        _print_finding(one, benchmark.cluster.many, to)
    to.print()
    if any(not one["trusted"] for one in findings if one["value"] is not None):
        to.print(f"* fewer than 30 {benchmark.cluster.many}: do not trust the interval", style="dim", markup=False)
    problems = sum(one["verdict"] == "problem" for one in findings)
    to.print(f"{counted(len(findings), 'finding')}, {counted(problems, 'problem')}.", markup=False)
    if note := unclear_note(findings, benchmark.cluster):
        to.print(plain(note), markup=False)


def _print_finding(one: Mapping[str, Any], users: str, to: Console) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=9, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    named = f"{plain(one['check'])}: {plain(one['name'])}: {_number(one)}"
    grid.add_row(Text(one["verdict"], style=_STYLES[one["verdict"]]), Text(named))
    expected = f"expected: {plain(one['expected'])}. " if one["expected"] else ""
    meaning = f"About {one['needed']:,} {users} needed." if one["needed"] else plain(one["meaning"])
    grid.add_row("", Text(expected + meaning, style="dim"))
    to.print(grid)


def _number(one: Mapping[str, Any]) -> str:
    if one["value"] is None:
        return "undefined"
    value, low, high = (f"{one[k]:.1f}" for k in ("value", "low", "high"))
    chance = "" if one["chance"] is None else f", chance {one['chance']:.1f}"
    return f"{value} [{low}, {high}]{'' if one['trusted'] else '*'} (n {one['n']:,}{chance})"
