"""bowstring prompts import cupid|hicupid PATH: use upstream's own words."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Bring prompts of your own: --prompts FOLDER of bowstring eval takes them in place of the built-in ones.",
    add_completion=False,
    rich_markup_mode=None,
)


class Upstream(StrEnum):
    cupid = "cupid"
    hicupid = "hicupid"


@app.callback()
def _group() -> None:
    """Keep `import` a part of the command."""


@app.command("import")
def import_(
    benchmark: Annotated[Upstream, typer.Argument(help="Whose prompts.", show_default=False)],
    path: Annotated[
        Path,
        typer.Argument(help="A checkout of upstream's repository (or HiCUPID's constants.py).", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write into.")] = Path("prompts"),
) -> None:
    """Read upstream's prompt files, as data, into a folder for --prompts."""
    from bowstring.prompts.importing import import_cupid, import_hicupid

    done = import_cupid(path, out) if benchmark is Upstream.cupid else import_hicupid(path, out)
    for file in done.written:
        print(file)
    if done.missing:
        print(f"not there, so the built-in ones serve: {', '.join(done.missing)}")
    print(f"next: bowstring eval {benchmark.value} --prompts {out} --model … --judge …")
    if benchmark is Upstream.cupid:
        print(f"      bowstring synth cupid --prompts {out} --model …")
