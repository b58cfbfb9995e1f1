"""Options of a command, generated from the fields of settings dataclasses (`bowstring.settings`).

    app = typer.Typer()
    options = (*options_of(DrawingSettings), *options_of(Printing))
    add_command(app, "draw", run, options, help="Draw a sample.")

    def run(given: dict[str, Any]) -> int:
        printing, drawing = sort_keywords((Printing, DrawingSettings), given, where="bowstring draw")

`run` gets only the values that the user gave, checked, by field name; defaults come from the dataclasses.
`changed(options, field, help=…)` changes the name, help or default of an option for one command. A tuple field, or one
with `axis=True`, is a repeatable option; its value is a list.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from bowstring.settings import Option, check_value

_METAVARS: dict[type | None, str] = {str: "TEXT", int: "INTEGER", float: "NUMBER", Path: "PATH", None: "TEXT"}
Run = Callable[[dict[str, Any]], int]


def add_command(
    app: typer.Typer,
    name: str,
    run: Run,
    options: Iterable[Option],
    *,
    help: str,
    arguments: Iterable[Option] = (),
    hidden: bool = False,
) -> None:
    """Add a command with these options to an app; `arguments` are positional, in this order. A hidden command does not
    appear in help and accepts any arguments."""
    arguments = tuple(arguments)
    offered = {one.field: one for one in (*arguments, *options) if one.offered}

    def command(**values: Any) -> int:
        given = {field: value for field, value in values.items() if value is not None and value != []}
        for field, value in given.items():  # here, because errors name the option as this command spells it
            for each in value if isinstance(value, list) else [value]:
                check_value(offered[field], each)
        return run(given)

    parameters = [_argument(one) if one in arguments else _parameter(one) for one in offered.values()]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {}
    anything = {"ignore_unknown_options": True, "allow_extra_args": True} if hidden else None
    app.command(name, help=help, hidden=hidden, context_settings=anything)(command)


def changed(options: Sequence[Option], field: str, **values: Any) -> tuple[Option, ...]:
    """The same options, with one of them changed for a command."""
    assert any(one.field == field for one in options), field
    return tuple(replace(one, **values) if one.field == field else one for one in options)


def _parameter(one: Option) -> inspect.Parameter:
    kind: Any = str if one.kind is None else one.kind
    flags = f"{one.flag}/--no-{one.flag.removeprefix('--')}" if kind is bool and one.default is True else one.flag
    info = typer.Option(
        ... if one.required else None,
        flags,
        help=_help(one),
        metavar=None if kind is bool else one.metavar or _metavar(one),
        show_default=False,
    )
    annotation = list[kind] if one.several or one.axis else kind
    return inspect.Parameter(
        one.field,
        inspect.Parameter.KEYWORD_ONLY,
        default=info,
        annotation=annotation if one.required else annotation | None,
    )


def _argument(one: Option) -> inspect.Parameter:
    kind: Any = str if one.kind is None else one.kind
    metavar = f"{one.metavar}…" if one.several else one.metavar
    info = typer.Argument(... if one.required else None, metavar=metavar, help=_help(one), show_default=False)
    annotation = list[kind] if one.several else kind
    return inspect.Parameter(
        one.field,
        inspect.Parameter.KEYWORD_ONLY,
        default=info,
        annotation=annotation if one.required else annotation | None,
    )


def _metavar(one: Option) -> str:
    return f"[{'|'.join(map(str, one.choices))}]" if one.choices else _METAVARS[one.kind]


def _help(one: Option) -> str:
    """The help of an option, with its default and limits."""
    default = _default(one)
    extra = [f"default: {default}" if default else "", str(one.limits)]
    notes = "; ".join(part for part in extra if part)
    return f"{one.help}  [{notes}]" if notes else one.help


def _default(one: Option) -> str:
    if one.shown_default is not None:
        return one.shown_default
    value = one.default
    if one.required or value is None or value is False or value == ():
        return ""
    if value is True:
        return one.flag.removeprefix("--")
    values = value if isinstance(value, tuple) else (value,)
    return ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in values)
