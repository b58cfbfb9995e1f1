"""bowstring annotate runs/NAME --annotators anna,ben: put answers to people, blind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from fastapi import FastAPI

    from bowstring.web.annotating.study import Study
    from bowstring.web.serving import Address


class _StartByDefault(TyperGroup):
    """`bowstring annotate RUN…` starts, `bowstring annotate --curate DATA` curates; other words are commands."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if any(word.partition("=")[0] == "--curate" for word in args):
            args = ["curate", *(word.removeprefix("--curate=") for word in args if word != "--curate")]
        elif not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = ["start", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_StartByDefault,
    help="Put answers to people, blind: pages for annotators, their ratings, and curated data sets.\n\n"
    "bowstring annotate RUN… is bowstring annotate start RUN…, and bowstring annotate --curate DATA is bowstring "
    "annotate curate DATA.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
)

Annotators = Annotated[
    str, typer.Option(help="Names, such as anna,ben, or how many people; each has a link of their own.")
]
Seed = Annotated[int, typer.Option(help="The same seed deals the same items, in the same order, to the same sides.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")]
Host = Annotated[str, typer.Option(help="Which address to listen on; loopback is this machine alone.")]
PublicUrl = Annotated[str | None, typer.Option(help="What the links begin with, where people come by another address.")]
DbArgument = Annotated[
    Path, typer.Argument(metavar="DB", help="The study: its file, or the folder that annotations.sqlite is in.")
]


@app.command()
def start(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN", help="Folders of runs; none opens the study that --db holds.", show_default=False
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="A task of the runs' benchmark; by default its first. HiCUPID: compare (against the gold answer, or "
            "two runs against each other), personal (personalized against general), satisfaction (schedules). "
            "CUPID: rate, coverage.",
        ),
    ] = None,
    annotators: Annotators = "1",
    overlap: Annotated[float, typer.Option(min=0, max=1, help="The share of items that everybody gets.")] = 0.2,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many items, by lot.")] = None,
    checks: Annotated[
        float, typer.Option(min=0, max=1, help="Gold checks that are made, as a share of an annotator's items.")
    ] = 0.05,
    gold: Annotated[
        Path | None,
        typer.Option(
            help="A .jsonl or .csv file of items and labels that are known: gold checks.", exists=True, dir_okay=False
        ),
    ] = None,
    criteria: Annotated[
        str, typer.Option(help="What else to ask about, such as personalization,logical-validity.")
    ] = "",
    seed: Seed = 0,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    public_url: PublicUrl = None,
    db: Annotated[
        Path | None, typer.Option(help="The study's file; by default annotations.sqlite beside the first run.")
    ] = None,
) -> None:
    """Start a study, or go on with it: print everybody's link, and serve the pages until Ctrl-C."""
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
    """First of all: a study should not be made where it cannot be shown."""
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
        f"{plain(str(study.path))}: {study.task.name}, {counted(study.items, 'item')}, {study.shared:,} for everybody"
    )
    tokens = study.links()
    for standing in people:
        state = f"{standing.done:,} of {standing.total:,} done"
        print(f"{plain(standing.annotator):{width}}   {state}   {address.link(tokens[standing.annotator])}")
    print(f"Ctrl-C ends this, and the same command goes on. Then: {afterwards}", flush=True)
    try:
        serve(app, address, who=study.who, most=MOST_BYTES)
    finally:
        study.close()


@app.command()
def curate(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A data set, such as bowstring synth makes.", show_default=False)
    ],
    annotators: Annotators = "1",
    split: Annotated[list[str] | None, typer.Option(help="HiCUPID: only this split; may be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many items, by lot.")] = None,
    seed: Seed = 0,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    public_url: PublicUrl = None,
    db: Annotated[
        Path | None, typer.Option(help="Where decisions are kept; by default DATA.curation.sqlite beside the set.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(help="Write what was accepted into this folder, as a data set, instead of serving.")
    ] = None,
    license: Annotated[
        str | None, typer.Option(help="With --write: the licence of the result, where the set does not say its own.")
    ] = None,
) -> None:
    """People accept, mend or reject the items of a data set; --write makes a set of what is left."""
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
    names = {"accept": "accepted", "edit": "mended", "reject": "rejected", "open": "left undecided, and out"}
    if done.counts["undealt"]:
        names["undealt"] = "not looked at, and out"
    print(", ".join(f"{done.counts[k]:,} {name}" for k, name in names.items()))
    print(f"{plain(str(done.folder))}\nnext: bowstring data validate {plain(str(done.folder))}")


@app.command()
def export(
    db: DbArgument = Path("runs"),
    out: Annotated[Path | None, typer.Option(help="The file to write; by default it is printed.")] = None,
) -> None:
    """What was said so far, as JSONL: a line a rating, with sources. For bowstring agree."""
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
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """How far everybody is, and how they did on the gold checks."""
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
