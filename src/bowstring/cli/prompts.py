"""bowstring prompts import NAME PATH: use the prompts of a benchmark's authors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Bring prompts of your own: --prompts FOLDER of bowstring eval takes them in place of the built-in ones.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Keep `import` a part of the command."""


@app.command("import")
def import_(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Whose prompts.", show_default=False)],
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A checkout of upstream's repository, or the file that has its prompts.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="PATH", help="The folder to write into.")] = Path("prompts"),
) -> None:
    """Read upstream's prompt files, as data, into a folder for --prompts."""
    from bowstring.benchmarks import registry
    from bowstring.benchmarks.interface import needed

    benchmark = registry.get(name)
    done = needed(benchmark, benchmark.import_prompts(path, out), "prompts to import")
    for file in done.written:
        print(file)
    if done.missing:
        print(f"not there, so the built-in ones serve: {', '.join(done.missing)}")
    more = {"eval": "--model … --judge …", "synth": "--model …"}
    for n, command in enumerate(done.commands):
        print(f"{'next:' if n == 0 else '     '} bowstring {command} {name} --prompts {out} {more[command]}")
