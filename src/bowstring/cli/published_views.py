"""The terminal output of published results beside those of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bowstring.cli.output import plain
from bowstring.reports.published import published_sections


def print_published(metrics: Mapping[str, Any], to: Console) -> None:
    for section in published_sections(metrics):
        if section.title:
            to.print()
            to.print(plain(section.title), markup=False)
        if section.rows:
            table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
            for n, head in enumerate(_short(section.columns)):
                table.add_column(head, justify="right" if n else "left", no_wrap=n > 0)
            for row in section.rows:
                table.add_row(*map(plain, row))
            to.print(table)
        for line in section.lines:
            to.print(plain(line), style="dim", markup=False)


def _short(columns: Sequence[str]) -> list[str]:
    """The heads of the columns without the family that all of them share."""
    first, *names = columns
    families = {name.partition(".")[0] for name in names}
    return [first, *(name.partition(".")[2] or name if len(families) == 1 else name for name in names)]
