"""bowstring agree runs/A runs/B people.jsonl: agreement between raters (people, judges, metrics)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bowstring.metrics.reliability import Level

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class LevelName(StrEnum):
    auto = "auto"
    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"


_LEVELS: Mapping[LevelName, Level | None] = {
    LevelName.auto: None,
    LevelName.nominal: "nominal",
    LevelName.ordinal: "ordinal",
    LevelName.interval: "interval",
}


@app.command()
def agree(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Folders of runs or sweeps (NAME=FOLDER names the judge), annotation exports, and CSV or JSONL files "
            "with the columns item, rater and label.",
            show_default=False,
        ),
    ],
    reference: Annotated[
        str | None, typer.Option(help="Rater to compare the others with: accuracy, macro F1, confusion matrix.")
    ] = None,
    rater: Annotated[
        list[str] | None, typer.Option(help="Use only this rater; repeatable.", show_default="all")
    ] = None,
    level: Annotated[
        LevelName, typer.Option(help="Level of measurement of the labels; auto uses all that fit.")
    ] = LevelName.auto,
    labels: Annotated[
        str | None, typer.Option(help="Labels in ascending order, separated by commas: bad,fair,good.")
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option(help="Count one label as another, such as tie=lose; repeatable.", show_default=False),
    ] = None,
    metrics: Annotated[
        bool,
        typer.Option(
            "--metrics",
            help="Add BLEU, ROUGE-L and length as raters: is the answer closer to the personalized gold answer?",
        ),
    ] = False,
    items: Annotated[int, typer.Option(min=0, help="Number of most disputed items to show.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Measure agreement between raters (people, judges, proxies, metrics): overall, by pair, and with a reference."""
    from bowstring.cli.agree_views import print_agreement
    from bowstring.cli.output import console, print_json
    from bowstring.errors import UsageError
    from bowstring.studies.agree import agree as compute_agreement

    merged = dict(pair.partition("=")[::2] for pair in merge or ())
    if not all(label and as_ for label, as_ in merged.items()):
        raise UsageError("--merge: expected LABEL=OTHER, such as tie=lose")
    agreement = compute_agreement(
        sources,
        reference=reference,
        level=_LEVELS[level],
        labels=[label.strip() for label in labels.split(",")] if labels else (),
        merge=merged,
        raters=rater or (),
        metrics=metrics,
        items=items,
    )
    if json:
        print_json(agreement)
    else:
        print_agreement(agreement, console())
