"""The terminal output of `bowstring agree` on preferences: between two runs, or personalized and general answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bowstring.cli.agree_tables import FEW, indented, make_table, name_cell, range_in_words, size, with_interval
from bowstring.cli.output import counted, plain
from bowstring.labels import PREFERRED


def print_run_preference(agreed: Mapping[str, Any], to: Console) -> None:
    """Print which of two runs people prefer."""
    first, second = agreed["sides"]
    head = f"win rate of {first} against {second}, 0–100 (a tie is half a win; 50 = no preference)"
    to.print(Text(plain(head), style="bold"))
    table = make_table("", "win rate", "n")
    chosen = agreed["preference"]
    table.add_row("all", with_interval(chosen["win_rate"], "z.1f"), size(chosen["win_rate"], "item"))
    for axis, head in (("rater", "rater"), ("type", "question type")):
        _add_rows(table, head, chosen.get(f"by_{axis}", {}), "item")
    to.print(indented(table))


def print_personal_preference(personal: Mapping[str, Any], to: Console) -> None:
    to.print(Text("win rate of the personalized answer, 0–100 (a tie is half a win; 50 = no preference)", style="bold"))
    table = make_table("", "win rate", "n")
    table.add_row("all", with_interval(personal["win_rate"], "z.1f"), size(personal["win_rate"]))
    for axis, head in (("rater", "rater"), ("type", "question type"), ("personalization", "rated personalization")):
        _add_rows(table, head, personal.get(f"by_{axis}", {}))
    to.print(indented(table))
    chosen = ", ".join(f"{label} {with_interval(personal[label], 'z.1f')}" for label in PREFERRED)
    to.print(f"choices, %: {chosen}", markup=False)
    if "slope" in personal:
        slope = personal["slope"]
        to.print(
            f"win rate per degree of rated personalization: {with_interval(slope, '+z.1f')} points, n {slope['n']:,}",
            markup=False,
        )
    to.print()


def _add_rows(table: Table, head: str, rates: Mapping[str, Mapping[str, Any]], what: str = "") -> None:
    """One row per group; of many raters, one row with their range."""
    if head == "rater" and len(rates) > FEW:
        values = [rate["value"] for rate in rates.values()]
        table.add_row(f"{counted(len(values), 'rater')}: {range_in_words(values, '.1f')}", "", "")
        return
    for name, rate in rates.items():
        table.add_row(name_cell(f"{head} {name}"), with_interval(rate, "z.1f"), size(rate, what))
