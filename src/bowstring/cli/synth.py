"""bowstring synth hicupid --offline --users 30 --out DIR: make a data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bowstring.synthesis.quality import Quality

app = typer.Typer(
    help="Make a data set in a benchmark's published layout: with any model, or offline from word banks.\n\n"
    "The same command resumes: what was answered is never asked again.",
    add_completion=False,
    rich_markup_mode=None,
)

Offline = Annotated[bool, typer.Option("--offline", help="From word banks, without a model: for load tests.")]
Out = Annotated[Path | None, typer.Option(help="The folder to write into; by default one in sets/.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same set, as far as models answer the same.")]
ModelName = Annotated[str | None, typer.Option("--model", help="The model that writes.", show_default=False)]


@app.command()
def hicupid(
    model: ModelName = None,
    offline: Offline = False,
    users: Annotated[int, typer.Option(help="How many; one in six is for test_2.")] = 10,
    dimensions: Annotated[int, typer.Option(help="Personas, and dialogues on them, a user.")] = 25,
    turns: Annotated[int, typer.Option(help="Turns of a dialogue on a persona.")] = 10,
    schedules: Annotated[int, typer.Option(help="Appointments, and dialogues on them, a user.")] = 10,
    profile_questions: Annotated[int, typer.Option(help="Questions a user that need persona and profile.")] = 5,
    share: Annotated[
        int | None, typer.Option(help="Users who have the same persona; by default 10, in small sets 1.")
    ] = None,
    seed: Seed = 0,
    out: Out = None,
) -> int:
    """HiCUPID: users with personas, a profile and schedules, their dialogues, questions and answers."""
    from bowstring.cli.output import tell
    from bowstring.errors import UsageError
    from bowstring.synthesis.users import Sizes

    shared = share if share is not None else 10 if users >= 150 else 1
    sizes = Sizes(users, dimensions, turns, schedules, profile_questions, shared)
    if not offline:
        raise UsageError("synth hicupid needs --model, or --offline")
    from bowstring.synthesis.offline import write_hicupid

    folder = out or Path("sets") / f"hicupid-offline-{users}-{seed}"
    quality = write_hicupid(sizes, seed, folder, lambda done, total: tell(f"{done:,}/{total:,} users"))
    return _made(folder, quality, "hicupid")


@app.command()
def cupid(
    model: ModelName = None,
    offline: Offline = False,
    personas: Annotated[int, typer.Option(min=1, help="How many; each becomes three instances.")] = 4,
    seed: Seed = 0,
    out: Out = None,
) -> int:
    """CUPID: personas whose preferences depend on context, and the sessions in which they show."""
    from bowstring.errors import UsageError

    if not offline:
        raise UsageError("synth cupid needs --model, or --offline")
    from bowstring.synthesis.offline import write_cupid

    folder = out or Path("sets") / f"cupid-offline-{personas}-{seed}"
    return _made(folder, write_cupid(personas, seed, folder), "cupid")


def _made(folder: Path, quality: Quality, benchmark: str) -> int:
    for line in quality.lines():
        print(line)
    print(
        f"\n{folder}\nnext: bowstring data validate {folder}\n      bowstring eval {benchmark} --data {folder} --model …"
    )
    return 0
