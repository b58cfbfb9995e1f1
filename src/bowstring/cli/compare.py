"""bowstring compare runs/A runs/B: compare runs on the same data, with paired differences."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_ON_PAGE = 20  # items on the page unless --items is given


class Format(StrEnum):
    markdown = "markdown"
    csv = "csv"
    latex = "latex"


@app.command()
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of runs or sweeps on the same data.", show_default=False),
    ],
    baseline: Annotated[
        Path | None,
        typer.Option(help="Run to compare the others with.", show_default="the first"),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric that ranks the runs and selects the items.", show_default="the benchmark's main metric"
        ),
    ] = None,
    detect: Annotated[
        float | None,
        typer.Option(
            help="A difference, in points of the metric: print how large a data set would be needed to detect it.",
            show_default=False,
        ),
    ] = None,
    items: Annotated[
        int | None,
        typer.Option(min=0, help="Show the N items on which the runs differ most.", show_default="0; 20 on the page"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write an HTML page to this file, such as compare.html.", show_default=False)
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Print a table for a paper instead.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Compare runs on the same data, with paired differences.

    Each difference is run − baseline (the first run, or --baseline) on the items that both were scored on. Its 95%
    interval and p-value come from a paired bootstrap over clusters, such as users or personas.
    """
    from bowstring.cli.compare_views import print_comparison
    from bowstring.cli.output import console, print_json
    from bowstring.errors import UsageError
    from bowstring.studies.compare import compare as compare_runs
    from bowstring.studies.compare_page import save_page
    from bowstring.studies.compare_tables import write_table

    if json and format_:
        raise UsageError("--json and --format exclude each other; give one of them")
    shown = items if items is not None else _ON_PAGE if out else 0
    compared = compare_runs(runs, baseline=baseline, metric=metric, detect=detect, items=shown)
    if out:
        save_page(compared, out)
    if json:
        print_json(compared.as_json())
    elif format_:
        print(write_table(compared, format_.value), end="")
    else:
        print_comparison(compared, items or 0, console())
        if out:
            print(f"\n{out}")
    return 0
