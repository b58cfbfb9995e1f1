"""Problems of a data set and where they are: one `Problem` per place, collected rather than raised."""

from __future__ import annotations

from collections.abc import Sequence

from bowstring.errors import DataError
from bowstring.errors import Problem as Problem
from bowstring.errors import quote_value as quote_value


def raise_if_any(problems: Sequence[Problem], source: str | None = None) -> None:
    """Raise a DataError with the first problem and, if `data validate` can read the source, the command that lists
    all."""
    if not problems:
        return
    more = len(problems) - 1
    way = f": bowstring data validate {source}" if source else ""
    raise DataError(f"{problems[0]} (and {more:,} more{way})" if more else str(problems[0]), problems)


def join_choices(choices: Sequence[str]) -> str:
    """Join choices for an error message: 'persona, profile or schedule'."""
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"
