"""bowstring eval hicupid --model embedded: evaluate a model on a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bowstring.api.evaluate import eval_options
from bowstring.benchmarks import registry
from bowstring.cli.benchmark_groups import BenchmarkGroup
from bowstring.cli.options import add_command
from bowstring.errors import UsageError
from bowstring.runs.cut_answers import why_unjudged
from bowstring.runs.sweep import Sweep
from bowstring.settings import Option

if TYPE_CHECKING:
    from bowstring.runs.running import Run, Running

_LIKE = "--like"
_COMMAND_OPTIONS = (
    Option("like", _LIKE, Path, None, help="Repeat the configuration of this run, except for the options given here."),
    Option(
        "against",
        "--against",
        str,
        None,
        help="Compare with this model, user by user in random order, until the difference is clear.",
        metavar="NAME",
    ),
    Option(
        "until",
        "--until",
        float,
        0.05,
        help="With --against: the share of false results that is allowed, however often the test is looked at.",
    ),
    Option("dry_run", "--dry-run", bool, False, help="Show the planned requests and their cost, and stop."),
    Option("json", "--json", bool, False, help="Print metrics.json (or the plan) instead of a table."),
)


class _RepeatableGroup(BenchmarkGroup):
    """`bowstring eval --like RUN` means `bowstring eval NAME --like RUN`, where NAME is the benchmark of the run."""

    @staticmethod
    def add(app: typer.Typer, name: str) -> None:
        benchmark = registry.get(name)
        options = (*eval_options(benchmark), *_COMMAND_OPTIONS)
        add_command(app, name, lambda given: _evaluate(name, given), options, help=benchmark.about)

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and args[0].startswith("-") and (run := _run_of(args)) is not None:
            args = [_benchmark_of(run), *args]
        return super().parse_args(ctx, args)


def _run_of(args: list[str]) -> Path | None:
    for n, word in enumerate(args):
        if word == _LIKE and n + 1 < len(args):
            return Path(args[n + 1])
        if word.startswith(f"{_LIKE}="):
            return Path(word.removeprefix(f"{_LIKE}="))
    return None


def _benchmark_of(run: Path) -> str:
    from bowstring.api.evaluate import run_to_repeat

    return str(run_to_repeat(run).configuration["benchmark"])


app = typer.Typer(
    cls=_RepeatableGroup,
    help="Evaluate a model on a benchmark.\n\n"
    "Run the same command again to resume a run; no request is sent twice. bowstring eval --like RUN --model NAME "
    "repeats a run with another model. bowstring models lists the models.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Keep benchmarks as subcommands even if there is only one."""


def _evaluate(benchmark: str, given: dict[str, Any]) -> int:
    from bowstring.api.evaluate import MissingModel, prepare, prepare_sweep
    from bowstring.cli.output import console, print_json, tell
    from bowstring.cli.progress import ProgressLine
    from bowstring.cli.run_views import print_run, print_sweep

    dry_run, json = bool(given.pop("dry_run", False)), bool(given.pop("json", False))
    against, until = given.pop("against", None), given.pop("until", None)
    settings = registry.get(benchmark).settle(given, several=True)
    axes = [name for name in settings if name in _axes(benchmark)]
    several = any(len(settings[name]) > 1 for name in axes)
    if not several:
        settings |= {name: settings[name][0] for name in axes}
    common: dict[str, Any] = {"with_keys": not dry_run, "watch": ProgressLine(), "tell": tell, **settings}
    command = f"bowstring eval {benchmark}"
    if against is not None:
        if several:
            raise UsageError("--against: a sweep cannot be compared; give one value of each setting")
        return _race(
            benchmark, common | {"against": against} | ({} if until is None else {"until": until}), dry_run, json
        )
    if until is not None:
        raise UsageError("--until needs --against NAME: the model to compare with")
    try:
        prepared = (prepare_sweep if several else prepare)(benchmark, **common)
    except MissingModel as missing:
        raise UsageError(f"{command}: {missing} (see {command} --help)") from missing
    if isinstance(prepared, Sweep):
        sweep = prepared
        if dry_run:
            return _print_plan(sweep.running, json=json)
        swept = sweep.run()
        print_json(swept.summary) if json else print_sweep(swept, console())
        named, folder, page_problem = swept.points, swept.folder, swept.page_problem
    else:
        if dry_run:
            return _print_plan(prepared, json=json)
        runs = prepared.run()
        print_json(runs[0].metrics) if json else print_run(runs[0], console())
        named, folder, page_problem = {"": runs[0]}, runs[0].folder, runs[0].page_problem
    if not json:
        print(f"\n{folder if page_problem else folder / 'report.html'}")
    if several and page_problem:
        _print_page_problem(folder, page_problem)
    stopped = next((run for run in named.values() if run.stopped), None)  # if one run was stopped, all were
    return report_outcome(stopped) if stopped else max(report_outcome(run, name) for name, run in named.items())


def _race(benchmark: str, given: dict[str, Any], dry_run: bool, json: bool) -> int:
    from dataclasses import asdict

    from bowstring.api.race import prepare_race
    from bowstring.cli.output import console, print_json, tell
    from bowstring.cli.race_views import print_race
    from bowstring.cli.run_views import print_plan
    from bowstring.runs.plan import make_plan

    prepared = prepare_race(benchmark, **given)
    if dry_run:
        if json:
            print_json(
                {role: asdict(make_plan(side)) for role, side in zip(("model", "against"), prepared.sides, strict=True)}
            )
            return 0
        to, many = console(), prepared.benchmark.cluster.many
        for which, side in zip(("first", "second"), prepared.sides, strict=True):
            to.print(f"The {which} model, if the race takes all {many}:")
            print_plan(make_plan(side), to)
            to.print()
        return 0
    result = prepared.run()
    if json:
        print_json(result.as_json())
    else:
        print_race(result, prepared.metric_set, prepared.benchmark, console())
    if result.outcome.stopped:
        tell(f"Stopped ({result.outcome.stopped}). Responses are saved; run the same command again to resume.")
        return 130 if result.outcome.stopped == "interrupted" else 1
    return max((report_outcome(run) for run in result.runs or ()), default=0)


def _axes(benchmark: str) -> set[str]:
    return {one.field for one in eval_options(registry.get(benchmark)) if one.axis}


def _print_plan(running: Running, *, json: bool) -> int:
    from dataclasses import asdict

    from bowstring.cli.output import console, print_json
    from bowstring.cli.run_views import print_about_notes, print_plan
    from bowstring.runs.plan import make_plan

    plan = make_plan(running)
    if json:
        print_json(asdict(plan))
    else:
        first = running.evaluations[0]
        print_about_notes([first.data_note], console())
        print_plan(plan, console(), registry.get(first.benchmark).cluster)
    return 0


def _print_page_problem(folder: Path, problem: str) -> None:
    from bowstring.cli.output import plain, tell

    tell(f"{folder / 'report.html'} could not be written ({plain(problem)}); to try again: bowstring report {folder}")


def report_outcome(run: Run, name: str = "") -> int:
    """Return the exit code, after a line on stderr if the run is incomplete."""
    from bowstring.cli.output import plain, tell

    of = f"{name}: " if name else ""
    if run.page_problem:
        _print_page_problem(run.folder, run.page_problem)
    if run.stopped:
        tell(f"Stopped ({run.stopped}). Responses are saved; run the same command again to resume.")
        return 130 if run.stopped == "interrupted" else 1
    if run.metrics["failed"]:
        n, items = run.metrics["records"], run.metrics["n"]
        what = "items" if n == items else f"records of {items:,} items"
        # With it, what has been answered would be asked again.
        without = " without --fresh" if any("--fresh replaced" in note for note in run.metrics["notes"]) else ""
        tell(
            f"{of}{run.metrics['failed']:,} of {n:,} {what} failed; run the same command again{without} to retry them."
        )
        reason, n = run.commonest_failure()
        tell(f"{n:,} of them: {plain(reason)}")
        return 1
    for note in (lost := why_unjudged(run.metrics)):
        tell(f"{of}Judging failed. {note}")
    return int(bool(lost))
