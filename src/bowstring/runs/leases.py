"""Who is asking what: leases beside a store, so that two processes do not send the same request.

    responses.sqlite.leases

A lease names a request and its owner, a process. It counts while the owner is alive: an owner says so every few
seconds, and one on this machine can be looked up. Clocks of machines differ, so an owner that has not renewed its lease
while this process watched for the usual duration is not alive, whatever the lease says. Leases need not survive a
crash, so nothing is synced to disk. If they cannot be kept, two processes may send the same request; the first response
still wins.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

LASTS = 30.0  # seconds that an owner counts as alive after its last sign of life
_BETWEEN = 5.0  # seconds between two signs of life
_FIRST_LOOK, _LAST_LOOK = 0.05, 1.0  # seconds between two looks at the lease of another
_SCHEMA = """
CREATE TABLE IF NOT EXISTS owners (owner TEXT PRIMARY KEY, host TEXT, pid INTEGER, until REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
"""


class Leases:
    """The leases of one process. `take` and `free` are for requests; `wait` is for those that another one has taken."""

    def __init__(self, store: Path | None) -> None:
        """Without a store, everything may be sent."""
        self._owner = uuid.uuid4().hex
        self._connection: sqlite3.Connection | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._first_seen: dict[str, tuple[float, float]] = {}  # by owner: its `until`, and when that was first seen
        if store is not None:
            with suppress(sqlite3.Error):
                self._connection = _open(store.with_name(f"{store.name}.leases"))
                self._renew()

    def take(self, key: str) -> bool:
        """Return whether this process may send a request: nobody else who is alive is sending it."""
        if self._connection is None:
            return True
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._keep_alive())
        try:
            with self._transaction() as connection:
                holder = connection.execute(
                    "SELECT owners.owner, host, pid, until FROM leases JOIN owners USING (owner) WHERE key = ?", (key,)
                ).fetchone()
                if holder is not None and self._is_alive_other(*holder):
                    return False
                connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?)", (key, self._owner))
        except sqlite3.Error:
            return True
        return True

    def free(self, key: str) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.execute("DELETE FROM leases WHERE key = ? AND owner = ?", (key, self._owner))

    async def wait(self, key: str, seconds: float) -> bool:
        """Wait until nobody else is sending a request any more, but not longer than this; return whether that is so."""
        if key not in self._waiting:
            self._waiting[key] = asyncio.get_running_loop().create_future()
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        ended, _ = await asyncio.wait({self._waiting[key]}, timeout=seconds)
        return bool(ended)

    def close(self) -> None:
        for task in (self._renewing, self._watching):
            if task is not None:
                task.cancel()
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.execute("DELETE FROM leases WHERE owner = ?", (self._owner,))
                self._connection.execute("DELETE FROM owners WHERE owner = ?", (self._owner,))
            self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        assert self._connection is not None
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        finally:
            self._connection.execute("COMMIT")

    def _renew(self) -> None:
        if self._connection is None:
            return
        row = (self._owner, _host(), os.getpid(), time.time() + LASTS)
        with suppress(sqlite3.Error):
            self._connection.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?)", row)

    async def _keep_alive(self) -> None:
        while True:
            self._renew()
            await asyncio.sleep(_BETWEEN)

    async def _watch(self) -> None:
        """Look at the leases of others until nobody waits for one."""
        pause = _FIRST_LOOK
        while self._waiting:
            taken = self._taken_by_others()
            for key in [key for key in self._waiting if key not in taken]:
                self._waiting.pop(key).set_result(None)
                pause = _FIRST_LOOK
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK)

    def _taken_by_others(self) -> set[str]:
        if self._connection is None:
            return set()
        try:
            owners = self._connection.execute("SELECT owner, host, pid, until FROM owners").fetchall()
            alive = {owner for owner, *about in owners if self._is_alive_other(owner, *about)}
            rows = self._connection.execute("SELECT key, owner FROM leases").fetchall()
        except sqlite3.Error:
            return set()
        return {key for key, owner in rows if owner in alive}

    def _is_alive_other(self, owner: str, host: str, pid: int, until: float) -> bool:
        """Return whether an owner is another process that is alive."""
        if owner == self._owner:
            return False
        now = time.monotonic()
        known = self._first_seen.get(owner)
        if known is None or known[0] != until:
            known = self._first_seen[owner] = (until, now)
        return now - known[1] < LASTS and _is_alive(host, pid, until)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@cache
def _host() -> str:
    """Return the machine, or the container: process numbers mean nothing outside it."""
    with suppress(OSError):
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    return platform.node()


def _is_alive(host: str, pid: int, until: float) -> bool:
    if until < time.time():
        return False
    if host != _host() or os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
