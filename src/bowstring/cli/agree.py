"""bowstring agree runs/A runs/B people.jsonl: agreement between raters (people, judges, metrics)."""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any

import typer

from bowstring.cli.options import add_command, changed
from bowstring.errors import UsageError
from bowstring.settings import Option, options_of
from bowstring.studies.agree import agree
from bowstring.studies.ratings import text_metrics

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_SOURCES = Option(
    "sources",
    "SOURCE",
    str,
    MISSING,
    several=True,
    metavar="SOURCE",
    help="Folders of runs or sweeps (NAME=FOLDER names the judge), annotation exports, and CSV or JSONL files with the "
    "columns item, rater and label.",
)
_JSON = Option("json", "--json", bool, False, help="Print everything as JSON.")


def _options() -> tuple[Option, ...]:
    given = changed(options_of(agree), "merge", kind=str, several=True, metavar="LABEL=OTHER")
    metrics = "; ".join(f"{title}: {', '.join(names)}" for title, names in text_metrics().items())
    about = f"Add text metrics as raters, for runs of a benchmark that has them ({metrics})."
    given = changed(given, "metrics", help=about)
    by_comma = "Labels in ascending order, separated by commas: bad,fair,good."
    return (*changed(given, "labels", several=False, help=by_comma), _JSON)


def _agree(given: dict[str, Any]) -> int:
    from bowstring.cli.agree_views import print_agreement
    from bowstring.cli.output import console, print_json

    sources, json = given.pop("sources"), given.pop("json", False)
    if "merge" in given:
        given["merge"] = dict(pair.partition("=")[::2] for pair in given["merge"])
        if not all(label and other for label, other in given["merge"].items()):
            raise UsageError("--merge: expected LABEL=OTHER, such as tie=lose")
    if "labels" in given:
        given["labels"] = [label.strip() for label in given["labels"].split(",")]
    agreement = agree(sources, **given)
    print_json(agreement) if json else print_agreement(agreement, console())
    return 0


_HELP = "Measure agreement between raters (people, judges, proxies, metrics): overall, by pair, and with a reference."
add_command(app, "agree", _agree, _options(), help=_HELP, arguments=[_SOURCES])
