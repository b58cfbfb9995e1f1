"""bowstring annotate runs/NAME --annotators anna,ben: run a blind human evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from bowstring.benchmarks import registry

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


Annotators = Annotated[
    str, typer.Option(help="Names, such as anna,ben, or a number of people. Each person gets a link.")
]
Seed = Annotated[int, typer.Option(help="Seed of the assignment of items, their order and their sides.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
Host = Annotated[
    str, typer.Option(help="Address to listen on; a loopback address is reachable from this machine only.")
]
PublicUrl = Annotated[str | None, typer.Option(help="Start of the links, if people use another address than --host.")]
DbArgument = Annotated[
    Path, typer.Argument(metavar="DB", help="File of the study, or the folder that contains annotations.sqlite.")
]


@app.command()
def start(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN", help="Folders of runs. Without any, the study in --db is opened.", show_default=False
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help=f"Task of the runs' benchmark; by default its first one. compare also takes two runs. {_task_help()}",
        ),
    ] = None,
    annotators: Annotators = "1",
    overlap: Annotated[float, typer.Option(min=0, max=1, help="Share of items that all annotators get.")] = 0.2,
    limit: Annotated[int | None, typer.Option(min=1, help="Use a random sample of N items.")] = None,
    checks: Annotated[
        float, typer.Option(min=0, max=1, help="Number of gold checks to generate, as a share of an annotator's items.")
    ] = 0.05,
    gold: Annotated[
        Path | None,
        typer.Option(
            help="A .jsonl or .csv file of items with known labels, to use as gold checks.", exists=True, dir_okay=False
        ),
    ] = None,
    criteria: Annotated[
        str, typer.Option(help="Additional criteria to rate from 1 to 5, such as personalization,logical-validity.")
    ] = "",
    seed: Seed = 0,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    public_url: PublicUrl = None,
    db: Annotated[
        Path | None,
        typer.Option(help="File of the study; by default annotations.sqlite in the folder of the first run."),
    ] = None,
) -> None:
    """Start or resume a study: print a link for each annotator and serve the pages until Ctrl-C."""
    from bowstring.cli.output import plain, tell
    from bowstring.web.annotating.opening import open_study

    with _listening(host, port, public_url) as (pages, address):
        study = open_study(
            runs or [],
            task=task,
            annotators=annotators,
            overlap=overlap,
            limit=limit,
            checks=checks,
            gold=gold,
            criteria=criteria,
            seed=seed,
            db=db,
            tell=tell,
        )
        _serve(study, pages, address, f"bowstring annotate export {plain(str(study.path))}")


@contextmanager
def _listening(host: str, port: int, public_url: str | None) -> Iterator[tuple[FastAPI, Address]]:
    """Bind the address before a study is created: a study that cannot be served should not exist."""
    from bowstring.web.serving import application, bind

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
    print(f"Press Ctrl-C to stop; run the same command again to resume. next: {afterwards}", flush=True)
    try:
        serve(app, address, who=study.who, most=MOST_BYTES)
    finally:
        study.close()


@app.command()
def curate(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The data set to curate.", show_default=False)],
    annotators: Annotators = "1",
    split: Annotated[list[str] | None, typer.Option(help="Use only this split; repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use a random sample of N items.")] = None,
    seed: Seed = 0,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    public_url: PublicUrl = None,
    db: Annotated[
        Path | None, typer.Option(help="File of the decisions; by default DATA.curation.sqlite next to the set.")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Write the accepted items to this folder as a data set, instead of serving pages."),
    ] = None,
    license: Annotated[
        str | None, typer.Option(help="With --write: license of the result, if the set does not state one.")
    ] = None,
) -> None:
    """Let people accept, edit or reject the items of a data set; --write writes the accepted ones."""
    from bowstring.cli.output import plain
    from bowstring.web.annotating.curated import write_curated
    from bowstring.web.annotating.curation import open_curation

    opened = partial(open_curation, data, curators=annotators, splits=split or (), limit=limit, seed=seed, db=db)
    if write is None:
        with _listening(host, port, public_url) as (pages, address):
            _serve(opened(), pages, address, "the same command with --write OUT")
        return
    with closing(opened()) as study:
        done = write_curated(study, write, license=license)
    names = {"accept": "accepted", "edit": "edited", "reject": "rejected", "open": "undecided (left out)"}
    if done.counts["undealt"]:
        names["undealt"] = "not reviewed (left out)"
    print(", ".join(f"{done.counts[k]:,} {name}" for k, name in names.items()))
    print(f"{plain(str(done.folder))}\nnext: bowstring data validate {plain(str(done.folder))}")


@app.command()
def export(
    db: DbArgument = Path("runs"),
    out: Annotated[Path | None, typer.Option(help="File to write; by default standard output.")] = None,
) -> None:
    """Export the ratings so far as JSONL, one line per rating, for bowstring agree."""
    import json

    from bowstring.cli.output import counted, tell
    from bowstring.files.writing import make_parent
    from bowstring.web.annotating.opening import find_study
    from bowstring.web.annotating.results import export as lines

    with closing(find_study(db)) as study:
        texts = [json.dumps(line) for line in lines(study)]
    if out is None:
        for text in texts:
            print(text)
    else:
        make_parent(out)
        out.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
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
