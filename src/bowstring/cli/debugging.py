"""`--debug`, an option of every command: print tracebacks of user code and of errors to stderr."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from bowstring.cli.output import plain, tell
from bowstring.files.tracebacks import LOGGER, DistinctTracebacks, format_traceback


class _Printing(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self._tracebacks = DistinctTracebacks()

    def emit(self, record: logging.LogRecord) -> None:
        if text := self._tracebacks.add(record):
            tell(plain(text.rstrip()))


@contextmanager
def printing_tracebacks() -> Iterator[None]:
    """Print exceptions of user code when they happen, each distinct one once."""
    handler = _Printing()
    LOGGER.addHandler(handler)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)


def print_traceback(error: BaseException) -> None:
    tell(plain(format_traceback(error).rstrip()))
