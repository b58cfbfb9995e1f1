"""How the commands show what a run would cost, and what came out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from bowstring.benchmarks.evaluate import Run
from bowstring.benchmarks.plan import Plan, RolePlan
from bowstring.cli.output import plain
from bowstring.cli.progress import short
from bowstring.reports.page import number


def print_plan(plan: Plan, to: Console) -> None:
    to.print(f"{plan.items:,} items in {plan.groups:,} groups; nothing was asked.\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    table.add_column("")
    for role in plan.roles:
        table.add_column(role, justify="right", no_wrap=True)
    rows: dict[str, Callable[[RolePlan], str]] = {
        "requests": lambda p: f"{p.requests:,}",
        "already in the store": lambda p: f"{p.stored:,}",
        "prompt tokens": lambda p: short(p.prompt_tokens),
        "after sharing trunks": lambda p: short(p.after_sharing),
        "answer tokens, about": lambda p: short(p.completion_tokens),
        "cost": lambda p: _money(p.cost),
        "cost without sharing": lambda p: _money(p.cost_unshared),
    }
    for label, shown in rows.items():
        table.add_row(label, *(shown(p) for p in plan.roles.values()))
    to.print(table)
    models = ", ".join(plain(p.model) for p in plan.roles.values())
    note = (
        f"\nTokens by {plain(plan.tokenizer)}. Prices of {models} as of {plan.prices_dated}. Sharing assumes that "
        "the server caches trunks."
    )
    to.print(note, style="dim", markup=False)


def print_run(run: Run, to: Console) -> None:
    m = run.metrics
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, name in enumerate(("", "value", "95% interval", "n")):
        table.add_column(name, justify="right" if n else "left", no_wrap=True)
    untrusted = False
    for name, e in m["metrics"].items():
        untrusted |= not e["trusted"]
        mark = "" if e["trusted"] else " *"
        value, low, high = (number(e[k], name) for k in ("value", "low", "high"))
        table.add_row(name, value, f"{low} – {high}{mark}", f"{e['n']:,}")
    to.print()
    to.print(table)
    if untrusted:
        clusters = "personas" if m["benchmark"] == "cupid" else "users"
        to.print(f"[dim]* fewer than 30 {clusters}: do not trust the interval[/dim]")
    for note in m["notes"]:
        to.print(f"! {plain(note)}", style="yellow", markup=False)
    counts = {"failed": m["failed"], "unparsed": m["unparsed"], "cut at their limit": m["truncated"]}
    if any(counts.values()):
        to.print("! " + ", ".join(f"{n:,} {what}" for what, n in counts.items() if n))
    for role, usage in m["usage"].items():
        to.print(f"[dim]{role}: {_usage(usage)}[/dim]")


def _usage(usage: Mapping[str, Any]) -> str:
    said = f"{usage['requests']:,} asked, {usage['from_store']:,} from the store"
    prompt = usage["prompt_tokens"]
    if prompt:
        said += f"; {short(prompt)} prompt tokens, {usage['cached_tokens'] / prompt:.1%} cached"
        said += f" (of {usage['shareable_tokens'] / prompt:.1%} that could be)"
    if usage["cost"]:
        said += f"; {_money(usage['cost'])}"
    return said


def _money(cost: float | None) -> str:
    return "not known" if cost is None else f"${cost:,.2f}" if cost >= 1 or not cost else f"${cost:.4f}"
