"""The terminal output of `bowstring annotate status`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bowstring.cli.output import counted, plain

if TYPE_CHECKING:
    from rich.console import Console

    from bowstring.web.annotating.results import Standing
    from bowstring.web.annotating.study import Study


def print_standings(study: Study, people: Sequence[Standing], console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    done, total = sum(s.done for s in people), sum(s.total for s in people)
    console.print(Text(f"{study.task.name}: {counted(study.items, 'item')}, {done:,} of {total:,} pages done"))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("annotator", "done", "gold checks", "seconds", "chose", "last"):
        table.add_column(name, justify="left" if name in ("annotator", "chose", "last") else "right")
    for s in people:
        chose = ", ".join(f"{choice} {n:,}" for choice, n in s.chose.items() if n)
        table.add_row(
            Text(plain(s.annotator)),
            f"{s.done:,} of {s.total:,}",
            f"{s.right:,} of {s.checked:,} right" if s.checked else f"0 of {s.checks:,} done" if s.checks else "–",
            "–" if s.seconds is None else f"{s.seconds:.1f}",
            Text(chose or "–"),
            s.last or "–",
        )
    console.print(table)
    console.print(
        Text("seconds: median per page. chose: choices as labelled on the pages, without gold checks."), style="dim"
    )
