"""Tracebacks of user code: logged where its exceptions are caught, for `--debug` and for the log of a run.

    log_traceback("python:my_model:answer", error)

A record of the logger has the exception. `DistinctTracebacks` tells those that come from the same place apart from new
ones: a fault in a model is raised for every item.
"""

from __future__ import annotations

import logging
import traceback

from bowstring.files.redaction import redact

LOGGER = logging.getLogger("bowstring.user_code")
LOGGER.setLevel(logging.INFO)
LOGGER.propagate = False  # the failed request is reported in any case; handlers are added where somebody wants more
LOGGER.addHandler(logging.NullHandler())

_MOST = 200  # distinct tracebacks that are kept
_LONGEST = 50_000  # characters of one

Place = tuple[object, ...]


def log_traceback(where: str, error: BaseException) -> None:
    """Log an exception of the user code that `where` names."""
    LOGGER.info("%s", where, exc_info=error)


def format_traceback(error: BaseException) -> str:
    """Return a redacted traceback with its causes."""
    text = redact("".join(traceback.format_exception(error)))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…\n"


class DistinctTracebacks:
    """Counts logged exceptions by type and place in the code. Each keeps the text of its first."""

    def __init__(self) -> None:
        self._texts: dict[Place, str] = {}
        self._counts: dict[Place, int] = {}
        self._beyond = 0

    def add(self, record: logging.LogRecord) -> str | None:
        """Count a record; return its text if there was none like it."""
        error = record.exc_info[1] if record.exc_info else None
        return None if error is None else self.add_error(record.getMessage(), error)

    def add_error(self, where: str, error: BaseException) -> str | None:
        frames = traceback.walk_tb(error.__traceback__)
        place: Place = (where, type(error), *((frame.f_code, line) for frame, line in frames))
        if place not in self._texts and len(self._texts) >= _MOST:
            self._beyond += 1
            return None
        self._counts[place] = self._counts.get(place, 0) + 1
        if place in self._texts:
            return None
        self._texts[place] = f"{redact(where)} raised:\n{format_traceback(error)}"
        return self._texts[place]

    def __str__(self) -> str:
        """All of them, each with its count."""
        texts = [_with_count(text, self._counts[place]) for place, text in self._texts.items()]
        if self._beyond:
            texts.append(f"{self._beyond:,} more exceptions, at other places\n")
        return "\n".join(texts)


def _with_count(text: str, n: int) -> str:
    return text if n == 1 else f"{n:,} times, the first of them: {text}"
