"""Output helpers of the commands: safe text, JSON, counts, a console."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from bowstring.files.escaping import escape_control_characters

if TYPE_CHECKING:
    from rich.console import Console

plain = escape_control_characters  # for all text that comes from data sets and models


def console() -> Console:
    from rich.console import Console

    from bowstring.cli.narrow import fitted

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1; main() handles it

        def print(self, *objects: Any, **how: Any) -> None:
            """Print as rich does, but never cut a number in a table."""
            super().print(*(fitted(shown, self) for shown in objects), **how)

    # Without emoji: python:m:answer is a name.
    return OurConsole(highlight=False, emoji=False, _environ=_environment())


def _environment() -> dict[str, str]:
    """The environment without a size of the terminal that is 0 or not a number: rich would print nothing, or fail."""
    sizes = {name: os.environ[name] for name in ("COLUMNS", "LINES") if name in os.environ}
    unusable = {name for name, n in sizes.items() if not (n.isascii() and n.isdigit() and n.strip("0"))}
    return {name: value for name, value in os.environ.items() if name not in unusable}


def print_json(value: Any) -> None:
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, indent=2, ensure_ascii=not unicode))


def counted(n: int, what: str) -> str:
    """'1 problem', '2 problems'."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def tell(line: str) -> None:
    """Print a message to stderr; it is not part of the result."""
    print_to_stderr(f"{line}\n")


def print_to_stderr(text: str) -> None:
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:
        # Nobody reads it any more, or its disk is full. The work continues; the rest goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
