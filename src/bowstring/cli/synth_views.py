"""The terminal output of `bowstring synth`: the plan and the preview."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from bowstring.api.synthesize import PreparedSynthesis, SynthesisResult
from bowstring.cli.data_views import print_blocks
from bowstring.cli.output import plain
from bowstring.cli.progress import short


def print_projection(prepared: PreparedSynthesis, to: Console) -> None:
    to.print(f"{prepared.n:,} {prepared.synthesis.thing.many} to generate. This is an estimate; no request was sent.\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, name in enumerate(("", "requests", "prompt tokens", "answer tokens", "cost")):
        table.add_column(name, justify="right" if n else "left", no_wrap=True)
    rows = prepared.projection()
    for role, row in rows.items():
        cost = "unknown" if row["cost"] is None else f"${row['cost']:,.2f}"
        tokens = (short(row["prompt_tokens"]), short(row["completion_tokens"]))
        table.add_row(prepared.synthesis.role_titles.get(role, role), f"{row['requests']:,}", *tokens, cost)
    to.print(table)
    priced = dict.fromkeys(plain(row["model"]) for row in rows.values() if row["cost"])
    prices = f"Prices of {', '.join(priced)} as of {prepared.prices.dated}. " if priced else ""
    note = f"\n{prices}--preview 2 generates two and measures the cost."
    to.print(note, style="dim", markup=False)


def print_items(prepared: PreparedSynthesis, made: SynthesisResult, to: Console) -> None:
    for item in made.items:
        print_blocks(prepared.synthesis.show(item), to)
    to.print()
    for line in made.quality.lines():
        to.print(line, style="dim", markup=False)
