"""Groups of commands with one command per benchmark, such as `bowstring eval hicupid`.

A command is built when it is called, so no other benchmark is imported for it. A benchmark of another package that
cannot be loaded fails only its own command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import typer
from typer.core import TyperGroup

from bowstring.benchmarks import registry
from bowstring.cli.common import with_common_parts
from bowstring.errors import UsageError


class BenchmarkGroup(TyperGroup, ABC):
    @staticmethod
    @abstractmethod
    def add(app: typer.Typer, name: str) -> None:
        """Add the command of a benchmark to an app."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(registry.names())

    def get_command(self, ctx: Any, name: str) -> Any:  # noqa: ARG002
        if name.startswith("-"):
            return None
        if name not in registry.names():
            registry.get(name)  # raises an error that names the nearest one
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        try:
            self.add(app, name)
        except UsageError as error:
            _add_broken(app, name, error)
        command = with_common_parts(typer.main.get_command(app))
        command.name = name
        return command


def _add_broken(app: typer.Typer, name: str, error: UsageError) -> None:
    @app.command(name, help=str(error), context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
    def broken() -> None:
        raise error
