"""The terminal output of `bowstring data`: a set, a user, an instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bowstring.cli.output import plain
from bowstring.datasets.describe import CountTable, Description
from bowstring.datasets.display import Block, Heading, ItemDisplay, Line, Remark, Rule

_MOST = 8  # groups of an axis shown before "and … more"


def print_description(found: Description, to: Console) -> None:
    about = found.about
    to.print(Text(plain(about["name"]), style="bold"), end="  ")
    to.print(found.headline)
    to.print(_counts(found.counts))
    to.print(_lengths(about))
    to.print(_balance(about) if about["balance"] else "")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim", show_edge=False)
    for n, column in enumerate(columns):
        table.add_column(column, justify="right" if n else "left", min_width=4 if n else 10)
    return table


def _counts(counts: CountTable) -> Padding:
    table = _table(*counts.columns)
    for row in counts.rows:
        table.add_row(*row)
    return Padding(table, (1, 0, 0, 2), expand=False)


def _lengths(about: Mapping[str, Any]) -> Padding:
    table = _table("lengths", "mean", "sd", "max")
    for name, spread in about["lengths"].items():
        table.add_row(name, f"{spread['mean']:,.1f}", f"{spread['sd']:,.1f}", f"{spread['max']:,.0f}")
    counted = about["tokenizer"]
    table.caption = f"tokens counted with {plain(counted)}" if counted else "tokens not counted"
    table.caption_justify = "left"
    return Padding(table, (1, 0, 0, 2), expand=False)


def _balance(about: Mapping[str, Any]) -> Padding:
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    table.add_column("balance", no_wrap=True)
    table.add_column("")
    for axis, counts in about["balance"].items():
        total = sum(counts.values())
        if not total:
            continue
        groups = [f"{plain(name)} {n:,} ({n / total:.0%})" for name, n in list(counts.items())[:_MOST]]
        if len(counts) > _MOST:
            groups.append(f"and {len(counts) - _MOST:,} more")
        table.add_row(axis.replace("_", " "), Text(", ".join(groups)))
    return Padding(table, (1, 0, 1, 2), expand=False)


def print_shown(found: ItemDisplay, to: Console) -> None:
    """Print a user, a question or an instance."""
    print_blocks(found.blocks, to)


def print_blocks(blocks: Sequence[Block], to: Console) -> None:
    for block in blocks:
        match block:
            case Rule(title):
                to.rule(plain(title), align="left")
            case Heading(title):
                to.print()
                to.print(Text(plain(title), style="bold"))
            case Remark(text):
                to.print(Text(plain(text), style="italic"))
            case Line(label, text, dim):
                to.print(labelled(label, text, style="dim" if dim else ""))


def labelled(label: str, text: str, *, style: str = "") -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=12, style="cyan", justify="right", no_wrap=True)
    grid.add_column(style=style)
    grid.add_row(label, Text(plain(text)))
    return grid
