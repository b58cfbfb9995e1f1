"""How `bowstring data` shows a set, a user and an instance in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.hicupid.types import Profile, Question
from bowstring.cli.output import plain
from bowstring.records import Dialogue, History

_MOST = 8  # groups of an axis shown before "and … more"


def print_description(about: Mapping[str, Any], to: Console) -> None:
    to.print(Text(plain(about["name"]), style="bold"), end="  ")
    to.print(_headline(about))
    to.print(_counts(about))
    to.print(_lengths(about))
    to.print(_balance(about))


def _headline(about: Mapping[str, Any]) -> str:
    if about["benchmark"] == "cupid":
        return (
            f"CUPID: {about['personas']:,} personas, {sum(about['instances'].values()):,} instances, "
            f"{about['context_factors']:,} contexts"
        )
    questions = sum(n for kinds in about["questions"].values() for n in kinds.values())
    return f"HiCUPID: {about['users']:,} users, {questions:,} questions, {about['turns']:,} turns"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim", show_edge=False)
    for n, column in enumerate(columns):
        table.add_column(column, justify="right" if n else "left", min_width=4 if n else 10)
    return table


def _counts(about: Mapping[str, Any]) -> Padding:
    if about["benchmark"] == "cupid":
        table = _table("instances", *about["instances"], "all")
        counts = about["instances"].values()
        table.add_row("test", *(f"{n:,}" for n in counts), f"{sum(counts):,}")
        return Padding(table, (1, 0, 0, 2), expand=False)
    kinds = list(about["dialogues"])
    table = _table("", *kinds, "all", "users")
    for split, by in about["questions"].items():
        users = about["users_asked"][split]
        table.add_row(f"questions, {split}", *(f"{by[k]:,}" for k in kinds), f"{sum(by.values()):,}", f"{users:,}")
    for split, n in about["transcripts"].items():
        table.add_row(f"transcripts, {split}", *[""] * len(kinds), f"{n:,}", "")
    by = about["dialogues"]
    table.add_row("dialogues", *(f"{by[k]:,}" for k in kinds), f"{sum(by.values()):,}", f"{about['users']:,}")
    return Padding(table, (1, 0, 0, 2), expand=False)


def _lengths(about: Mapping[str, Any]) -> Padding:
    table = _table("lengths", "mean", "sd", "max")
    for name, spread in about["lengths"].items():
        table.add_row(name, f"{spread['mean']:,.1f}", f"{spread['sd']:,.1f}", f"{spread['max']:,.0f}")
    counted = about["tokenizer"]
    table.caption = f"tokens by the vocabulary of {plain(counted)}" if counted else "tokens not counted"
    table.caption_justify = "left"
    return Padding(table, (1, 0, 0, 2), expand=False)


def _balance(about: Mapping[str, Any]) -> Padding:
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    table.add_column("balance", no_wrap=True)
    table.add_column("")
    for axis, counts in about["balance"].items():
        total = sum(counts.values())
        if not total:
            continue
        groups = [f"{plain(name)} {n:,} ({n / total:.0%})" for name, n in list(counts.items())[:_MOST]]
        if len(counts) > _MOST:
            groups.append(f"and {len(counts) - _MOST:,} more")
        table.add_row(axis.replace("_", " "), Text(", ".join(groups)))
    return Padding(table, (1, 0, 1, 2), expand=False)


def print_user(user_id: int, history: History, questions: Sequence[Question], to: Console) -> None:
    to.rule(f"user {user_id}", align="left")
    profile = next((q.profile for q in questions if q.profile), None)
    if profile:
        to.print(_profile(profile))
    for dialogue in history:
        _print_dialogue(f"dialogue {dialogue.id}, {dialogue.kind}", dialogue, to)
    if questions:
        to.rule(f"{len(questions)} questions", align="left")
    for question in questions:
        print_question(question, to)


def _profile(profile: Profile) -> Text:
    fields = (profile.age, profile.gender, profile.occupation, profile.income_range, profile.personality)
    return Text(plain(", ".join(fields)), style="italic")


def print_question(question: Question, to: Console) -> None:
    to.print()
    to.print(Text(f"question {question.key}, {question.type}, {question.split}", style="bold"))
    to.print(labelled("asked", question.question))
    to.print(labelled("personalized", question.personalized_answer))
    to.print(labelled("general", question.general_answer))
    to.print(labelled("because", _reason(question), style="dim"))


def _reason(question: Question) -> str:
    known = []
    if question.persona:
        p = question.persona
        known.append(f"{p.relation} {p.entity} ({p.category}, {p.sentiment})")
    if question.profile:
        known.append(f"the profile: {question.profile.occupation}, {question.profile.age}")
    if question.schedule:
        known.append(f"{question.schedule.event}, {question.schedule.datetime}")
    where = ", ".join(map(str, question.evidence))
    return f"{'; '.join(known)}  [dialogue {where}]"


def print_instance(instance: Instance, to: Console) -> None:
    to.rule(plain(instance.key), align="left")
    to.print(labelled("request", instance.request))
    to.print(labelled("context", instance.context_factor))
    to.print(labelled("preference", instance.preference))
    to.print(labelled("checklist", "\n".join(f"- {item}" for item in instance.checklist)))
    evidence = set(instance.evidence)
    for session in instance.sessions:
        number = session.dialogue.id
        same = "  ◆ the request's context" if number in evidence else ""
        _print_dialogue(f"session {number + 1}: {plain(session.context_factor)}{same}", session.dialogue, to)
        to.print(labelled("preference", session.preference, style="dim"))


def _print_dialogue(heading: str, dialogue: Dialogue, to: Console) -> None:
    to.print()
    to.print(Text(heading, style="bold"))
    for message in dialogue.messages:
        to.print(labelled(message.role, message.text))


def labelled(label: str, text: str, *, style: str = "") -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=12, style="cyan", justify="right", no_wrap=True)
    grid.add_column(style=style)
    grid.add_row(label, Text(plain(text)))
    return grid
