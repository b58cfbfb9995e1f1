"""bowstring annotate runs/NAME --annotators anna,ben: run a blind human evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from bowstring.benchmarks import registry
from bowstring.cli.options import add_command, changed
from bowstring.settings import Limits, Option, options_of
from bowstring.web.annotating.curation import open_curation
from bowstring.web.annotating.opening import open_study

if TYPE_CHECKING:
    from fastapi import FastAPI

    from bowstring.web.annotating.study import Study
    from bowstring.web.serving import Address


class _StartByDefault(TyperGroup):
    """`bowstring annotate RUN…` means `start RUN…`, and `annotate --curate DATA` means `curate DATA`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if any(word.partition("=")[0] == "--curate" for word in args):
            args = ["curate", *(word.removeprefix("--curate=") for word in args if word != "--curate")]
        elif not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = ["start", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_StartByDefault,
    help="Run a blind human evaluation, export its ratings, or curate a data set.\n\n"
    "bowstring annotate RUN… is short for bowstring annotate start RUN…, and bowstring annotate --curate DATA for "
    "bowstring annotate curate DATA.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
)


def _task_help() -> str:
    tasks = ((b.title, people.tasks) for b in registry.all_benchmarks() if (people := b.people()) is not None)
    return "; ".join(f"{title}: {', '.join(f'{t.name} ({t.meaning})' for t in some)}" for title, some in tasks) + "."


_ADDRESS = (
    Option("port", "--port", int, 8000, limits=Limits(0, 65535), help="Port to listen on; 0 picks a free one."),
    Option(
        "host",
        "--host",
        str,
        "127.0.0.1",
        metavar="ADDRESS",
        help="Address to listen on; a loopback address is reachable from this machine only.",
    ),
    Option(
        "public_url",
        "--public-url",
        str,
        None,
        metavar="URL",
        help="Start of the links, if people use another address than --host.",
    ),
)
_RUNS = Option(
    "runs",
    "RUN",
    Path,
    None,
    several=True,
    metavar="RUN",
    help="Folders of runs. Without any, the study in --db is opened.",
)
_DATA = Option("data", "DATA", str, MISSING, metavar="DATA", help="The data set to curate.")
_WRITE = (
    Option(
        "write",
        "--write",
        Path,
        None,
        metavar="FOLDER",
        help="Write the accepted items to this folder as a data set, instead of serving pages.",
    ),
    Option(
        "license",
        "--license",
        str,
        None,
        help="With --write: license of the result, if the set does not state one.",
    ),
)
DbArgument = Annotated[
    Path, typer.Argument(metavar="DB", help="File of the study, or the folder that contains annotations.sqlite.")
]


def _start_options() -> tuple[Option, ...]:
    about = f"Task of the runs' benchmark; compare also takes two runs. {_task_help()}"
    return (*changed(options_of(open_study), "task", help=about), *_ADDRESS)


def _start(given: dict[str, Any]) -> int:
    from bowstring.cli.output import plain, tell

    with _listening(given) as (pages, address):
        study = open_study(given.pop("runs", []), tell=tell, **given)
        _serve(study, pages, address, f"bowstring annotate export {plain(str(study.path))}")
    return 0


@contextmanager
def _listening(given: dict[str, Any]) -> Iterator[tuple[FastAPI, Address]]:
    """Take the address from the options and bind it before a study is created: a study that cannot be served should
    not exist."""
    from bowstring.web.serving import application, bind

    port, host, public_url = (given.pop(one.field, one.default) for one in _ADDRESS)
    app = application("annotate")
    address = bind(host, port, public_url)
    with closing(address.listening):
        yield app, address


def _serve(study: Study, app: FastAPI, address: Address, afterwards: str) -> None:
    from bowstring.cli.output import counted, plain
    from bowstring.web.annotating.pages import MOST_BYTES, add_pages
    from bowstring.web.annotating.results import standings
    from bowstring.web.serving import serve

    add_pages(app, study)
    people = standings(study)
    width = max(len(plain(s.annotator)) for s in people)
    print(
        f"{plain(str(study.path))}: {study.task.name}, {counted(study.items, 'item')}, {study.shared:,} for "
        f"all annotators"
    )
    tokens = study.links()
    for standing in people:
        state = f"{standing.done:,} of {standing.total:,} done"
        print(f"{plain(standing.annotator):{width}}   {state}   {address.link(tokens[standing.annotator])}")
    print(f"Press Ctrl-C to stop; run the same command again to resume. Next: {afterwards}", flush=True)
    try:
        serve(app, address, people=study.people, most=MOST_BYTES)
    finally:
        study.close()


def _curate(given: dict[str, Any]) -> int:
    from bowstring.cli.output import plain
    from bowstring.web.annotating.curated import write_curated

    data, write, license = given.pop("data"), given.pop("write", None), given.pop("license", None)
    if write is None:
        with _listening(given) as (pages, address):
            _serve(open_curation(data, **given), pages, address, "the same command with --write OUT")
        return 0
    for one in _ADDRESS:
        given.pop(one.field, None)
    with closing(open_curation(data, **given)) as study:
        done = write_curated(study, write, license=license)
    names = {"accept": "accepted", "edit": "edited", "reject": "rejected", "open": "undecided (left out)"}
    if done.counts["undealt"]:
        names["undealt"] = "not reviewed (left out)"
    print(", ".join(f"{done.counts[k]:,} {name}" for k, name in names.items()))
    print(f"{plain(str(done.folder))}\nnext: bowstring data validate {plain(str(done.folder))}")
    return 0


_START_HELP = "Start or resume a study: print a link for each annotator and serve the pages until Ctrl-C."
_CURATE_HELP = "Let people accept, edit or reject the items of a data set; --write writes the accepted ones."
add_command(app, "start", _start, _start_options(), help=_START_HELP, arguments=[_RUNS])
_CURATE_OPTIONS = (*options_of(open_curation), *_ADDRESS, *_WRITE)
add_command(app, "curate", _curate, _CURATE_OPTIONS, help=_CURATE_HELP, arguments=[_DATA])


@app.command()
def export(
    db: DbArgument = Path("runs"),
    out: Annotated[Path | None, typer.Option(help="File to write; by default standard output.")] = None,
) -> None:
    """Export the ratings so far as JSONL, one line per rating, for bowstring agree."""
    import json

    from bowstring.cli.output import counted, tell
    from bowstring.files.writing import save_file
    from bowstring.web.annotating.opening import find_study
    from bowstring.web.annotating.results import export as lines

    with closing(find_study(db)) as study:
        texts = [json.dumps(line) for line in lines(study)]
    if out is None:
        for text in texts:
            print(text)
    else:
        save_file(out, "".join(f"{text}\n" for text in texts))
        tell(f"{out}: {counted(len(texts), 'line')}")


@app.command()
def status(
    db: DbArgument = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the progress of each annotator and their results on the gold checks."""
    from dataclasses import asdict

    from bowstring.cli.annotate_views import print_standings
    from bowstring.cli.output import console, print_json
    from bowstring.web.annotating.opening import find_study
    from bowstring.web.annotating.results import standings

    with closing(find_study(db)) as study:
        people = standings(study)
        if json:
            print_json({"task": study.task.name, "items": study.items, "annotators": [asdict(s) for s in people]})
        else:
            print_standings(study, people, console())
