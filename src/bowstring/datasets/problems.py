"""What is wrong with a data set, and where: one `Problem` a place, collected rather than raised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bowstring.errors import DataError
from bowstring.errors import quote_value as quote_value


@dataclass(frozen=True, slots=True)
class Problem:
    """`file` and `column` as the data set names them; rows are counted from 0, as data frames do."""

    file: str
    row: int | None
    column: str | None
    message: str

    def __str__(self) -> str:
        place = self.file if self.row is None else f"{self.file} row {self.row}"
        said = f"{place}: {self.column} {self.message}" if self.column else f"{place}: {self.message}"
        return " ".join(said.splitlines())  # names of files, columns and types are the set's own

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def raise_if_any(problems: Sequence[Problem], source: str | None = None) -> None:
    """Stop at a data set that breaks its format, with the first problem and, for a source that `data validate` can
    read, the way to see the others.
    """
    if not problems:
        return
    more = len(problems) - 1
    way = f": bowstring data validate {source}" if source else ""
    raise DataError(f"{problems[0]} (and {more:,} more{way})" if more else str(problems[0]), problems)


def join_choices(choices: Sequence[str]) -> str:
    """'persona, profile or schedule': the way an error names what it expected."""
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"
