"""Every error that Bowstring raises on purpose.

BowstringError          base class; str() is one line that names the problem, the place and the fix
├── UsageError          an invalid command or call: wrong option, unknown name (exit code 2)
│   └── MissingSplit    a split that the data set does not have; `available` lists the splits it has
├── DataError           a data set that cannot be read or breaks its format (exit code 2)
│   └── MissingData     a data set that is neither on this disk nor a hub id
├── FetchError          a download that failed (exit code 1)
├── ModelError          no request to the model can succeed: wrong key, unknown model, no credit (exit code 1)
├── StoreError          the response store cannot be read or written (exit code 1)
└── RunError            a run that cannot continue: its folder is in use, its budget is spent (exit code 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass


class BowstringError(Exception):
    exit_code = 1


def quote_value(value: object, limit: int = 60) -> str:
    """Return a value as errors quote it: on one line, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


class UsageError(BowstringError):
    exit_code = 2


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise a UsageError unless an option has one of its allowed values."""
    if value not in choices:
        given = quote_value(value) if len(str(value)) > 60 else value
        raise UsageError(f"--{name} {given}: expected {', '.join(map(str, choices[:-1]))} or {choices[-1]}")


class MissingSplit(UsageError):
    def __init__(self, message: str, available: Sequence[str]) -> None:
        super().__init__(message)
        self.available = tuple(available)


@dataclass(frozen=True, slots=True)
class Problem:
    """One place where a data set breaks its format. Rows are counted from 0, as in data frames."""

    file: str
    row: int | None
    column: str | None
    message: str

    def __str__(self) -> str:
        place = self.file if self.row is None else f"{self.file} row {self.row}"
        said = f"{place}: {self.column} {self.message}" if self.column else f"{place}: {self.message}"
        return " ".join(said.splitlines())  # names from the data set may contain line breaks

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class DataError(BowstringError):
    """A data set that breaks its format; `problems` lists every problem, in order."""

    exit_code = 2

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class MissingData(DataError):
    pass


class FetchError(BowstringError):
    pass


class ModelError(BowstringError):
    pass


class StoreError(BowstringError):
    pass


class RunError(BowstringError):
    pass
