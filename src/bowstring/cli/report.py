"""bowstring report runs/NAME: rewrite the page of a run, and export figures and tables for a paper."""

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
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run or a sweep.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Folder to write to; by default the folder of the run.")] = None,
    figures: Annotated[
        list[FigureFormat] | None,
        typer.Option(help="Format of figures; repeatable. By default all, if matplotlib is installed."),
    ] = None,
    tables: Annotated[
        list[TableFormat] | None, typer.Option(help="Format of tables; repeatable. By default all.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Current location of the run's data set, if it was moved.")] = None,
) -> int:
    """Rewrite the page of a run or a sweep, and write figures (svg, pdf, png) and tables (Markdown, CSV, LaTeX).

    report.html is one self-contained file. Figures and tables go to figures/ and tables/ in the same folder; figures
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
    """The requested formats; None for the default."""
    return None if given is None else [one.value for one in given if one.value != "none"]
