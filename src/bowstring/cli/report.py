"""bowstring report runs/NAME: rewrite the page of a run, and export figures and tables for a paper."""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path
from typing import Any

import typer

from bowstring.cli.options import add_command
from bowstring.settings import Option, options_of
from bowstring.studies.report import report

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_RUN = Option("run", "RUN", Path, MISSING, metavar="RUN", help="Folder of a run or a sweep.")
_HELP = """Rewrite the page of a run or a sweep, and write figures (svg, pdf, png) and tables (Markdown, CSV, LaTeX).

report.html is one self-contained file. Figures and tables go to figures/ and tables/ in the same folder; figures
need matplotlib (pip install 'bowstring[plots]').
"""


def _report(given: dict[str, Any]) -> int:
    from bowstring.cli.output import counted, tell

    run = given.pop("run")
    folder = Path(given.get("out", run))
    written = report(run, tell=tell, **given)
    names = {path.parent.name for path in written[1:]}
    for name in sorted(names):
        files = [path for path in written if path.parent.name == name]
        suffixes = ", ".join(sorted({path.suffix[1:] for path in files}))
        print(f"{folder / name}/   {counted(len({path.stem for path in files}), name.removesuffix('s'))} ({suffixes})")
    print(written[0])
    return 0


add_command(app, "report", _report, options_of(report), help=_HELP, arguments=[_RUN])
