"""bowstring certify NAME CHECKOUT --python PATH: compare Bowstring with the authors' code, request by request."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def certify(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark to compare.", show_default=False)],
    checkout: Annotated[
        Path, typer.Argument(metavar="CHECKOUT", help="Checkout of the authors' repository.", show_default=False)
    ],
    python: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Python of an environment with the requirements of the authors' code."),
    ] = None,
    data: Annotated[str, typer.Option(metavar="SET", help="Data set on which both programs run.")] = "mini",
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what the authors' code asked and counted, as hashes.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with such a file instead of running their code.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Run the authors' code and --protocol published against one scripted server, and compare requests and scores.

    The authors' code runs in a process of its own, with the Python that you name, and asks only a server on this
    machine. The exit code is 1 if anything differs.
    """
    from bowstring.api.certify import certify as run
    from bowstring.cli.certify_views import print_certificate
    from bowstring.cli.output import console, print_json, tell

    found = run(name, checkout, python=python, replay=replay, data=data, record=record, tell=tell)
    if json:
        print_json(found.as_json())
    else:
        print_certificate(found, console())
    return 0 if found.equal else 1
