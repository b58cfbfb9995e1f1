"""bowstring data info mini: inspect, validate, audit, download and convert data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bowstring.benchmarks import registry
from bowstring.cli.options import add_command
from bowstring.errors import UsageError
from bowstring.settings import Limits, Option

if TYPE_CHECKING:
    from bowstring.datasets.dataset import DataSet
    from bowstring.datasets.reading import Reading

_MINI = ", ".join(f"mini/{b.name}" for b in registry.all_benchmarks() if b.has_bundled_set)
app = typer.Typer(
    help="Inspect, validate, audit, download and convert data sets.\n\n"
    f"SRC is a hub id (OWNER/NAME), a folder or file in the published layout, or mini ({_MINI}), the bundled sets.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
)


Src = Annotated[str, typer.Argument(metavar="SRC", help="The data set.", show_default=False)]
Only = Annotated[
    str | None,
    typer.Option("--benchmark", metavar="NAME", help="Benchmark of the set, if SRC is ambiguous.", show_default=False),
]
Revision = Annotated[
    str | None,
    typer.Option(help="Branch, tag or commit of a hub data set.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Tokenizer = Annotated[
    str,
    typer.Option(help="Tokenizer for token counts: embedded, a tokenizer.json, a model folder, a hub id, or none."),
]


def _known_benchmark(benchmark: str | None) -> str | None:
    """The name of a benchmark; a UsageError if there is none of that name."""
    return registry.get(benchmark).name if benchmark is not None else None


def _load_all(src: str, only: str | None, revision: str | None) -> list[DataSet]:
    from bowstring.benchmarks.loading import read
    from bowstring.datasets.problems import raise_if_any

    readings = read(src, _known_benchmark(only), revision=revision)
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
    """Show counts, lengths and balance of a data set."""
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
        bool, typer.Option("--pii", help="Also search for e-mail and street addresses, phone, card and id numbers.")
    ] = False,
    json: Json = False,
) -> int:
    """List every problem of a data set: file, row, column, and what was expected. Exit code 2 if there is any."""
    from bowstring.benchmarks.loading import read
    from bowstring.cli.output import counted, plain, print_json
    from bowstring.datasets.personal import search_data_set

    readings = read(src, _known_benchmark(benchmark), revision=revision)
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
        at = f"{plain(src)}{_where_inside(readings)}"
        print(f"{at}: {', '.join(counts) if problems or warnings or findings else 'no problems'}")
    return 2 if problems or findings else 0


def _where_inside(readings: Sequence[Reading[DataSet]]) -> str:
    """The folder inside a set that all its files are read from, if they are many: others are ignored."""
    from bowstring.datasets.sources import paths_of

    paths = [path for reading in readings if reading.data for path in paths_of(reading.data.parts)]
    folders = {path.rpartition("/")[0] for path in paths if path.endswith(".json")}
    inside = next(iter(folders), "")
    return f" ({inside}/ is read, {len(paths):,} files)" if inside and len(folders) == 1 else ""


@app.command()
def audit(
    src: Src,
    benchmark: Only = None,
    revision: Revision = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; by default audit.json in the folder of the set.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Find leaks of a data set, without any model: what can be guessed without the history, duplicates, overlap of
    splits, shortcuts, balance. Runs on the set then name its leaks."""
    from bowstring.cli.data_audit_views import print_data_audit
    from bowstring.cli.output import console, print_json, tell
    from bowstring.datasets.sources import folder_of
    from bowstring.runs.folder import AUDIT_NAME
    from bowstring.studies.data_audit import audit_data, write_audit

    found = _load_all(src, benchmark, revision)
    if out is not None and len(found) > 1:
        raise UsageError(f"--out: {src} is {len(found)} data sets; give one of them")
    audits = []
    for data in found:
        audits.append(audit_data(data, tell))
        folder = folder_of(data.name, data.parts)
        path = out or (folder and folder / AUDIT_NAME)
        if path:
            write_audit(audits[-1], path)
        if not json:
            print_data_audit(audits[-1], data.name, console())
            print(f"\n{path}" if path else "\nnot written: the set has no folder of its own (give --out FILE)")
    if json:
        print_json(audits[0] if len(audits) == 1 else audits)


@app.command()
def show(
    src: Src,
    id_: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="; ".join(f"{b.title}: {b.id_help}" for b in registry.all_benchmarks()) + ".",
            show_default=False,
        ),
    ],
    revision: Revision = None,
    json: Json = False,
) -> None:
    """Print one user or one item."""
    from bowstring.benchmarks.loading import look_up
    from bowstring.cli.data_views import print_shown
    from bowstring.cli.output import console, print_json

    found = look_up(_load_all(src, None, revision), id_)
    if json:
        print_json(found.json)
    else:
        print_shown(found, console())


_EXPORTED = (
    Option("src", "SRC", str, MISSING, metavar="SRC", help="The data set."),
    Option("folder", "FOLDER", Path, MISSING, metavar="FOLDER", help="Folder to write to; created if necessary."),
)
_EXPORT = (
    Option("benchmark", "--benchmark", str, None, metavar="NAME", help="Benchmark of the set, if SRC is ambiguous."),
    Option("revision", "--revision", str, None, help="Branch, tag or commit of a hub data set."),
    Option("split", "--split", str, (), several=True, help="Use only this split; repeatable."),
    Option("users", "--users", int, None, limits=Limits(min=1), help="Use only the first N users."),
    Option(
        "format",
        "--format",
        str,
        "parquet",
        ("parquet", "json"),
        help="parquet, or json for one file per item (if the benchmark has a JSON layout).",
    ),
    Option("overwrite", "--overwrite", bool, False, help="Write even if FOLDER is not empty."),
)


def _export(given: dict[str, Any]) -> int:
    from bowstring.benchmarks.export import export as write
    from bowstring.benchmarks.loading import load

    splits, as_json = given.get("split", ()), given.get("format") == "json"
    data = load(
        given["src"],
        _known_benchmark(given.get("benchmark")),
        revision=given.get("revision"),
        splits=splits,
        configs="present",
    )
    overwrite = given.get("overwrite", False)
    paths = write(data, given["folder"], splits=splits, users=given.get("users"), as_json=as_json, overwrite=overwrite)
    for path in paths[:20]:
        print(path)
    if len(paths) > 20:
        print(f"and {len(paths) - 20:,} more files")
    return 0


_EXPORT_HELP = "Write a data set, or a part of it, in the published layout."
add_command(app, "export", _export, _EXPORT, help=_EXPORT_HELP, arguments=_EXPORTED)


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
    """Export what the judges of finished runs wrote, as training data for `bowstring train`."""
    from bowstring.cli.output import counted, plain
    from bowstring.studies.judgements import export_judgements as write

    done = write(runs, out)
    what = f"{done.rows:,} {done.row.one if done.rows == 1 else done.row.many}"
    left_out = ", ".join(f"{n:,} {reason}" for reason, n in done.left_out.items()) or "nothing"
    teachers = ", ".join(done.teachers)
    print(plain(f"{what} by {teachers} from {counted(done.runs, 'run')}; left out: {left_out}; {done.path}"))
    for name in done.rules:
        print(f"note: {name} is not a model; an evaluator trained on this learns its rules, not judging")


@app.command()
def pull(
    hub_id: Annotated[str, typer.Argument(metavar="HUB-ID", help="Hub id: OWNER/NAME.", show_default=False)],
    revision: Revision = None,
    to: Annotated[
        Path | None, typer.Option(help="Folder to download to, instead of the cache of the hub.", show_default=False)
    ] = None,
    evaluation: Annotated[
        bool, typer.Option("--evaluation", help="Also download judge transcripts, if the set has them (large).")
    ] = False,
) -> None:
    """Download a data set from the hub for offline use."""
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
        Path | None, typer.Option(help="File to write (README.md on the hub); by default standard output.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the set.")] = None,
    license_: Annotated[
        str | None, typer.Option("--license", help="License identifier, such as cc-by-4.0; known for published sets.")
    ] = None,
    made: Annotated[
        str | None, typer.Option(help="How the set was made, in a sentence or two; known for published sets.")
    ] = None,
    tokenizer: Tokenizer = "embedded",
) -> None:
    """Write a dataset card for the hub: YAML header, counts, origin, known risks."""
    from bowstring.benchmarks.cards import card_of, known_origin
    from bowstring.benchmarks.loading import load
    from bowstring.cli.output import tell
    from bowstring.datasets.personal import search_data_set
    from bowstring.files.writing import save_file
    from bowstring.models.tokens import counter_or_none

    data = load(src, _known_benchmark(benchmark), revision=revision)
    origin = known_origin(data.name, license=license_, made=made)
    text = card_of(
        data, origin, list(search_data_set(data)), counter_or_none(tokenizer, tell), title=title or Path(src).name
    )
    if out is None:
        print(text, end="")
        return
    save_file(out, text)
    print(out)
