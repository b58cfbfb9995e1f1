"""What the commands print with: text of data sets made harmless, JSON, tables."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# Everything that steers a terminal, and the marks that reorder text; newline and tab stay.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """A text of a data set or a model, with control characters made visible instead of obeyed."""
    return _STEERING.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def console() -> Console:
    from rich.console import Console

    class OurConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1; main() knows better

    return OurConsole(highlight=False)


def print_json(value: Any) -> None:
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, indent=2, ensure_ascii=not unicode))


def counted(n: int, what: str) -> str:
    """'1 problem', '2 problems'."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def tell(line: str) -> None:
    """News while one waits; not part of the result."""
    print(line, file=sys.stderr, flush=True)
