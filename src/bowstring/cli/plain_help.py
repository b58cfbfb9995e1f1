"""Help texts with the placeholders TEXT, INTEGER, PATH or RUN…, independent of the installed version of Typer."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

_TYPER_TYPE = re.compile(r"<([^<>]+)>")
_NAMES = {"str": "TEXT", "int": "INTEGER", "float": "NUMBER", "path": "PATH"}
_REPEATED = "…"


def with_plain_help(command: Any) -> Any:
    """The command and its subcommands with such help. Arguments and options are Click objects."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.get_usage_pieces = partial(_usage_of_argument, parameter)
            record = partial(_record_of_argument, parameter, parameter.get_help_record)
        else:
            record = partial(_record_of_option, parameter.get_help_record)
        parameter.get_help_record = record
    if hasattr(command, "subcommand_metavar"):
        command.subcommand_metavar = f"COMMAND {_REPEATED}"
    for below in getattr(command, "commands", {}).values():
        with_plain_help(below)
    return command


def _name(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper()).rstrip(f".{_REPEATED}")
    return name if argument.nargs == 1 else name + _REPEATED


def _usage_of_argument(argument: Any, _: Any) -> list[str]:
    return [_name(argument) if argument.required else f"[{_name(argument)}]"]


def _record_of_argument(argument: Any, record: Any, context: Any) -> tuple[str, str] | None:
    found = record(context)
    return found and (_name(argument), found[1])


def _record_of_option(record: Any, context: Any) -> tuple[str, str] | None:
    found = record(context)
    return found and (_TYPER_TYPE.sub(lambda match: _value_name(match[1]), found[0]), found[1])


def _value_name(label: str) -> str:
    """The placeholder of a type as Typer writes it: 'list[str]', 'int range', 'csv|latex'."""
    label = re.sub(r"^list\[(.*)\]$", r"\1", label).removesuffix(" range")
    return f"[{label}]" if "|" in label else _NAMES.get(label.lower(), label.upper())
