"""bowstring demo: evaluate the embedded model on the bundled data, without a key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder for the runs.")] = Path("runs"),
) -> int:
    """Evaluate the embedded model on the bundled data with the builtin judge, and say what to try next."""
    from bowstring.benchmarks.evaluate import evaluate
    from bowstring.cli.eval import say_how_it_ended
    from bowstring.cli.output import console, tell
    from bowstring.cli.progress import ProgressLine
    from bowstring.cli.run_views import print_run

    to = console()
    to.print(
        "[bold]HiCUPID in small[/bold]: three people, what they told an assistant, and 30 later questions whose best "
        "answers depend on it.\nAnswered by SmolLM2-135M, here, on this machine. It is far too small to do well; the "
        "point is that all of it runs.\n"
    )
    run = evaluate(
        "hicupid", model="embedded", splits="test_2", max_tokens=40, runs=out, watch=ProgressLine(), tell=tell
    )
    print_run(run, to)
    _print_examples(run.records())
    to.print(f"\n[bold]The report[/bold]  {run.folder / 'report.html'}", soft_wrap=True)
    to.print("[bold]The people[/bold]  bowstring data show mini 4")
    to.print(
        "[bold]Your model[/bold]  bowstring eval hicupid --model openai/gpt-4o-mini --judge openai/gpt-4o-2024-11-20"
    )
    to.print("            bowstring eval hicupid --model openai/NAME@http://localhost:8000/v1")
    return say_how_it_ended(run)


def _print_examples(records: list[dict[str, object]]) -> None:
    from bowstring.cli.output import plain

    shown = [r for r in records if "answer" in r and r["type"] == "persona"][:2]
    for record in shown:
        print()
        for label, field in (("asked", "question"), ("it said", "answer"), ("gold", "personalized_answer")):
            print(f"{label:>9}  {' '.join(plain(str(record[field])).split())}")
