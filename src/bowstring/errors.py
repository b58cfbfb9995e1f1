"""Every error that Bowstring raises on purpose.

BowstringError          anything below; str() is one line that names the thing, the place and the way out
├── UsageError          a command or call that cannot be meant: wrong option, unknown name (exit code 2)
│   └── MissingSplit    a split that a data set does not have; `available` are those that it has
├── DataError           a data set that cannot be read or breaks its format (exit code 2)
├── FetchError          something that had to be fetched and could not be (exit code 1)
├── ModelError          no request to a model can succeed: wrong key, unknown model, no credit (exit code 1)
├── StoreError          the store of responses cannot be read or written (exit code 1)
└── RunError            a run that cannot go on: its folder is in use, its budget is spent (exit code 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bowstring.datasets.problems import Problem


class BowstringError(Exception):
    exit_code = 1


def quote_value(value: object, limit: int = 60) -> str:
    """A value as an error quotes it: on one line, and cut where it is long."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


class UsageError(BowstringError):
    exit_code = 2


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """That an option has one of its values."""
    if value not in choices:
        raise UsageError(f"--{name} {value}: expected {', '.join(map(str, choices[:-1]))} or {choices[-1]}")


class MissingSplit(UsageError):
    def __init__(self, message: str, available: Sequence[str]) -> None:
        super().__init__(message)
        self.available = tuple(available)


class DataError(BowstringError):
    """A data set that breaks its format; `problems` holds every place that was found, in order."""

    exit_code = 2

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class FetchError(BowstringError):
    pass


class ModelError(BowstringError):
    pass


class StoreError(BowstringError):
    pass


class RunError(BowstringError):
    pass
