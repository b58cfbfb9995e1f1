"""bowstring synth hicupid --offline --users 30 --out DIR: make a data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bowstring.api.synthesize import Made, Synthesis
    from bowstring.synthesis.quality import Quality

app = typer.Typer(
    help="Make a data set in a benchmark's published layout: with any model, or offline from word banks.\n\n"
    "The same command resumes: what was answered is never asked again.",
    add_completion=False,
    rich_markup_mode=None,
)

ModelName = Annotated[str | None, typer.Option("--model", help="The model that writes.", show_default=False)]
Offline = Annotated[bool, typer.Option("--offline", help="From word banks, without a model: for load tests.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same set, as far as models answer the same.")]
Out = Annotated[Path | None, typer.Option(help="The folder to write into; by default one in sets/.")]
Preview = Annotated[int | None, typer.Option(min=1, help="Make only the first so many, show them, and write nothing.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be asked and what it might cost, and stop.")]
Seeds = Annotated[
    str | None, typer.Option(help="Persona seeds: a text or JSONL file, or a hub id; by default a bundled list.")
]
SeedsField = Annotated[str, typer.Option(help="The field of --seeds that has the text.")]
Temperature = Annotated[float, typer.Option(min=0, max=2, help="Of the models that write.")]
StorePath = Annotated[Path | None, typer.Option("--store", help="The store of responses; by default beside the set.")]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Requests in flight to a model at a time.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask everything again, whatever the store has.")]
MaxCost = Annotated[float | None, typer.Option(min=0, help="Dollars; stops before it passes them.")]
Prices = Annotated[Path | None, typer.Option(help="A YAML file of prices that override the built-in ones.")]
Prompts = Annotated[Path | None, typer.Option(help="A folder of prompts that override the built-in ones.")]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds to wait for one answer.")]
Attempts = Annotated[int, typer.Option(min=1, help="How often a failing request is tried.")]


@app.command()
def hicupid(
    context: typer.Context,
    model: ModelName = None,
    offline: Offline = False,
    users: Annotated[int, typer.Option(help="How many; one in six is for test_2.")] = 10,
    dimensions: Annotated[int, typer.Option(help="Personas, and dialogues on them, a user.")] = 25,
    turns: Annotated[int, typer.Option(help="Turns of a dialogue on a persona.")] = 10,
    schedules: Annotated[int, typer.Option(help="Appointments, and dialogues on them, a user.")] = 10,
    profile_questions: Annotated[
        int | None, typer.Option(help="Questions a user that need persona and profile.", show_default="5")
    ] = None,
    share: Annotated[
        int | None, typer.Option(help="Users who have the same persona; by default 10, below 150 users 1.")
    ] = None,
    seeds: Seeds = None,
    seeds_field: SeedsField = "input persona",
    temperature: Temperature = 1.0,
    seed: Seed = 0,
    preview: Preview = None,
    dry_run: DryRun = False,
    out: Out = None,
    store: StorePath = None,
    concurrency: Concurrency = None,
    fresh: Fresh = False,
    max_cost: MaxCost = None,
    prices: Prices = None,
    prompts: Prompts = None,
    timeout: Timeout = 600.0,
    attempts: Attempts = 6,
) -> int:
    """HiCUPID: users with personas, a profile and schedules, their dialogues, questions and answers."""
    given = _given(context)
    given["share"] = share if share is not None else 10 if users >= 150 else 1
    given["profile_questions"] = min(5, dimensions) if profile_questions is None else profile_questions
    if not given.pop("offline"):
        return _synthesize("hicupid", given)
    from bowstring.benchmarks.hicupid.users import Sizes
    from bowstring.cli.output import tell
    from bowstring.synthesis.offline import write_hicupid

    _refuse(context, _ONLINE)
    sizes = Sizes(users, dimensions, turns, schedules, given["profile_questions"], given["share"])
    folder = out or Path("sets") / f"hicupid-offline-{users}-{seed}"
    return _made(folder, write_hicupid(sizes, seed, folder, _Counting(tell)), "hicupid")


@app.command()
def cupid(
    context: typer.Context,
    model: ModelName = None,
    assistant: Annotated[
        str | None, typer.Option(help="The assistant in the conversations; by default --model.", show_default=False)
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="Plays the user and writes checklists; by default --model.", show_default=False)
    ] = None,
    offline: Offline = False,
    personas: Annotated[int, typer.Option(min=1, help="How many; each becomes three instances.")] = 4,
    factors: Annotated[int, typer.Option(help="Context factors a persona.")] = 8,
    sessions: Annotated[int, typer.Option(help="Sessions a persona, the last being the request.")] = 13,
    turns: Annotated[int, typer.Option(help="The most turns of a session.")] = 16,
    seeds: Seeds = None,
    seeds_field: SeedsField = "input persona",
    temperature: Temperature = 1.0,
    seed: Seed = 0,
    preview: Preview = None,
    dry_run: DryRun = False,
    out: Out = None,
    store: StorePath = None,
    concurrency: Concurrency = None,
    fresh: Fresh = False,
    max_cost: MaxCost = None,
    prices: Prices = None,
    prompts: Prompts = None,
    timeout: Timeout = 600.0,
    attempts: Attempts = 6,
) -> int:
    """CUPID: personas whose preferences depend on context, and the sessions in which they show."""
    given = _given(context)
    if not given.pop("offline"):
        return _synthesize("cupid", given)
    from bowstring.synthesis.offline import write_cupid

    _refuse(context, (*_ONLINE, "assistant", "judge", "factors", "sessions", "turns"))
    folder = out or Path("sets") / f"cupid-offline-{personas}-{seed}"
    return _made(folder, write_cupid(personas, seed, folder), "cupid")


def _given(context: typer.Context) -> dict[str, Any]:
    return {name: value for name, value in context.params.items() if value is not None}


# What has no meaning without a model.
_ONLINE = (
    *("model", "seeds", "seeds_field", "temperature", "preview", "dry_run", "store", "concurrency", "fresh"),
    *("max_cost", "prices", "prompts", "timeout", "attempts"),
)


def _refuse(context: typer.Context, names: Sequence[str]) -> None:
    """Say so where an option was given that --offline cannot honour."""
    from bowstring.errors import UsageError

    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"--offline asks no model: leave out --{name.replace('_', '-')}")


class _Counting:
    """Tells how far it is, in a few lines."""

    def __init__(self, tell: Any) -> None:
        self._tell = tell
        self._next = 0

    def __call__(self, done: int, total: int) -> None:
        if done >= self._next or done == total:
            self._tell(f"{done:,}/{total:,} users")
            self._next = done + max(1, total // 10)


def _synthesize(benchmark: str, given: dict[str, Any]) -> int:
    from bowstring.api.synthesize import prepare_synthesis
    from bowstring.cli.output import console, tell
    from bowstring.cli.progress import ProgressLine
    from bowstring.cli.synth_views import print_items, print_projection

    dry_run = given.pop("dry_run")
    model = given.pop("model", None)
    synthesis = prepare_synthesis(
        benchmark, model=model, with_keys=not dry_run, watch=ProgressLine(), tell=tell, **given
    )
    if dry_run:
        print_projection(synthesis, console())
        return 0
    made = synthesis.run()
    if synthesis.preview:
        print_items(made, console())
        _print_cost(made, synthesis)
    return _say_how_it_ended(made, synthesis)


def _print_cost(made: Made, synthesis: Synthesis) -> None:
    found = synthesis.projected(made)
    if found is not None:
        cost, whole = found
        print(f"\nThese took ${cost:.4f}; all {synthesis.n:,} about ${whole:,.2f}.")


def _say_how_it_ended(made: Made, synthesis: Synthesis) -> int:
    from bowstring.cli.output import plain, tell

    if made.stopped:
        tell(f"Stopped ({made.stopped}). What was answered is kept: the same command goes on from there.")
        return 130 if made.stopped == "interrupted" else 1
    if made.failed:
        tell(f"{len(made.failed):,} of {synthesis.n:,} failed; the same command tries them again. Nothing was written.")
        tell(plain(made.failed[0]["failure"]["reason"]))
        return 1
    if not made.items:
        for line in made.quality.lines():
            tell(line)
        tell("Nothing could be made, so nothing was written.")
        return 1
    if synthesis.preview:
        print("Nothing was written. The same command without --preview makes the rest; these are kept.")
        return 0
    return _made(made.folder, made.quality, synthesis.benchmark)


def _made(folder: Path, quality: Quality, benchmark: str) -> int:
    for line in quality.lines():
        print(line)
    print(f"\n{folder}\nnext: bowstring data validate {folder}")
    print(f"      bowstring eval {benchmark} --data {folder} --model …")
    return 0
