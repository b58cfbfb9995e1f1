"""bowstring demo: evaluate the embedded model on the bundled data, without a key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bowstring.benchmarks.evaluate import Run

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_INTRODUCTION = """\
[bold]HiCUPID in small.[/bold] Three people told an assistant about their days. Later they ask 30 questions whose best
answers depend on what they told, and none of the questions mentions it. Three assistants answer: one that knows them
(the gold answers), a polite stranger (the general answers), and SmolLM2-135M, which runs right here and is far too
small to do well. The builtin judge only counts words: this shows that everything works, and measures nothing.
"""


@app.command()
def demo(out: Annotated[Path, typer.Option(help="The folder for the runs.")] = Path("runs")) -> int:
    """Evaluate the embedded model on the bundled data with the builtin judge, and say what to try next."""
    from bowstring.benchmarks.baselines import general_answers, gold_answers
    from bowstring.benchmarks.evaluate import evaluate
    from bowstring.cli.eval import say_how_it_ended
    from bowstring.cli.output import console, tell
    from bowstring.cli.progress import ProgressLine
    from bowstring.datasets import load_hicupid

    to = console()
    to.print(" ".join(_INTRODUCTION.split()) + "\n")
    questions = load_hicupid("mini", splits=["test_2"]).questions()
    common: dict[str, Any] = {"splits": "test_2", "max_tokens": 40, "runs": out, "tell": tell}
    runs = {
        "someone who knows them": evaluate("hicupid", model=gold_answers(questions), **common),
        "a polite stranger": evaluate("hicupid", model=general_answers(questions), **common),
        "SmolLM2-135M (embedded)": evaluate("hicupid", model="embedded", watch=ProgressLine(), **common),
    }
    _print_table(runs)
    run = runs["SmolLM2-135M (embedded)"]
    _print_example(run.records())
    _print_next(run)
    return say_how_it_ended(run)


def _print_table(runs: dict[str, Run]) -> None:
    from rich.table import Table

    from bowstring.cli.output import console

    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    kinds = ("total", "persona", "profile", "schedule")
    for n, name in enumerate(("", *kinds)):
        table.add_column(name, justify="right" if n else "left")
    for name, run in runs.items():
        values = [run.metrics["metrics"].get(f"score.{kind}") for kind in kinds]
        table.add_row(name, *(f"{v['value']:.1f}" if v else "–" for v in values))
    to = console()
    to.print()
    to.print(table)
    to.print(
        "[dim]0 to 100; for persona and profile questions 50 is as good as gold. The total counts schedule questions "
        "at half weight, as published. 3 users: no interval is worth printing.[/dim]"
    )
    usage = runs["SmolLM2-135M (embedded)"].metrics["usage"]["model"]
    if usage["prompt_tokens"]:
        to.print(
            f"[dim]Each history was read once: {usage['cached_tokens'] / usage['prompt_tokens']:.0%} of "
            f"{usage['prompt_tokens']:,} prompt tokens came from the server's cache.[/dim]"
        )
    else:
        to.print(f"[dim]All {usage['from_store']} answers came from the store: what was asked once is kept.[/dim]")


def _print_example(records: list[dict[str, Any]]) -> None:
    from bowstring.cli.data_views import labelled
    from bowstring.cli.output import console

    record = next((r for r in records if r.get("answer") and r["type"] == "persona"), None)
    if record is None:
        return
    to = console()
    to.print()
    for label, field in (("asked", "question"), ("it said", "answer"), ("gold", "personalized_answer")):
        to.print(labelled(label, " ".join(record[field].split())))


def _print_next(run: Run) -> None:
    import shutil
    import sys

    # As it has to be typed here: a fresh environment is not on the PATH.
    program = "bowstring" if shutil.which("bowstring") else sys.argv[0]
    print(
        f"""
The report   {run.folder / "report.html"}
The people   {program} data show mini 4
Your model   {program} eval hicupid --model openai/gpt-4o-mini --judge openai/gpt-4o-2024-11-20 --dry-run
             {program} eval hicupid --model openai/NAME@http://localhost:8000/v1 --judge openai/gpt-4o-2024-11-20"""
    )
