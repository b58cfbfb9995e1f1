"""bowstring synth hicupid --offline --users 30 --out DIR: generate a data set."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import require_part
from bowstring.cli.benchmark_groups import BenchmarkGroup
from bowstring.cli.options import add_command
from bowstring.settings import Option, options_of
from bowstring.synthesis.settings import SynthesisOptions

if TYPE_CHECKING:
    from bowstring.api.synthesize import PreparedSynthesis, SynthesisResult
    from bowstring.benchmarks.synthesis import Synthesis


class _Group(BenchmarkGroup):
    @staticmethod
    def add(app: typer.Typer, name: str) -> None:
        synthesis = registry.get(name).synthesis()
        if synthesis is not None:
            add_command(app, name, partial(_synthesize, name), _options(synthesis), help=synthesis.about)
        else:
            add_command(app, name, partial(_refuse, name), (), help="", hidden=True)


app = typer.Typer(
    cls=_Group,
    help="Generate a data set in a benchmark's published layout: with any model, or offline from word banks.\n\n"
    "Run the same command again to resume; no request is sent twice.",
    add_completion=False,
    rich_markup_mode=None,
)


_OFFLINE = Option(
    "offline", "--offline", bool, False, help="Generate from word banks, without a model; for load tests."
)
_DRY_RUN = Option(
    "dry_run", "--dry-run", bool, False, help="Show the planned requests and their estimated cost, and stop."
)


@app.callback()
def _group() -> None:
    """Keep benchmarks as subcommands even if there is only one."""


def _refuse(name: str, given: dict[str, Any]) -> int:  # noqa: ARG001
    benchmark = registry.get(name)
    require_part(benchmark, benchmark.synthesis(), "data generator")
    return 2


def _options(synthesis: Synthesis) -> Iterator[Option]:
    yield from options_of(synthesis.roles)
    if synthesis.offline is not None:
        yield _OFFLINE
    yield from options_of(synthesis.settings)
    yield from options_of(SynthesisOptions)
    yield _DRY_RUN


def _synthesize(benchmark: str, given: dict[str, Any]) -> int:
    from bowstring.api.synthesize import prepare_synthesis, synthesize_offline
    from bowstring.cli.output import console, tell
    from bowstring.cli.progress import ProgressLine
    from bowstring.cli.synth_views import print_items, print_projection
    from bowstring.errors import UsageError

    dry_run = given.pop("dry_run", False)
    if given.pop("offline", False):
        if dry_run:
            raise UsageError("--offline uses no model; leave out --dry-run")
        return _print_result(synthesize_offline(benchmark, tell=tell, **given), benchmark)
    prepared = prepare_synthesis(benchmark, with_keys=not dry_run, watch=ProgressLine(), tell=tell, **given)
    if dry_run:
        print_projection(prepared, console())
        return 0
    made = prepared.run()
    if prepared.preview:
        print_items(prepared, made, console())
        _print_cost(made, prepared)
    return _report_outcome(made, prepared)


def _print_cost(made: SynthesisResult, prepared: PreparedSynthesis) -> None:
    projected = prepared.projected(made)
    if projected is not None:
        cost, whole = projected
        print(f"\nThe preview cost ${cost:.4f}; all {prepared.n:,} would cost about ${whole:,.2f}.")


def _report_outcome(made: SynthesisResult, prepared: PreparedSynthesis) -> int:
    from bowstring.cli.output import plain, tell

    if made.stopped:
        tell(f"Stopped ({made.stopped}). Responses are saved; run the same command again to resume.")
        return 130 if made.stopped == "interrupted" else 1
    if made.failed:
        tell(
            f"{len(made.failed):,} of {prepared.n:,} failed, so nothing was written; run the same command "
            f"again to retry them."
        )
        tell(plain(made.failed[0]["failure"]["reason"]))
        return 1
    if not made.items:
        for line in made.quality.lines():
            tell(line)
        tell("No item could be generated, so nothing was written.")
        return 1
    if prepared.preview:
        print(
            "Nothing was written. Run the same command without --preview for the whole set; the responses so "
            "far are saved."
        )
        return 0
    return _print_result(made, prepared.benchmark.name)


def _print_result(made: SynthesisResult, benchmark: str) -> int:
    for line in made.quality.lines():
        print(line)
    print(f"\n{made.folder}\nnext: bowstring data validate {made.folder}")
    print(f"      bowstring eval {benchmark} --data {made.folder} --model …")
    return 0
