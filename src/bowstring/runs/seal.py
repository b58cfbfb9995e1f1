"""The seal of a store: a file that records how many responses were written, and that all users of the store lock.

    responses.sqlite.seal

SQLite takes a log that is truncated or has a flipped byte as one that ended there; the seal detects this. Repairing a
store needs an exclusive lock. The seal is written after the commit, without fsync: it may be too low, never too high.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from bowstring.errors import StoreError
from bowstring.files.writing import NO_LINKS
from bowstring.runs.folder import NoLocks, try_lock, warn_no_locks

_PATIENCE = 60.0  # seconds to wait for a process that is repairing the store
_BETWEEN = 0.05


def seal_of(store: Path) -> Path:
    return store.with_name(f"{store.name}.seal")


class Seal:
    """Locked together with others, or `exclusive`; with `readonly` it is only read."""

    def __init__(self, store: Path, *, readonly: bool = False, exclusive: bool = False) -> None:
        self._path = seal_of(store)
        self._file: int | None = None
        if readonly:
            with suppress(FileNotFoundError):
                self._file = os.open(self._path, os.O_RDONLY)
            return
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o666)
        except OSError as error:
            raise StoreError(
                f"{store} cannot be used as a store: {error.strerror}; choose another with --store"
            ) from error
        if not self._hold(exclusive=exclusive):
            self.close()
            why = "another process has it open" if exclusive else "another process is repairing it"
            raise StoreError(f"{store} is damaged, and {why}: wait for it, then run the same command again")

    def _hold(self, *, exclusive: bool) -> bool:
        if os.name == "nt" or self._file is None:  # Windows cannot rename an open file anyway
            return True
        end = time.monotonic() + (0.0 if exclusive else _PATIENCE)
        try:
            while not try_lock(self._file, shared=not exclusive):
                if time.monotonic() >= end:
                    return False
                time.sleep(_BETWEEN)
        except NoLocks as why:
            warn_no_locks(self._path.parent, str(why))
        return True

    @property
    def written(self) -> int:
        """The number of responses written, as recorded in the seal."""
        if self._file is None:
            return 0
        os.lseek(self._file, 0, os.SEEK_SET)
        said = os.read(self._file, 20)
        return int(said) if said.isdigit() else 0

    def note(self, written: int) -> None:
        """Record the count, unless another process has already recorded a higher one."""
        if written > self.written:
            self.reset(written)

    def reset(self, written: int) -> None:
        if self._file is None:
            return
        with suppress(OSError):  # a full disk is reported elsewhere
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, b"%020d" % written)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Seal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
