"""What the commands print with: text of data sets made harmless, JSON, tables."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from bowstring.files.escaping import escape_control_characters

if TYPE_CHECKING:
    from rich.console import Console

plain = escape_control_characters  # what commands print of data sets and models goes through it


def console() -> Console:
    from rich.console import Console

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1; main() knows better

    return OurConsole(highlight=False, emoji=False)  # python:m:answer is a name


def print_json(value: Any) -> None:
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, indent=2, ensure_ascii=not unicode))


def counted(n: int, what: str) -> str:
    """'1 problem', '2 problems'."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def tell(line: str) -> None:
    """News while one waits; not part of the result."""
    print(line, file=sys.stderr, flush=True)
