"""bowstring compare runs/A runs/B: compare runs on the same data, with paired differences."""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path
from typing import Any

import typer

from bowstring.cli.options import add_command, changed
from bowstring.errors import UsageError
from bowstring.settings import Option, options_of
from bowstring.studies.compare import compare

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_ON_PAGE = 20  # items on the page unless --items is given
_RUNS = Option(
    "runs", "RUN", Path, MISSING, several=True, metavar="RUN", help="Folders of runs or sweeps on the same data."
)
_COMMAND_OPTIONS = (
    Option("out", "--out", Path, None, metavar="FILE", help="Write an HTML page to this file, such as compare.html."),
    Option("format", "--format", str, None, ("markdown", "csv", "latex"), help="Print a table for a paper instead."),
    Option("json", "--json", bool, False, help="Print everything as JSON."),
)
_HELP = """Compare runs on the same data, with paired differences.

Each difference is run − baseline (the first run, or --baseline) on the items that all runs were scored on. Its 95%
interval and p-value come from a paired t-test, clustered, usually by user.
"""


def _compare(given: dict[str, Any]) -> int:
    from bowstring.cli.compare_views import print_comparison
    from bowstring.cli.output import console, print_json
    from bowstring.studies.compare_page import save_page
    from bowstring.studies.compare_tables import write_table

    out, form, json = given.pop("out", None), given.pop("format", None), given.pop("json", False)
    if json and form:
        raise UsageError("--json and --format exclude each other; give one of them")
    printed = given.get("items", 0)
    if out:
        given.setdefault("items", _ON_PAGE)
    compared = compare(given.pop("runs"), **given)
    if out:
        save_page(compared, out)
    if json:
        print_json(compared.as_json())
    elif form:
        print(write_table(compared, form), end="")
    else:
        print_comparison(compared, printed, console())
        if out:
            print(f"\n{out}")
    return 0


_OPTIONS = (*changed(options_of(compare), "items", shown_default="0; 20 on the page"), *_COMMAND_OPTIONS)
add_command(app, "compare", _compare, _OPTIONS, help=_HELP, arguments=[_RUNS])
