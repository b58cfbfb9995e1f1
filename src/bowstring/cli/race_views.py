"""The terminal output of a race of two models."""

from __future__ import annotations

from rich.console import Console

from bowstring.api.race import RaceResult
from bowstring.benchmarks.interface import Benchmark
from bowstring.benchmarks.standing import about_of
from bowstring.cli.output import plain
from bowstring.cli.run_views import print_about_notes
from bowstring.metrics.measures import MetricSet
from bowstring.runs.about import of_several


def print_race(result: RaceResult, metric_set: MetricSet, benchmark: Benchmark, to: Console) -> None:
    outcome, number = result.outcome, metric_set.scale(result.metric).number
    users = f"{outcome.users:,} of {outcome.of_users:,} {benchmark.cluster.many}"
    first, second = map(plain, result.names)
    to.print()
    if result.better is not None:
        said = f"{plain(result.better)} is better: {result.metric} differs after {users}."
    elif outcome.stopped:
        said = f"Not decided: stopped after {users}."
    else:
        all_users = f"all {outcome.of_users:,} {benchmark.cluster.many}"
        said = f"Not decided: {result.metric} is not shown to differ, with {all_users}."
    to.print(said, style="bold", markup=False)
    interval = "too few for an interval"
    if outcome.low is not None and outcome.high is not None:
        interval = f"[{number(outcome.low)}, {number(outcome.high)}]"
    lower = "" if result.higher_is_better else "; lower is better"
    to.print(
        f"{second} − {first}: {number(outcome.value)} {interval}, mean over {benchmark.cluster.many}{lower}",
        markup=False,
    )
    chance = f"in at most {outcome.level:.3g} of such races"
    to.print(
        f"A difference that is not there is found {chance}, and the interval is valid after every look.",
        style="dim",
        markup=False,
    )
    if outcome.left_out:
        to.print(f"! {outcome.left_out:,} {benchmark.cluster.many} had no score by both models", markup=False)
    saved = outcome.of_items - outcome.items
    share = f", {saved / outcome.of_items:.0%} of all" if outcome.of_items else ""
    to.print(
        f"{outcome.items:,} {benchmark.item.many} were enough for each model; {saved:,} were saved{share}."
        if result.better is not None
        else f"{outcome.items:,} {benchmark.item.many} were asked of each model.",
        markup=False,
    )
    if result.runs:
        about = of_several({name: about_of(run.metrics) for name, run in zip(result.names, result.runs, strict=True)})
        for line in about.lines:
            to.print(plain(line), markup=False)
        print_about_notes(about.notes, to)
    for run in result.runs or ():
        to.print(f"{run.folder / 'report.html'}", style="dim", markup=False, soft_wrap=True)
