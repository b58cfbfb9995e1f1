"""What all commands have in common: plain help texts, --debug, and paths that are not empty."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bowstring.cli.plain_help import with_plain_help


def with_common_parts(command: Any) -> Any:
    """The command and its subcommands with these parts. Arguments and options are Click objects."""
    _add_parts(command)
    return with_plain_help(command)


def _add_parts(command: Any) -> None:
    for parameter in command.params:
        parameter.process_value = partial(_process_value, parameter, parameter.process_value)
    below = getattr(command, "commands", None)
    if below is None:
        command.params.append(_debug_option())
    for one in (below or {}).values():
        _add_parts(one)


def _process_value(parameter: Any, process: Callable[[Any, Any], Any], context: Any, given: Any) -> Any:
    value = process(context, given)
    paths = [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, Path)]
    if paths and "" in (given if isinstance(given, list | tuple) else [given]):  # Path("") is the current folder
        raise typer.BadParameter("expected a path, got an empty text", ctx=context, param=parameter)
    return value


def _debug_option() -> Any:
    """The option as help shows it. `main` takes it from the arguments, wherever it stands."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def command(
        debug: Annotated[bool, typer.Option("--debug", help="Print tracebacks, also those of your own code.")] = False,
    ) -> None: ...

    (option,) = (one for one in typer.main.get_command(app).params if one.name == "debug")
    option.expose_value = False
    return option
