"""bowstring demo: evaluate the embedded model on the bundled data; needs no API key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bowstring.runs.running import Run

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EMBEDDED = "SmolLM2-135M (embedded)"
_HICUPID = """\
[bold]HiCUPID, small.[/bold] Three users talked to an assistant. Later they ask 30 questions. The best answers depend
on what the users said before, but no question mentions it. Three sources of answers are compared: the gold answers
(which know the user), the general answers (which do not), and SmolLM2-135M, which runs on this machine and is too
small to do well. The builtin judge only compares words: this is a smoke test, not a measurement.
"""
_CUPID = """\
[bold]CUPID, small.[/bold] A crofter works with an assistant. Her preferences depend on the recipient of a text, and
appear only in her feedback on drafts. Which preference applies to her next request?
"""


@app.command()
def demo(out: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs")) -> int:
    """Evaluate the embedded model on the bundled data with the builtin judge, and suggest next steps."""
    from bowstring.cli.eval import report_outcome
    from bowstring.cli.output import console

    to = console()
    to.print(" ".join(_HICUPID.split()) + "\n")
    hicupid = _run_hicupid(out)
    if stopped := next((run for run in hicupid.values() if run.stopped), None):
        return report_outcome(stopped)
    kinds = ("total", "persona", "profile", "schedule")
    _print_table(hicupid, {kind: f"score.{kind}" for kind in kinds})
    _print_about(hicupid)
    to.print(
        "[dim]Scores from 0 to 100, higher is better; 50 means as good as the gold answer for persona and profile "
        "questions. The total counts schedule questions at half weight, as published. There are no intervals, because "
        "3 users are too few.[/dim]"
    )
    _print_sharing(hicupid[EMBEDDED])
    _print_example(hicupid[EMBEDDED].records())
    to.print("\n" + " ".join(_CUPID.split()) + "\n")
    cupid = _run_cupid(out)
    if stopped := next((run for run in cupid.values() if run.stopped), None):
        return report_outcome(stopped)
    _print_table(cupid, {"precision": "inference.precision", "recall": "inference.recall", "F1": "inference.f1"})
    _print_about(cupid)
    unread = cupid[EMBEDDED].metrics["unparsed"]
    left_out = f"; {unread} unparsed answers of SmolLM2 are left out" if unread else ""
    to.print(f"[dim]From 0 to 100 over checklist items, higher is better; 3 instances of one persona{left_out}.[/dim]")
    _print_next(hicupid[EMBEDDED])
    return max(report_outcome(run) for run in (hicupid[EMBEDDED], cupid[EMBEDDED]))


def _run_hicupid(out: Path) -> dict[str, Run]:
    from bowstring.api.calls import evaluate
    from bowstring.benchmarks.baselines import general_answers, gold_answers
    from bowstring.benchmarks.loading import load_hicupid
    from bowstring.cli.output import tell
    from bowstring.cli.progress import ProgressLine

    questions = load_hicupid("mini", splits=["test_2"]).questions()
    common: dict[str, Any] = {"splits": "test_2", "max_tokens": 40, "runs": out, "tell": tell}
    return {
        "gold answers": evaluate("hicupid", model=gold_answers(questions), **common),
        "general answers": evaluate("hicupid", model=general_answers(questions), **common),
        EMBEDDED: evaluate("hicupid", model="embedded", watch=ProgressLine(), **common),
    }


def _run_cupid(out: Path) -> dict[str, Run]:
    from bowstring.api.calls import evaluate
    from bowstring.benchmarks.baselines import gold_preferences, vague_preference
    from bowstring.benchmarks.loading import load_cupid
    from bowstring.cli.output import tell
    from bowstring.cli.progress import ProgressLine

    common: dict[str, Any] = {"task": "inference", "limit": 3, "max_tokens": 120, "runs": out, "tell": tell}
    return {
        "gold preferences": evaluate("cupid", model=gold_preferences(load_cupid("mini").instances), **common),
        "vague preference": evaluate("cupid", model=vague_preference(), **common),
        EMBEDDED: evaluate("cupid", model="embedded", watch=ProgressLine(), **common),
    }


def _print_table(runs: dict[str, Run], columns: dict[str, str]) -> None:
    from rich.table import Table

    from bowstring.cli.output import console

    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, name in enumerate(("", *columns)):
        table.add_column(name, justify="right" if n else "left")
    for name, run in runs.items():
        values = [run.metrics["metrics"].get(metric) for metric in columns.values()]
        table.add_row(name, *(f"{v['value']:.1f}" if v else "–" for v in values))
    to = console()
    to.print()
    to.print(table)


def _print_about(runs: dict[str, Run]) -> None:
    from bowstring.benchmarks.standing import about_of
    from bowstring.cli.output import console, plain
    from bowstring.cli.run_views import print_about_notes
    from bowstring.runs.about import of_several

    about = of_several({name: about_of(run.metrics) for name, run in runs.items()})
    to = console()
    for line in about.lines:
        to.print(plain(line), markup=False)
    print_about_notes(about.notes, to)


def _print_sharing(run: Run) -> None:
    from bowstring.cli.output import console

    usage = run.metrics["usage"]["model"]
    if usage["prompt_tokens"]:
        line = (
            f"Each history was processed once: {usage['cached_tokens'] / usage['prompt_tokens']:.0%} of "
            f"{usage['prompt_tokens']:,} prompt tokens were served from cache."
        )
    else:
        line = f"All {usage['from_store']} answers came from the response store of an earlier run."
    console().print(line, style="dim")


def _print_example(records: list[dict[str, Any]]) -> None:
    from bowstring.cli.data_views import labelled
    from bowstring.cli.output import console

    record = next((r for r in records if r.get("answer") and r["type"] == "persona"), None)
    if record is None:
        return
    to = console()
    to.print()
    for label, field in (("question", "question"), ("answer", "answer"), ("gold", "personalized_answer")):
        to.print(labelled(label, " ".join(record[field].split())))


def _print_next(run: Run) -> None:
    import shutil
    import sys

    # As the user has to type it: a fresh environment is not on the PATH.
    program = "bowstring" if shutil.which("bowstring") else sys.argv[0]
    print(
        f"""
Report       {run.folder / "report.html"}
Data         {program} data show mini 4
Your model   {program} eval hicupid --model openai/gpt-4o-mini --judge openai/gpt-4o-2024-11-20   (a smoke test)
The benchmarks, with the cost first:
             {program} eval hicupid --data 12kimih/HiCUPID --split test_1 --model M --judge J --dry-run
             {program} eval cupid --data kixlab/CUPID --model M --judge J --dry-run"""
    )
