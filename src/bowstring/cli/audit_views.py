"""The terminal output of `bowstring audit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bowstring.benchmarks.auditing import NO_JUDGE
from bowstring.benchmarks.findings import unclear_note
from bowstring.benchmarks.of_run import installed_benchmark
from bowstring.cli.output import counted, plain
from bowstring.cli.run_views import print_about_notes, print_control_table
from bowstring.metrics.measures import MetricSet
from bowstring.runs.about import About, sentence

_STYLES = {"unclear": "yellow", "fine": "green", "problem": "bold yellow", "info": "dim"}


def print_audit(found: Mapping[str, Any], about: About, to: Console) -> None:
    """Print the findings; `about` says what the scores of the run are of."""
    benchmark = installed_benchmark(found["benchmark"])
    second = f", second judge {found['second_judge']}" if "second_judge" in found else ""
    title = f"{benchmark.title}: {found['model']}, judged by {found['judge']}{second}"
    to.print(plain(title), style="bold", markup=False)
    to.print(plain(sentence(about)), markup=False)
    print_about_notes([about.note], to)
    asked = min(found["sample"], found["items"])
    asks = set(found["checks"]) - {*NO_JUDGE, *found["skipped"]}
    sampled = f"; checks that ask a judge use a random sample of {asked:,}" if asks else ""
    to.print(f"{counted(found['items'], 'item')}{sampled}\n", style="dim")
    findings: Sequence[Mapping[str, Any]] = found["findings"]
    for check in dict.fromkeys(one["check"] for one in findings):
        to.print(Text(check, style="bold"))
        for one in findings:
            if one["check"] == check:
                _print_finding(one, to)
        to.print()
    judged = {"judge": found["judge"], "settings": {}}
    print_control_table(found.get("controls", []), benchmark.metrics(judged), to)
    for check, why in found["skipped"].items():
        to.print(f"{check}: skipped: {plain(why)}\n", markup=False)
    if "corrected" in found:
        _print_corrected(found["corrected"], benchmark.metrics({}), to)
    scores = found.get("corrected", {}).get("scores", {}).values()
    few = [*(one for one in findings if one["value"] is not None), *(one["corrected"] for one in scores)]
    if any(not one["trusted"] for one in few):
        to.print(f"* fewer than 30 {benchmark.cluster.many}: do not trust the interval", style="dim", markup=False)
    problems = sum(one["verdict"] == "problem" for one in findings)
    for note in found["notes"]:
        to.print(f"! {plain(note)}", style="yellow", markup=False)
    if found["failed"] or found["unparsed"]:
        unparsed = counted(found["unparsed"], "unparsed verdict")
        to.print(f"! {counted(found['failed'], 'item')} with a failed request, {unparsed}")
    to.print(f"{counted(len(findings), 'finding')}, {counted(problems, 'problem')}.", markup=False)
    if note := unclear_note(findings, benchmark.cluster):
        to.print(plain(note), markup=False)


def _print_finding(one: Mapping[str, Any], to: Console) -> None:
    style = _STYLES[one["verdict"]]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=9, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_row(Text(one["verdict"], style=style), Text(f"{plain(one['name'])}: {_number(one)}"))
    expected = f"expected: {plain(one['expected'])}. " if one["expected"] else ""
    meaning = "" if one["needed"] else plain(one["meaning"])  # what is needed is said once, at the end
    grid.add_row("", Text(expected + meaning, style="dim"))
    to.print(grid)


def _number(one: Mapping[str, Any]) -> str:
    lost = f", {one['left_out']:,} left out" if one["left_out"] else ""
    if one["value"] is None:
        return f"undefined (n {one['n']:,}{lost})"
    value, *limits = (f"{one[k]:.{one['places']}f}" for k in ("value", "low", "high") if one[k] is not None)
    interval = f" [{', '.join(limits)}]{'' if one['trusted'] else '*'}" if limits else ""
    return f"{value}{interval} (n {one['n']:,}{lost})"


def _print_corrected(found: Mapping[str, Any], metric_set: MetricSet, to: Console) -> None:
    to.print(Text("scores corrected with people's labels", style="bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, name in enumerate(("", "by the judge", "corrected", "labels")):
        table.add_column(name, justify="right" if n else "left", no_wrap=True)
    for name, one in found["scores"].items():
        values = [_between(one[by], name, metric_set) for by in ("judge", "corrected")]
        table.add_row(name, *values, f"{one['corrected']['n']:,}")
    to.print(table)
    lost = "".join(f"; {counted(n, 'label')} {reason}" for reason, n in found["left_out"].items())
    labelled = f"{counted(found['items'], 'item')} labelled by {counted(found['raters'], 'rater')}{lost}."
    if found["too_few"]:
        reason = f"a question type has fewer than {found['least']} labels"
        few = f"{', '.join(found['too_few'])}: not corrected, because {reason}"
        to.print(few, style="dim", markup=False)
    if unread := max((one["unread"] for one in found["scores"].values()), default=0):
        without = f"{counted(unread, 'item')} without a verdict: in the corrected scores, not in those by the judge."
        to.print(without, style="dim", markup=False)
    to.print(f"{labelled} Unbiased if the labelled items are a random sample.\n", style="dim", markup=False)


def _between(e: Mapping[str, Any], metric: str, metric_set: MetricSet) -> str:
    value, low, high = (metric_set.number(e[k], metric) for k in ("value", "low", "high"))
    return f"{value} [{low}, {high}]{'' if e['trusted'] else '*'}"
