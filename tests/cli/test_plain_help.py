"""The help of every command calls values by plain names."""

import re
from importlib import import_module
from typing import Annotated

import pytest
import typer

from bowstring.cli import COMMANDS, main
from bowstring.cli.plain_help import with_plain_help


def commands() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = typer.main.get_command(import_module(f"bowstring.cli.{name}").app)
        found += [(name,), *((name, below) for below in getattr(command, "commands", {}))]
    return found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_help_has_plain_metavars(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert not re.search(r"<[a-z]|\{[A-Z]|list\[|\[x|<=x|\[ARGS\]", told), told


def test_arguments_and_options_are_named():
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    def show(
        runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs.")],
        place: Annotated[str, typer.Argument(help="Where.")] = "here",
        level: Annotated[list[int] | None, typer.Option(help="Levels.")] = None,
    ) -> None:
        """Show runs."""

    command = with_plain_help(typer.main.get_command(app))
    with command.make_context("show", ["a", "b"]) as context:
        told = " ".join(command.get_help(context).split())
    assert told.startswith("Usage: show [OPTIONS] RUN… [PLACE]")
    assert "RUN… Runs. [required]" in told
    assert "--level INTEGER Levels." in told
