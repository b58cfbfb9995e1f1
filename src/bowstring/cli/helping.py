"""How help shows options and arguments: RUN…, TEXT, INTEGER, instead of the names of Python's types."""

from __future__ import annotations

from typing import Any

_KINDS = {"str": "TEXT", "int": "INTEGER", "float": "NUMBER", "path": "PATH", "bool": ""}


def show_plainly(command: Any) -> Any:
    """A parsed command, and those below it, with plain names for what their parameters take."""
    for below in getattr(command, "commands", {}).values():
        show_plainly(below)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            _show_argument(parameter)
        elif parameter.metavar is None and not getattr(parameter, "is_flag", False):
            parameter.metavar = _kind(parameter)
    return command


def _show_argument(argument: Any) -> None:
    name = (argument.metavar or argument.name.upper()).rstrip(".…")
    name = f"{name}…" if argument.nargs != 1 else name
    shown = name if argument.required else f"[{name}]"
    argument.metavar = name
    argument.get_usage_pieces = lambda ctx: [shown]
    argument.get_help_record = lambda ctx: (name, argument.help or "")


def _kind(option: Any) -> str:
    """What an option takes: its choices, or what kind of value."""
    described = option.type_descriptor
    if described.is_choice and described.choices:
        return f"[{'|'.join(str(getattr(choice, 'value', choice)) for choice in described.choices)}]"
    name = str(getattr(described.annotation, "__name__", "str")).lower()
    return next((shown for kind, shown in _KINDS.items() if kind in name and shown), "TEXT")
