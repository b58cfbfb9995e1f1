"""Write the tracebacks of user code, and of an unexpected error, to log.txt in the folders of a run, while it runs.

with RunLog(folders) as log:
    Runner(groups, askers, watch=log.note)

Each distinct traceback is there once, with a count. Without any there is no file.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType

from bowstring.errors import BowstringError
from bowstring.files.tracebacks import LOGGER, DistinctTracebacks
from bowstring.runs.folder import RunFolder
from bowstring.runs.runner import Snapshot

NAME = "log.txt"


class RunLog(logging.Handler):
    def __init__(self, folders: Sequence[RunFolder]) -> None:
        super().__init__()
        self._folders = folders
        self._tracebacks = DistinctTracebacks()
        self._unwritten = self._recounted = False

    def __enter__(self) -> RunLog:
        for folder in self._folders:
            folder.remove(NAME)  # that of an earlier command
        LOGGER.addHandler(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        LOGGER.removeHandler(self)
        if isinstance(error, Exception) and not isinstance(error, BowstringError):
            self._tracebacks.add_error("bowstring", error)
            self._recounted = True
        self._write()

    def emit(self, record: logging.LogRecord) -> None:
        is_new = self._tracebacks.add(record) is not None
        self._unwritten, self._recounted = self._unwritten or is_new, True

    def note(self, snapshot: Snapshot) -> None:  # noqa: ARG002
        """Write what is new; pass it to a runner as `watch`. Counts are updated at the end."""
        if self._unwritten:
            self._write()

    def _write(self) -> None:
        if self._recounted:
            with suppress(OSError):  # a full disk is reported elsewhere
                for folder in self._folders:
                    folder.write_remark(NAME, str(self._tracebacks))
            self._unwritten = self._recounted = False
