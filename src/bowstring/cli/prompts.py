"""bowstring prompts import NAME PATH: import the prompts of a benchmark's authors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Import prompts. bowstring eval --prompts FOLDER uses them instead of the built-in ones.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Keep `import` as a subcommand."""


@app.command("import")
def import_(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark of the prompts.", show_default=False)],
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="Checkout of the authors' repository, or its file of prompts.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="PATH", help="Folder to write to.")] = Path("prompts"),
) -> None:
    """Import the authors' prompt files (as data, without running code) into a folder for --prompts."""
    from bowstring.benchmarks import registry
    from bowstring.benchmarks.interface import require_part
    from bowstring.prompts.importing import write_manifest

    benchmark = registry.get(name)
    done = require_part(benchmark, benchmark.import_prompts(path, out), "prompts to import")
    write_manifest(out, benchmark.name, done)
    for file in done.written:
        print(file)
    if done.missing:
        print(f"missing there; the built-in prompts are used for: {', '.join(done.missing)}")
    more = {"eval": "--model … --judge …", "synth": "--model …"}
    for n, command in enumerate(done.commands):
        line = f"bowstring {command} {name} --protocol published --prompts {out} {more[command]}"
        print(f"{'next:' if n == 0 else '     '} {line}")
