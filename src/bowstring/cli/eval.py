"""bowstring eval hicupid --model embedded: evaluate a model on a benchmark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bowstring.runs.running import Run, Running

app = typer.Typer(
    help="Evaluate a model on a benchmark.\n\n"
    "The same command resumes a run: what was answered is never asked again. Models: bowstring models.",
    add_completion=False,
    rich_markup_mode=None,
)


class Instruction(StrEnum):
    system = "system"
    user = "user"


class Tokens(StrEnum):
    stems = "stems"
    words = "words"
    whitespace = "whitespace"


class QuestionType(StrEnum):
    persona = "persona"
    profile = "profile"
    schedule = "schedule"


ModelName = Annotated[
    str | None,
    typer.Option("--model", help="The model to evaluate, such as openai/gpt-4o-mini or embedded.", show_default=False),
]
JudgeName = Annotated[
    str,
    typer.Option(
        "--judge",
        help="The model that judges; builtin needs none, and is a smoke test only; truth is for sets made by synth "
        "--offline.",
    ),
]
Data = Annotated[str, typer.Option(help="A hub id, a folder, a file, or mini.")]
Revision = Annotated[str | None, typer.Option(help="The branch, tag or commit of a hub data set.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first so many items; a later run can grow.")]
Seed = Annotated[int, typer.Option(help="Decides sampling seeds and which side an answer takes.")]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Requests in flight to a model at a time.")]
Out = Annotated[Path | None, typer.Option(help="The run's folder; by default one in runs/ named by configuration.")]
StorePath = Annotated[Path | None, typer.Option("--store", help="The store of responses; by default beside the run.")]
Batch = Annotated[
    bool, typer.Option("--batch", help="Send requests through OpenAI's batch API: half the price, within a day.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask everything again, whatever the store has.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost, and stop.")]
MaxCost = Annotated[float | None, typer.Option(min=0, help="Dollars; the run stops before it passes them.")]
PriceFile = Annotated[
    Path | None, typer.Option("--prices", help="A YAML file of prices that override the built-in ones.")
]
PromptPath = Annotated[
    Path | None, typer.Option("--prompts", help="A folder of prompts that override the built-in ones.")
]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds to wait for one answer.")]
Attempts = Annotated[int, typer.Option(min=1, help="How often a failing request is tried.")]
Json = Annotated[bool, typer.Option("--json", help="Print metrics.json (or the plan) instead of a table.")]


@app.command()
def hicupid(
    context: typer.Context,
    model: ModelName = None,
    judge: JudgeName = "builtin",
    data: Data = "mini",
    revision: Revision = None,
    history: Annotated[
        list[str] | None,
        typer.Option(
            help="What the model sees: full, gold, none, last:4k (or last:N dialogues), bm25/utterance/K, "
            "bm25/dialogue/K, dense/utterance/K, dense/dialogue/K, summary. Repeated, it makes a sweep.",
            show_default="full",
        ),
    ] = None,
    shots: Annotated[
        list[int] | None,
        typer.Option(help="Examples of each question type: 0, 1, 3 or 5. May be repeated.", show_default="0"),
    ] = None,
    instruction: Annotated[
        list[Instruction] | None,
        typer.Option(
            help="Where the instruction stands: a system message, or a user turn behind the history. May be repeated.",
            show_default="system",
        ),
    ] = None,
    split: Annotated[list[str] | None, typer.Option(help="A split; may be repeated. By default all but train.")] = None,
    type_: Annotated[
        list[QuestionType] | None, typer.Option("--type", help="A question type; may be repeated. By default all.")
    ] = None,
    both_orders: Annotated[
        bool, typer.Option("--both-orders", help="Judge every comparison twice, with the sides swapped.")
    ] = False,
    retrieval_only: Annotated[
        bool, typer.Option("--retrieval-only", help="Measure what a search finds, and ask no model.")
    ] = False,
    bm25_tokens: Annotated[
        Tokens, typer.Option(help="How keyword search splits texts; upstream's way is whitespace.")
    ] = Tokens.stems,
    retriever: Annotated[
        str, typer.Option(help="The embedding model of dense search: a hub id or a folder.")
    ] = "facebook/contriever",
    max_tokens: Annotated[int, typer.Option(min=1, help="The longest answer, in tokens.")] = 200,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="Of the evaluated model.")] = 0.6,
    limit: Limit = None,
    seed: Seed = 0,
    concurrency: Concurrency = None,
    out: Out = None,
    store: StorePath = None,
    fresh: Fresh = False,
    batch: Batch = False,
    dry_run: DryRun = False,
    max_cost: MaxCost = None,
    prices: PriceFile = None,
    prompts: PromptPath = None,
    timeout: Timeout = 600.0,
    attempts: Attempts = 6,
    json: Json = False,
) -> int:
    """HiCUPID: a user's later questions behind a long history, judged against gold answers."""
    return _evaluate("hicupid", context)


class Task(StrEnum):
    inference = "inference"
    generation = "generation"
    both = "both"


class Scoring(StrEnum):
    bowstring = "bowstring"
    upstream = "upstream"


@app.command()
def cupid(
    context: typer.Context,
    model: ModelName = None,
    judge: JudgeName = "builtin",
    matcher: Annotated[
        str | None, typer.Option(help="Another model to match checklists with, such as a served prefmatcher.")
    ] = None,
    task: Annotated[Task, typer.Option(help="Infer the preference, answer the request, or both.")] = Task.both,
    data: Data = "mini",
    revision: Revision = None,
    history: Annotated[
        list[str] | None,
        typer.Option(
            help="What the model sees: full, gold, none, last:N (or last:4k), bm25/session/K, summary. Repeated, it "
            "makes a sweep.",
            show_default="full",
        ),
    ] = None,
    oracle_preference: Annotated[
        bool,
        typer.Option("--oracle-preference", help="Give the model the gold preference: the upper bound."),
    ] = False,
    analyse: Annotated[
        bool, typer.Option("--analyse", help="Have the judge say in which way wrong inferences went wrong.")
    ] = False,
    scoring: Annotated[
        Scoring, typer.Option(help="Ours, or upstream's arithmetic, to compare with published numbers.")
    ] = Scoring.bowstring,
    max_tokens: Annotated[int, typer.Option(min=1, help="The longest answer, in tokens.")] = 8192,
    temperature: Annotated[float, typer.Option(min=0, max=2, help="Of the evaluated model.")] = 0.0,
    limit: Limit = None,
    seed: Seed = 0,
    concurrency: Concurrency = None,
    out: Out = None,
    store: StorePath = None,
    fresh: Fresh = False,
    batch: Batch = False,
    dry_run: DryRun = False,
    max_cost: MaxCost = None,
    prices: PriceFile = None,
    prompts: PromptPath = None,
    timeout: Timeout = 600.0,
    attempts: Attempts = 6,
    json: Json = False,
) -> int:
    """CUPID: which preference applies in this context, and does the answer follow it?"""
    return _evaluate("cupid", context)


# What is measured where --retrieval-only is given no history: the published keyword searches.
PUBLISHED_SEARCHES = (
    *(f"bm25/utterance/{k}" for k in (5, 15, 25)),
    *(f"bm25/dialogue/{k}" for k in (1, 3, 5)),
)
# Options that are called otherwise where they go.
_RENAMED = {"split": "splits", "type_": "types"}


def _evaluate(benchmark: str, context: typer.Context) -> int:
    from bowstring.api.evaluate import prepare, prepare_sweep
    from bowstring.cli.output import console, print_json, tell
    from bowstring.cli.progress import ProgressLine
    from bowstring.cli.run_views import print_run, print_sweep
    from bowstring.runs.sweep import AXES

    given = {name: value for name, value in context.params.items() if value is not None and value not in ([], ())}
    dry_run, json = given.pop("dry_run"), given.pop("json")
    settings: dict[str, Any] = {_RENAMED.get(name, name): _plain(value) for name, value in given.items()}
    if settings.get("retrieval_only"):
        settings.setdefault("history", list(PUBLISHED_SEARCHES))
    several = any(len(settings.get(axis, [])) > 1 for axis in AXES)
    if not several:
        settings |= {axis: settings[axis][0] for axis in AXES if axis in settings}
    common: dict[str, Any] = {"with_keys": not dry_run, "watch": ProgressLine(), "tell": tell, **settings}
    if several:
        sweep = prepare_sweep(benchmark, **common)
        if dry_run:
            return _print_plan(sweep.running, json=json)
        swept = sweep.run()
        print_json(swept.summary) if json else print_sweep(swept, console())
        named, folder = swept.points, swept.folder
    else:
        running = prepare(benchmark, **common)
        if dry_run:
            return _print_plan(running, json=json)
        runs = running.run()
        print_json(runs[0].metrics) if json else print_run(runs[0], console())
        named, folder = {"": runs[0]}, runs[0].folder
    if not json:
        print(f"\n{folder / 'report.html'}")
    stopped = next((run for run in named.values() if run.stopped), None)  # if one was, all were
    return say_how_it_ended(stopped) if stopped else max(say_how_it_ended(run, name) for name, run in named.items())


def _print_plan(running: Running, *, json: bool) -> int:
    from dataclasses import asdict

    from bowstring.cli.output import console, print_json
    from bowstring.cli.run_views import print_plan
    from bowstring.runs.plan import make_plan

    plan = make_plan(running)
    print_json(asdict(plan)) if json else print_plan(plan, console())
    return 0


def _plain(value: Any) -> Any:
    """An option's value as the API takes it."""
    if isinstance(value, StrEnum):
        return value.value
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def say_how_it_ended(run: Run, name: str = "") -> int:
    """The exit code, after a line on stderr where something is left to do."""
    from bowstring.cli.output import plain, tell

    if run.stopped:
        tell(f"Stopped ({run.stopped}). What was answered is kept: the same command goes on from there.")
        return 130 if run.stopped == "interrupted" else 1
    if run.metrics["failed"]:
        of = f"{name}: " if name else ""
        tell(f"{of}{run.metrics['failed']:,} of {run.metrics['n']:,} items failed; the same command tries them again.")
        reason, n = run.commonest_failure()
        tell(f"{n:,} of them: {plain(reason)}")
        return 1
    return 0
