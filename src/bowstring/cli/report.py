"""bowstring report runs/NAME: the page of a run anew, and its figures and tables for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class FigureFormat(StrEnum):
    svg = "svg"
    pdf = "pdf"
    png = "png"
    none = "none"


class TableFormat(StrEnum):
    md = "md"
    csv = "csv"
    tex = "tex"
    none = "none"


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run or a sweep.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Where to write; by default the run's own folder.")] = None,
    figures: Annotated[
        list[FigureFormat] | None,
        typer.Option(help="A format of figures; may be repeated. By default all, if matplotlib is installed."),
    ] = None,
    tables: Annotated[
        list[TableFormat] | None, typer.Option(help="A format of tables; may be repeated. By default all.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Where the run's data set lies now, if it was moved.")] = None,
) -> int:
    """Write the page of a run or a sweep anew, its figures (svg, pdf, png) and its tables (Markdown, CSV, LaTeX).

    report.html is one file that needs nothing else. Figures and tables go to figures/ and tables/ beside it; figures
    need matplotlib (pip install 'bowstring[plots]').
    """
    from bowstring.cli.output import counted, tell
    from bowstring.studies.report import report as write

    folder = out or run
    written = write(run, out=folder, figures=_forms(figures), tables=_forms(tables), data=data, tell=tell)
    names = {path.parent.name for path in written[1:]}
    for name in sorted(names):
        files = [path for path in written if path.parent.name == name]
        suffixes = ", ".join(sorted({path.suffix[1:] for path in files}))
        print(f"{folder / name}/   {counted(len({path.stem for path in files}), name.removesuffix('s'))} ({suffixes})")
    print(written[0])
    return 0


def _forms(given: Sequence[StrEnum] | None) -> list[str] | None:
    """The formats that are asked for; None leaves it to the report."""
    return None if given is None else [one.value for one in given if one.value != "none"]
