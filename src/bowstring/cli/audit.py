"""bowstring audit runs/NAME: does the score of a run mean what it says?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def audit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run that has ended.", show_default=False)],
    judge: Annotated[
        str | None,
        typer.Option(help="The judge to audit; a server is named with its address.", show_default="the run's own"),
    ] = None,
    second_judge: Annotated[
        str | None, typer.Option(help="Another judge for the same answers: do the two agree?", show_default=False)
    ] = None,
    matcher: Annotated[
        str | None,
        typer.Option(
            help="CUPID's matcher as it can be reached now, if the run had one.", show_default="as in the run"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The evaluated model as it can be reached now, for no-history.", show_default="as in the run"
        ),
    ] = None,
    checks: Annotated[
        str | None,
        typer.Option(
            help="With commas. HiCUPID: gold, general, no-history, length, position, probes, steering, "
            "second-judge, overpersonalization, dislikes. CUPID: gold, vague, no-history, length, probes, steering, "
            "second-judge.",
            show_default="all",
        ),
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="So many items, by lot, for the checks that ask a model.")] = 200,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="People's labels of some items (an annotation export, CSV or JSONL with item, rater, label): scores "
            "corrected for the judge's mistakes.",
            show_default=False,
        ),
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Requests in flight to a model at a time.")] = None,
    store: Annotated[Path | None, typer.Option(help="The store of responses.", show_default="the run's own")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost, and stop.")
    ] = False,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Dollars; the audit stops before it passes them.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="A YAML file of prices that override the built-in ones.", show_default=False)
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(help="A folder of prompts that override the built-in ones.", show_default="the run's own"),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for one answer.")] = 600.0,
    attempts: Annotated[int, typer.Option(min=1, help="How often a failing request is tried.")] = 6,
    json: Annotated[bool, typer.Option("--json", help="Print audit.json (or the plan) instead of a table.")] = False,
) -> int:
    """Does the score of a run mean what it says? Baselines, probes, other judges, people's labels.

    Every check gives a number with its interval, what it should be, and what it says. The same command goes on where
    an audit was stopped; what was answered is never asked again.
    """
    from dataclasses import asdict

    from bowstring.cli.audit_views import print_audit
    from bowstring.cli.eval import say_how_it_ended
    from bowstring.cli.output import console, print_json, tell
    from bowstring.cli.progress import ProgressLine
    from bowstring.cli.run_views import print_plan
    from bowstring.runs.plan import make_plan
    from bowstring.studies.audit import prepare_audit

    prepared = prepare_audit(
        run,
        judge=judge,
        second_judge=second_judge,
        matcher=matcher,
        model=model,
        checks=() if checks is None else [name.strip() for name in checks.split(",")],
        sample=sample,
        labels=labels,
        watch=ProgressLine(),
        tell=tell,
        with_keys=not dry_run,
        concurrency=concurrency,
        store=store,
        max_cost=max_cost,
        prices=prices,
        prompts=prompts,
        timeout=timeout,
        attempts=attempts,
    )
    if dry_run:
        plan = make_plan(prepared.running)
        print_json(asdict(plan)) if json else print_plan(plan, console())
        return 0
    found = prepared.go()
    if json:
        print_json(found)
    else:
        print_audit(found, console())
        page = run / "report.html"
        print(f"\n{page if prepared.on_page else f'next: bowstring report {run} --data SET   puts it on the page'}")
    return say_how_it_ended(prepared.ended) if prepared.ended else 0
