"""The store: every response that was paid for, by the hash of what was asked.

One SQLite file beside the runs. A response is committed before anyone uses it, so a process that is killed loses
only what was in flight. Several processes may use one store at a time.

    trunks      hash, the shared beginning of prompts as JSON, compressed: one row however many branches
    responses   key, model, trunk, branch, settings, and what came back
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bowstring.errors import StoreError
from bowstring.records import Completion, Message, Prompt, Sampling, Trunk, Usage, fields_of

_SCHEMA = """
CREATE TABLE IF NOT EXISTS trunks (hash TEXT PRIMARY KEY, messages BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS responses (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    trunk TEXT NOT NULL,
    branch TEXT NOT NULL,
    sampling TEXT NOT NULL,
    text TEXT NOT NULL,
    finish TEXT NOT NULL,
    reasoning TEXT,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    stored_at REAL NOT NULL
) WITHOUT ROWID;
"""
_INSERT = "INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_VERSION = 1
_BATCH = 256  # responses committed in one transaction at the most
_PATIENCE_MS = 60_000  # how long to wait for another process that is writing


@dataclass(frozen=True, slots=True)
class Response:
    """A completion with the request it belongs to, on its way into the store."""

    key: str
    model: str
    prompt: Prompt
    sampling: Sampling
    completion: Completion


class Store:
    """Open for reading and writing, or with `readonly` to look things up in one that exists."""

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        self._readonly = readonly
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._reader = self._connect()
            self._writer = self._connect()
            found = self._reader.execute("PRAGMA user_version").fetchone()[0]
            if found not in (0, _VERSION):
                raise StoreError(f"{path} was written by a newer version (format {found}); use that, or --store")
            if not readonly:
                self._writer.executescript(_SCHEMA)
                self._writer.execute(f"PRAGMA user_version = {_VERSION}")
                self._writer.commit()
            self._reader.execute("SELECT key, model, trunk, cached_tokens FROM responses LIMIT 1")
        except sqlite3.Error as error:
            raise StoreError(f"{path} cannot be used as a store: {error}; choose another with --store") from error
        self._writing = threading.Lock()
        self._known_trunks: set[str] = set()
        self._queue: asyncio.Queue[tuple[Response, asyncio.Future[None]]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def _connect(self) -> sqlite3.Connection:
        mode = "ro" if self._readonly else "rwc"
        place = f"file:{quote(str(self.path.absolute()))}?mode={mode}"
        connection = sqlite3.connect(place, timeout=_PATIENCE_MS / 1000, check_same_thread=False, uri=True)
        if self._readonly:
            return connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def get(self, key: str) -> Completion | None:
        try:
            row = self._reader.execute(
                "SELECT text, finish, reasoning, prompt_tokens, cached_tokens, completion_tokens"
                " FROM responses WHERE key = ?",
                (key,),
            ).fetchone()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be read: {error}") from error
        return None if row is None else Completion(row[0], row[1], row[2], Usage(*row[3:]))

    async def put(self, response: Response) -> None:
        """Return when the response is on disk. Responses that arrive together share a transaction."""
        if self._task is None:
            self._task = asyncio.create_task(self._write())
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((response, done))
        await done

    async def _write(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            error: StoreError | None = None
            try:
                await asyncio.to_thread(self._commit, [response for response, _ in batch])
            except Exception as failed:  # whatever it is, those who wait must hear of it
                error = StoreError(f"{self.path} cannot be written: {failed}")
            for _, done in batch:
                if not done.done():
                    done.set_exception(error) if error else done.set_result(None)

    def _commit(self, responses: Sequence[Response]) -> None:
        trunks = {r.prompt.trunk.digest: r.prompt.trunk for r in responses}
        new = {digest: trunk for digest, trunk in trunks.items() if digest not in self._known_trunks}
        rows = [_row(r) for r in responses]
        with self._writing:
            try:
                self._writer.executemany(
                    "INSERT OR IGNORE INTO trunks VALUES (?, ?)", [(d, _pack(t)) for d, t in new.items()]
                )
                self._writer.executemany(_INSERT, rows)
                self._writer.commit()
            except sqlite3.Error:
                self._writer.rollback()
                raise
        self._known_trunks.update(new)

    def trunk(self, digest: str) -> tuple[Message, ...] | None:
        row = self._reader.execute("SELECT messages FROM trunks WHERE hash = ?", (digest,)).fetchone()
        return None if row is None else _unpack(row[0])

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self.shut()

    def shut(self) -> None:
        """Close a store to which nothing was put."""
        self._reader.close()
        self._writer.close()


def _row(response: Response) -> tuple[object, ...]:
    completion = response.completion
    return (
        response.key,
        response.model,
        response.prompt.trunk.digest,
        json.dumps([[m.role, *m.parts] for m in response.prompt.branch]),
        json.dumps(fields_of(response.sampling), sort_keys=True),
        _storable(completion.text),
        completion.finish,
        None if completion.reasoning is None else _storable(completion.reasoning),
        completion.usage.prompt,
        completion.usage.cached,
        completion.usage.completion,
        time.time(),
    )


def _storable(text: str) -> str:
    """SQLite holds UTF-8; half a surrogate pair, which JSON lets through, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _pack(trunk: Trunk) -> bytes:
    return zlib.compress(json.dumps([[m.role, *m.parts] for m in trunk.messages]).encode(), 6)


def _unpack(packed: bytes) -> tuple[Message, ...]:
    return tuple(Message(role, tuple(parts)) for role, *parts in json.loads(zlib.decompress(packed)))
