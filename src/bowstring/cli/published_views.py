"""The terminal output of published results beside those of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bowstring.cli.output import plain
from bowstring.reports.published import DIFFERING, published_sections


def print_published(runs: Iterable[Mapping[str, Any]], to: Console) -> None:
    """Print what was published beside these runs, from their metrics; what holds for several is said once."""
    printed: set[str] = set()
    for section in (section for metrics in runs for section in published_sections(metrics)):
        if section.title and section.title not in printed:
            to.print(f"\n{plain(section.title)}", markup=False)
        if section.rows:
            table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
            for n, head in enumerate(_short(section.columns)):
                table.add_column(head, justify="right" if n else "left", no_wrap=n > 0)
            for row in section.rows:
                table.add_row(*map(plain, row))
            to.print(table)
        differing = [f"- {line}" for line in section.differing if f"- {line}" not in printed]
        if section.rows and differing:
            to.print(DIFFERING, style="dim", markup=False)
        for line in (*differing, *(line for line in section.lines if line not in printed)):
            to.print(plain(line), style="dim", markup=False)
        printed |= {section.title, *differing, *section.lines}


def _short(columns: Sequence[str]) -> list[str]:
    """The heads of the columns without the family that all of them share."""
    first, *names = columns
    families = {name.partition(".")[0] for name in names}
    return [first, *(name.partition(".")[2] or name if len(families) == 1 else name for name in names)]
