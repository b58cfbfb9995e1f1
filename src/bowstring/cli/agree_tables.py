"""Tables and numbers of the terminal output of `bowstring agree`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bowstring.cli.output import counted, plain

FEW = 8  # raters; the tables of more are summarized


def make_table(*columns: str, wrapped: int = 1) -> Table:
    """A table whose first columns may wrap; the others are numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for n, column in enumerate(columns):
        text = n < wrapped
        table.add_column(
            Text(plain(column)),
            justify="left" if text else "right",
            no_wrap=not text,
            overflow="fold",
        )
    return table


def indented(table: Table) -> Padding:
    return Padding(table, (0, 0, 1, 2), expand=False)


def name_cell(name: str) -> Text:
    return Text(plain(name))


def with_interval(estimate: Mapping[str, Any] | None, form: str = "z.2f") -> str:
    """A value with its interval, if it has one; with a question mark if that is not to be trusted."""
    if estimate is None:
        return "–"
    if "low" not in estimate:
        return f"{estimate['value']:{form}}"
    value, low, high = (f"{estimate[k]:{form}}" for k in ("value", "low", "high"))
    return f"{value} [{low}, {high}]{'' if estimate['trusted'] else '?'}"


def size(estimate: Mapping[str, Any] | None, what: str = "") -> str:
    return "" if estimate is None else counted(estimate["n"], what) if what else f"{estimate['n']:,}"


def range_in_words(values: Sequence[float], form: str = ".2f") -> str:
    low, middle, high = (f"{x:{form}}" for x in (min(values), median(values), max(values)))
    return f"lowest {low}, median {middle}, highest {high}"
