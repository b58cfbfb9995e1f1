"""bowstring audit runs/NAME: check whether the score of a run is valid."""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path
from typing import Any

import typer

from bowstring.benchmarks import registry
from bowstring.cli.options import add_command, changed
from bowstring.runs.running import RunOptions
from bowstring.runs.shards import HELP
from bowstring.settings import Option, options_of
from bowstring.studies.audit import OPTIONS_OF_A_RUN, AuditSettings

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_RUN = Option("run", "RUN", Path, MISSING, metavar="RUN", help="Folder of a finished run.")
_COMMAND_OPTIONS = (
    Option("dry_run", "--dry-run", bool, False, help="Show the planned requests and their cost, and stop."),
    Option("json", "--json", bool, False, help="Print audit.json (or the plan) instead of a table."),
)
_HELP = """Check whether the score of a run is valid: baselines, probes, other judges, people's labels.

Each check prints numbers with 95% intervals, their expected ranges, a verdict (fine, unclear, problem or info) and its
meaning. Run the same command again to resume an audit that was stopped; no request is sent twice.
"""


def _options() -> tuple[Option, ...]:
    checks = "; ".join(
        f"{benchmark.title}: {', '.join(auditing.checks)}"
        for benchmark in registry.all_benchmarks()
        if (auditing := benchmark.auditing()) is not None
    )
    settings = changed(options_of(AuditSettings), "checks", help=f"Checks to run, separated by commas. {checks}.")
    of_run = tuple(one for one in options_of(RunOptions) if one.field in OPTIONS_OF_A_RUN)
    of_run = changed(of_run, "shard", help=f"{HELP} --sample applies first.")
    for field in ("store", "prompts"):
        of_run = changed(of_run, field, shown_default="as in the run")
    return (*settings, *of_run, *_COMMAND_OPTIONS)


def _audit(given: dict[str, Any]) -> int:
    from dataclasses import asdict

    from bowstring.benchmarks.standing import about_of
    from bowstring.cli.audit_views import print_audit
    from bowstring.cli.eval import report_outcome
    from bowstring.cli.output import console, print_json, tell
    from bowstring.cli.progress import ProgressLine
    from bowstring.cli.run_views import print_plan
    from bowstring.runs.folder import read_metrics
    from bowstring.runs.plan import make_plan
    from bowstring.studies.audit import prepare_audit

    run, dry_run, json = given.pop("run"), given.pop("dry_run", False), given.pop("json", False)
    prepared = prepare_audit(run, watch=ProgressLine(), tell=tell, with_keys=not dry_run, **given)
    if dry_run:
        plan = make_plan(prepared.running)
        print_json(asdict(plan)) if json else print_plan(plan, console())
        return 0
    found = prepared.run()
    if json:
        print_json(found)
    else:
        print_audit(found, about_of(read_metrics(run)), console())
        if prepared.running.options.part is not None:
            print("\nnext: merge the stores of all shards; then the same command with --no-ask in place of --shard")
            return report_outcome(prepared.ended) if prepared.ended else 0
        page = run / "report.html"
        add_to_page = f"next: bowstring report {run} --data SET   (adds the audit to the page)"
        print(f"\n{page if prepared.on_page else add_to_page}")
    return report_outcome(prepared.ended) if prepared.ended else 0


add_command(app, "audit", _audit, _options(), help=_HELP, arguments=[_RUN])
