"""bowstring agree runs/A runs/B people.jsonl: how far raters agree, people, judges and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bowstring.metrics.reliability import Level

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class MeasuredOn(StrEnum):
    auto = "auto"
    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"


_LEVELS: Mapping[MeasuredOn, Level | None] = {
    MeasuredOn.auto: None,
    MeasuredOn.nominal: "nominal",
    MeasuredOn.ordinal: "ordinal",
    MeasuredOn.interval: "interval",
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
        str | None, typer.Option(help="A rater to hold the others against: accuracy, macro F1, confusions.")
    ] = None,
    rater: Annotated[
        list[str] | None, typer.Option(help="Only this rater; may be repeated. By default all.", show_default=False)
    ] = None,
    level: Annotated[
        MeasuredOn, typer.Option(help="What labels have between them; auto takes all that fit.")
    ] = MeasuredOn.auto,
    labels: Annotated[
        str | None, typer.Option(help="The labels from least to most, with commas: bad,fair,good.")
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option(help="A label to count as another, such as tie=lose; may be repeated.", show_default=False),
    ] = None,
    metrics: Annotated[
        bool,
        typer.Option(
            "--metrics", help="BLEU, ROUGE-L and length as raters: is the answer nearer to the personalized gold one?"
        ),
    ] = False,
    items: Annotated[int, typer.Option(min=0, help="So many items on which raters are furthest apart.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, for scripts.")] = False,
) -> None:
    """How far raters agree: people, judges, proxies and metrics, all together, by pairs, and with a reference."""
    from bowstring.cli.agree_views import print_agreement
    from bowstring.cli.output import console, print_json
    from bowstring.errors import UsageError
    from bowstring.studies.agree import agree as compare

    merged = dict(pair.partition("=")[::2] for pair in merge or ())
    if not all(label and as_ for label, as_ in merged.items()):
        raise UsageError("--merge: expected LABEL=ANOTHER, such as tie=lose")
    found = compare(
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
        print_json(found)
    else:
        print_agreement(found, console())
