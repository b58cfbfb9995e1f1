"""How the command shows what a synthesis would take, and what it made."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from bowstring.api.synthesize import Made, Synthesis
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.hicupid.users import User
from bowstring.cli.data_views import labelled
from bowstring.cli.output import plain
from bowstring.cli.progress import short


def print_projection(synthesis: Synthesis, to: Console) -> None:
    to.print(f"{synthesis.n:,} to make; nothing was asked. About:\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, name in enumerate(("", "requests", "prompt tokens", "answer tokens", "cost")):
        table.add_column(name, justify="right" if n else "left", no_wrap=True)
    rows = synthesis.projection()
    for role, row in rows.items():
        cost = "not known" if row["cost"] is None else f"${row['cost']:,.2f}"
        tokens = (short(row["prompt_tokens"]), short(row["completion_tokens"]))
        table.add_row(_ROLES.get(role, role), f"{row['requests']:,}", *tokens, cost)
    to.print(table)
    models = ", ".join(dict.fromkeys(plain(row["model"]) for row in rows.values()))
    note = f"\nPrices of {models} as of {synthesis.prices.dated}. --preview 2 makes two and measures."
    to.print(note, style="dim", markup=False)


_ROLES = {"model": "writer", "judge": "checklists", "judge_user": "simulated user"}


def print_items(made: Made, to: Console) -> None:
    for item in made.items:
        to.print()
        _print_user(item, to) if isinstance(item, User) else _print_instances(item, to)
    to.print()
    for line in made.quality.lines():
        to.print(line, style="dim", markup=False)


def _print_user(user: User, to: Console) -> None:
    to.print(f"User {user.user_id}: {len(user.history)} dialogues, {len(user.questions)} questions", style="bold")
    shown = {d.kind: d for d in reversed(user.history)}
    for kind, dialogue in shown.items():
        to.print(f"\n{kind} dialogue", style="dim")
        for message in dialogue.messages[:6]:
            to.print(labelled(message.role, message.text))
    for q in {q.type: q for q in reversed(user.questions)}.values():
        to.print(f"\n{q.type} question", style="dim")
        known: Any = q.persona or q.schedule
        to.print(labelled("known", plain(str(known))))
        for label, text in (
            ("asked", q.question),
            ("personalized", q.personalized_answer),
            ("general", q.general_answer),
        ):
            to.print(labelled(label, text))


def _print_instances(instances: list[Instance], to: Console) -> None:
    first = instances[0]
    to.print(plain(first.persona_id), style="bold", markup=False)
    to.print(labelled("request", first.request))
    to.print(labelled("context", first.context_factor))
    for instance in instances:
        to.print(labelled(instance.type, f"{instance.preference} ({len(instance.sessions)} sessions before)"))
    to.print("\nthe first session", style="dim")
    for message in first.sessions[0].dialogue.messages[:6]:
        to.print(labelled(message.role, message.text))
