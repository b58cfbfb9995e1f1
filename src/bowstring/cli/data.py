"""bowstring data info mini: look at data sets, check them, fetch and convert them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bowstring.datasets.dataset import DataSet

app = typer.Typer(
    help="Look at data sets, check them, fetch and convert them.\n\n"
    "SRC is a hub id (12kimih/HiCUPID, kixlab/CUPID), a folder or file in the published layout, or mini "
    "(mini/hicupid, mini/cupid), the bundled sets.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
)


class Format(StrEnum):
    parquet = "parquet"
    json = "json"


Src = Annotated[str, typer.Argument(metavar="SRC", help="The data set.", show_default=False)]
Only = Annotated[
    str | None,
    typer.Option(
        "--benchmark", metavar="NAME", help="Which benchmark's set, where SRC does not tell.", show_default=False
    ),
]
Revision = Annotated[
    str | None,
    typer.Option(help="The branch, tag or commit of a hub data set; a commit pins it.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Tokenizer = Annotated[
    str,
    typer.Option(help="Whose tokens to count: embedded, a tokenizer.json, a model folder, a hub id, or none."),
]


def _checked(benchmark: str | None) -> str | None:
    """A benchmark's name, if there is one of that name."""
    from bowstring.benchmarks import registry

    return registry.get(benchmark).name if benchmark is not None else None


def _load_all(src: str, only: str | None, revision: str | None) -> list[DataSet]:
    from bowstring.benchmarks.loading import read
    from bowstring.datasets.problems import raise_if_any

    readings = read(src, _checked(only), revision=revision)
    for reading in readings:
        raise_if_any(reading.problems, src)
    return [reading.data for reading in readings if reading.data is not None]


@app.command()
def info(
    src: Src,
    benchmark: Only = None,
    revision: Revision = None,
    tokenizer: Tokenizer = "embedded",
    json: Json = False,
) -> None:
    """Counts, lengths and balance of a data set."""
    from bowstring.cli.data_views import print_description
    from bowstring.cli.output import console, print_json, tell
    from bowstring.models.tokens import counter_or_none

    found = _load_all(src, benchmark, revision)
    counter = counter_or_none(tokenizer, tell)
    if counter and any(len(data.history_keys()) > 100 for data in found):
        tell("Counting tokens …")
    described = [data.describe(counter) for data in found]
    if json:
        print_json(described[0].about if len(described) == 1 else [one.about for one in described])
        return
    for one in described:
        print_description(one, console())


@app.command()
def validate(
    src: Src,
    benchmark: Only = None,
    revision: Revision = None,
    pii: Annotated[
        bool, typer.Option("--pii", help="Also look for e-mail and street addresses, phone, card and id numbers.")
    ] = False,
    json: Json = False,
) -> int:
    """Every problem of a data set: file, row, column, and what was expected. Exit code 2 if there is any."""
    from bowstring.benchmarks.loading import read
    from bowstring.cli.output import counted, plain, print_json
    from bowstring.datasets.personal import search_data_set

    readings = read(src, _checked(benchmark), revision=revision)
    problems = [p for reading in readings for p in reading.problems]
    warnings = [w for reading in readings for w in reading.warnings]
    findings = [f for reading in readings if pii and reading.data is not None for f in search_data_set(reading.data)]
    if json:
        print_json(
            {
                "problems": [p.as_json() for p in problems],
                "warnings": [w.as_json() for w in warnings],
                "personal_information": [f.as_json() for f in findings] if pii else None,
            }
        )
    else:
        for line in (*problems, *(f"warning: {w}" for w in warnings), *findings):
            print(plain(str(line)))
        counts = [counted(len(problems), "problem")] if problems or not (warnings or findings) else []
        counts += [counted(len(warnings), "warning")] if warnings else []
        if pii and problems:
            counts.append("not searched for personal information")
        elif findings:
            counts.append(counted(len(findings), "finding") + " of personal information")
        print(f"{plain(src)}: {', '.join(counts) if problems or warnings or findings else 'all is well'}")
    return 2 if problems or findings else 0


@app.command()
def show(
    src: Src,
    id_: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="HiCUPID: a user (3) or a question (3/120). CUPID: a persona and type (0+crofter+changing).",
            show_default=False,
        ),
    ],
    revision: Revision = None,
    json: Json = False,
) -> None:
    """One user, question or instance, to read."""
    from bowstring.benchmarks.loading import look_up
    from bowstring.cli.data_views import print_shown
    from bowstring.cli.output import console, print_json

    found = look_up(_load_all(src, None, revision), id_)
    if json:
        print_json(found.json)
    else:
        print_shown(found, console())


@app.command()
def export(
    src: Src,
    folder: Annotated[Path, typer.Argument(help="Where to write; made if need be.", show_default=False)],
    benchmark: Only = None,
    revision: Revision = None,
    split: Annotated[list[str] | None, typer.Option(help="Only this split; may be repeated.")] = None,
    users: Annotated[int | None, typer.Option(min=1, help="Only the first so many users or personas.")] = None,
    format_: Annotated[
        Format, typer.Option("--format", help="CUPID only: one parquet file, or one JSON file an instance.")
    ] = Format.parquet,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write even if FOLDER has files.")] = False,
) -> None:
    """Write a data set, or a part of it, in the published layout."""
    from bowstring.benchmarks.export import export as write
    from bowstring.benchmarks.loading import load

    data = load(src, _checked(benchmark), revision=revision, splits=split or (), configs="present")
    paths = write(data, folder, splits=split or (), users=users, as_json=format_ is Format.json, overwrite=overwrite)
    for path in paths[:20]:
        print(path)
    if len(paths) > 20:
        print(f"and {len(paths) - 20:,} more files")


@app.command("export-judgements")
def export_judgements(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of runs or sweeps of one benchmark.", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option(help="A .parquet file, or a folder for evaluation/ or coverage/.", show_default=False)
    ],
) -> None:
    """What the judges of finished runs wrote, as training data: HiCUPID's transcripts, CUPID's coverage labels."""
    from bowstring.cli.output import counted, plain
    from bowstring.studies.judgements import export_judgements as write

    done = write(runs, out)
    what = f"{done.rows:,} {done.row.one if done.rows == 1 else done.row.many}"
    left_out = ", ".join(f"{n:,} {reason}" for reason, n in done.left_out.items()) or "nothing"
    teachers = ", ".join(done.teachers)
    print(plain(f"{what} by {teachers} from {counted(done.runs, 'run')}; left out: {left_out}; {done.path}"))
    for name in done.rules:
        print(f"note: {name} is no model: what is trained on this learns its rules, not to judge")


@app.command()
def pull(
    hub_id: Annotated[str, typer.Argument(metavar="HUB-ID", help="Such as 12kimih/HiCUPID.", show_default=False)],
    revision: Revision = None,
    to: Annotated[
        Path | None, typer.Option(help="A folder to fetch into, instead of the hub's cache.", show_default=False)
    ] = None,
    evaluation: Annotated[
        bool, typer.Option("--evaluation", help="HiCUPID: the judge transcripts too (large).")
    ] = False,
) -> None:
    """Fetch a data set from the hub, so that it can be used offline."""
    from bowstring.benchmarks import registry
    from bowstring.cli.output import tell
    from bowstring.datasets.sources import pull as fetch

    formats = [b.format for b in registry.by_layout()]
    source = fetch(hub_id, formats, revision=revision, every_config=evaluation, into=to, tell=tell)
    print(f"{source.name} at commit {source.revision}: {', '.join(source.splits)}")
    use = str(to) if to else f"{source.name} --revision {source.revision}" if revision else source.name
    print(f"next: bowstring data info {use}")


@app.command()
def card(
    src: Src,
    benchmark: Only = None,
    revision: Revision = None,
    out: Annotated[
        Path | None, typer.Option(help="The file to write (README.md on the hub); else it is printed.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The set's name as people should read it.")] = None,
    license_: Annotated[
        str | None, typer.Option("--license", help="An identifier such as cc-by-4.0; known for published sets.")
    ] = None,
    made: Annotated[
        str | None, typer.Option(help="How it was made, in a sentence or two; known for published sets.")
    ] = None,
    tokenizer: Tokenizer = "embedded",
) -> None:
    """A dataset card for the hub: YAML header, counts, how it was made, known risks."""
    from bowstring.benchmarks.cards import card_of, known_origin
    from bowstring.benchmarks.loading import load
    from bowstring.cli.output import tell
    from bowstring.datasets.personal import search_data_set
    from bowstring.files.writing import make_parent
    from bowstring.models.tokens import counter_or_none

    data = load(src, _checked(benchmark), revision=revision)
    origin = known_origin(data.name, license=license_, made=made)
    text = card_of(
        data, origin, list(search_data_set(data)), counter_or_none(tokenizer, tell), title=title or Path(src).name
    )
    if out is None:
        print(text, end="")
        return
    make_parent(out)
    out.write_text(text, encoding="utf-8")
    print(out)
