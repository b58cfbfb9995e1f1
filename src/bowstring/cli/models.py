"""bowstring models: list the kinds of model that can be used here, and what the others need."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def models(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the models that can be used here, and what the others need: a key, a server, an extra."""
    from dataclasses import asdict

    from bowstring.cli.output import print_json
    from bowstring.models.available import availability

    rows = availability()
    if json:
        print_json([asdict(row) for row in rows])
        return
    width = max(len(row.name) for row in rows)
    for row in rows:
        print(f"{'✓' if row.usable else '–'} {row.name:{width}}  {row.note}")
