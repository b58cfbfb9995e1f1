"""The response store: every paid response, by the hash of its request.

One SQLite file beside the runs. A response is committed before it is used, so a killed process loses only requests
in flight. Several processes may use one store at the same time.

    trunks      hash and the shared beginning of prompts as compressed JSON: one row for all branches
    responses   key, model, trunk, branch, settings, completion, where it came from, and a checksum of the row
    written     the number of responses ever written; also recorded in the seal beside the store

The first committed response to a request wins: whoever asked, everybody uses the stored one. Who is asking now is in
the leases beside the store, so that nobody else asks the same.

SQLite checks the structure of a file, not its content, and treats a truncated log as complete. The checksums and the
seal reveal both: a damaged store is never used, and its intact responses are saved.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bowstring.errors import StoreError
from bowstring.files.escaping import replace_surrogates
from bowstring.files.writing import draft_of
from bowstring.records import Completion, Message, Prompt, Provenance, Sampling, Trunk, Usage
from bowstring.runs.leases import Leases
from bowstring.runs.rows import COLUMNS, Row, is_intact, row_checksum
from bowstring.runs.salvage import Salvaged, is_trunk, keep_damaged_copy, salvage, unpack
from bowstring.runs.seal import Seal, seal_of

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
    role TEXT NOT NULL,
    address TEXT NOT NULL,
    sent TEXT NOT NULL,
    raw_finish TEXT,
    response_id TEXT,
    engine TEXT NOT NULL,
    precision TEXT NOT NULL,
    may_be_thought INTEGER NOT NULL,
    stored_at REAL NOT NULL,
    hash TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (n INTEGER NOT NULL);
INSERT INTO written SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM written);
"""
_OURS = {"trunks", "responses", "written"}
_COLUMNS = ", ".join(COLUMNS)
_MARKS = ", ".join("?" * len(COLUMNS))
_INSERT = f"INSERT OR IGNORE INTO responses ({_COLUMNS}) VALUES ({_MARKS})"  # noqa: S608 - only constant names
_REPLACE = f"INSERT OR REPLACE INTO responses ({_COLUMNS}) VALUES ({_MARKS})"  # noqa: S608 - only constant names
_EVERY = f"SELECT {_COLUMNS} FROM responses"  # noqa: S608 - only constant names
_ONE = f"{_EVERY} WHERE key = ?"
_VERSION = 3
_BATCH = 256  # maximum responses per transaction
_PATIENCE, _QUICK_PATIENCE = 60.0, 2.0  # seconds to wait for another process that has locked the store


@dataclass(frozen=True, slots=True)
class Response:
    """A completion with its request, to be written to the store. It replaces a stored one only if `replaces`."""

    key: str
    model: str
    prompt: Prompt
    sampling: Sampling
    completion: Completion
    role: str = ""
    replaces: bool = False


class StoreDamaged(StoreError):
    """A damaged store; `reason` says how that was detected."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is damaged: {reason}; the next run with it saves the intact responses")
        self.reason = reason


class Store:
    """Open for reading and writing, or with `readonly` for lookups in an existing store.

    `quick` is for a reader who waits: of the responses only those that are read are checked, and a store that another
    process has locked is soon given up."""

    def __init__(self, path: Path, *, readonly: bool = False, quick: bool = False) -> None:
        # Log and seal are beside the real file, however many links lead to it.
        self.path = Path(os.path.realpath(path)) if path.is_symlink() else path
        self._readonly = readonly
        self._quick = quick
        self._format = 0  # format of the existing file; 0 if there is none
        if not readonly:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._refuse_other_files()
        self._seal = Seal(self.path, readonly=readonly)
        try:
            self._verify()
            self._open()
        except StoreDamaged as damage:
            error = self._as_found(damage) if readonly else None
            self._seal.close()
            raise error or self._repair(damage) from damage
        except StoreError:
            self._seal.close()
            raise
        self._writing = threading.Lock()
        self._queue: asyncio.Queue[tuple[Response, asyncio.Future[Completion]]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self.leases = Leases(None if readonly else self.path)

    def _refuse_other_files(self) -> None:
        """Raise StoreError for a file that is not a store, before a seal is created beside it."""
        if seal_of(self.path).exists():
            return
        self._seal = Seal(self.path, readonly=True)
        try:
            self._verify()
        except StoreDamaged as damage:
            if (error := self._as_found(damage)) is not damage:
                raise error from damage
        finally:
            self._seal.close()

    def _as_found(self, damage: StoreDamaged) -> StoreError:
        """Return the error for a file that cannot be read as a store: damage, unless it has no sign of a store."""
        return damage if self._seal.written or salvage(self.path).rows else self._other_file(damage)

    def _other_file(self, damage: StoreDamaged) -> StoreError:
        return StoreError(f"{self.path} is not a store: {damage.reason}; choose another with --store")

    def _open(self) -> None:
        connections: list[sqlite3.Connection] = []
        try:
            for _ in range(2):
                connections.append(self._connect(readonly=self._readonly))
            self._reader, self._writer = connections
            if not self._readonly:
                self._writer.executescript(_SCHEMA)
                self._writer.execute(f"PRAGMA user_version = {_VERSION}")
                self._writer.commit()
                self._format = _VERSION
                (written,) = self._writer.execute("SELECT n FROM written").fetchone()
                self._seal.note(written)  # the store may have been copied without its seal
        except sqlite3.Error as error:
            for connection in connections:
                connection.close()
            raise StoreError(f"{self.path} cannot be used as a store: {error}; choose another with --store") from error

    def _verify(self) -> None:
        """Check every page, the checksum of every response, and the count in the seal; raise StoreDamaged.

        This is read-only and runs before anything else: closing the last connection removes the log.
        """
        if not self.path.exists():
            self._seal.reset(0)
            return
        if not self.path.stat().st_size:
            if self._seal.written:
                raise self._damaged("it is empty")
            return
        try:
            with closing(self._connect(readonly=True)) as connection:
                self._check(connection)
        except sqlite3.Error as error:
            if (reason := _damage(error)) is not None:
                raise self._damaged(reason) from error
            way_out = "choose another with --store"
            if self._readonly and self._has_log() and not os.access(self.path.parent, os.W_OK):
                way_out = (
                    f"its log cannot be read from a read-only folder: copy the store together with {self.path.name}-wal"
                )
            raise StoreError(f"{self.path} cannot be used as a store: {error}; {way_out}") from error

    def _check(self, connection: sqlite3.Connection) -> None:
        sealed = self._seal.written  # read before the store: other processes may be writing
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found not in (0, _VERSION):
            raise StoreError(
                f"{self.path} has format {found}, but this version reads format {_VERSION}: choose another store with "
                "--store"
            )
        self._format = found
        if found == 0 and not sealed and (foreign := _foreign(connection)):
            raise StoreError(
                f"{self.path} is not a store but another database, with {foreign}; choose another with --store"
            )
        if code := _code_for_table(connection):
            raise StoreError(
                f"{self.path} is not a store but another database, with {code}; choose another with --store"
            )
        if not self._quick:
            self._check_all(connection)
        written = self._count(connection) if found == _VERSION else 0
        if (missing := sealed - written) > 0:
            raise self._damaged(f"the last {missing:,} responses written are missing")

    def _check_all(self, connection: sqlite3.Connection) -> None:
        (form,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if form != "ok":
            raise self._damaged(" ".join(str(form).replace("*** in database main ***", "").split()))
        if self._format == _VERSION and (altered := sum(not is_intact(row) for row in connection.execute(_EVERY))):
            raise self._damaged(f"{altered:,} of its responses fail their checksum")

    def _count(self, connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT n FROM written").fetchone()
        if row is None or not isinstance(row[0], int):
            raise self._damaged("the number of its responses is missing")
        return row[0]

    def _damaged(self, reason: str) -> StoreDamaged:
        return StoreDamaged(self.path, reason)

    def _repair(self, damage: StoreDamaged) -> StoreError:
        """Save the intact responses, keep the damaged file, and return an error that says so: the user decides before
        anything is requested again."""
        with Seal(self.path, exclusive=True) as self._seal:
            try:
                self._verify()
                return StoreError(
                    f"{self.path} was damaged, and another process has repaired it: run the command again"
                )
            except StoreDamaged:
                found = salvage(self.path)
            if not found.rows and not self._seal.written:  # no sign that it was ever a store
                return self._other_file(damage)
            draft = _write_draft(self.path, found)
            aside = keep_damaged_copy(self.path)
            draft.replace(self.path)
            self._seal.reset(len(found.rows))
        return StoreError(
            f"{self.path} was damaged ({damage.reason}): {len(found.rows):,} responses were saved; the damaged file "
            f"was kept as {aside.name}; run the same command again to resume and request the missing ones"
        )

    def _connect(self, *, readonly: bool) -> sqlite3.Connection:
        mode = "ro" if readonly else "rwc"
        if readonly and not self._has_log() and not os.access(self.path.parent, os.W_OK):
            mode = "ro&immutable=1"  # SQLite would create a log even for reading
        connection = sqlite3.connect(
            f"file:{quote(str(self.path.absolute()))}?mode={mode}",
            timeout=_QUICK_PATIENCE if self._quick else _PATIENCE,
            check_same_thread=False,
            uri=True,
        )
        if readonly:
            return connection
        _use_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _has_log(self) -> bool:
        log = self.path.with_name(f"{self.path.name}-wal")
        return log.exists() and log.stat().st_size > 0

    def get(self, key: str) -> Completion | None:
        row = self.row(key)
        return None if row is None else completion_of(row)

    def row(self, key: str) -> Row | None:
        """Return the response to a request, if there is one, as a row."""
        if not self._format:
            return None
        try:
            row: Row | None = self._reader.execute(_ONE, (key,)).fetchone()
        except sqlite3.Error as error:
            if (reason := _damage(error)) is not None:
                raise self._damaged(reason) from error
            raise StoreError(f"{self.path} cannot be read: {error}") from error
        if row is not None and not is_intact(row):
            raise self._damaged("a response fails its checksum")
        return row

    def rows(self) -> Iterator[Row]:
        """Yield all responses, by key."""
        if self._format:
            yield from self._reader.execute(f"{_EVERY} ORDER BY key")

    def models(self) -> list[str]:
        """Return the identities of the models whose responses are stored."""
        return [str(model) for (model,) in self._reader.execute("SELECT DISTINCT model FROM responses ORDER BY model")]

    def trunks(self) -> Iterator[tuple[str, bytes]]:
        """Yield the hashes and packed messages of all trunks."""
        if self._format:
            yield from self._reader.execute("SELECT hash, messages FROM trunks")

    def drop(self, keys: Iterable[str]) -> int:
        """Remove responses, and the trunks that no other response has; return how many there were."""
        with self._writing, self._writer:
            gone = self._writer.executemany("DELETE FROM responses WHERE key = ?", [(key,) for key in keys]).rowcount
            self._writer.execute("DELETE FROM trunks WHERE hash NOT IN (SELECT trunk FROM responses)")
        return max(0, gone)

    def add(self, rows: Iterable[Row], trunks: Iterable[tuple[str, bytes]]) -> int:
        """Add responses of another store, except those to requests that this one has; return how many were added. Their
        trunks are intact, and replace damaged ones."""
        with self._writing:
            with self._writer:
                self._writer.executemany("INSERT OR REPLACE INTO trunks VALUES (?, ?)", trunks)
                added = max(0, self._writer.executemany(_INSERT, rows).rowcount)
                self._writer.execute("UPDATE written SET n = n + ?", (added,))
                (written,) = self._writer.execute("SELECT n FROM written").fetchone()
            self._seal.note(written)
        return added

    async def put(self, response: Response) -> Completion:
        """Return the stored completion once it is on disk: this one, or that of another process that was first.
        Responses that arrive together share a transaction."""
        if self._task is None:
            self._task = asyncio.create_task(self._write())
        done: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((response, done))
        return await done

    async def _write(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            stored: list[Completion] = []
            error: StoreError | None = None
            try:
                stored = await asyncio.to_thread(self._commit, [response for response, _ in batch])
            except Exception as failed:  # passed on to every waiting caller
                way_out = "earlier responses are kept; free some space and run the same command again to resume"
                error = StoreError(f"{self.path} cannot be written: {failed}; {way_out}")
            for n, (_, done) in enumerate(batch):
                if not done.done():
                    done.set_exception(error) if error else done.set_result(stored[n])

    def _commit(self, responses: Sequence[Response]) -> list[Completion]:
        """Write what is not there yet, and return what is stored."""
        trunks = {r.prompt.trunk.digest: r.prompt.trunk for r in responses}
        rows = [_row(r) for r in responses]
        with self._writing:
            try:
                self._writer.execute("BEGIN IMMEDIATE")  # before looking: another process may remove a trunk
                new = [(digest, _pack(trunk)) for digest, trunk in trunks.items() if not self._has_trunk(digest)]
                self._writer.executemany("INSERT INTO trunks VALUES (?, ?)", new)
                stored = [self._put_row(row, replaces=r.replaces) for row, r in zip(rows, responses, strict=True)]
                added = sum(is_new for _, is_new in stored)
                self._writer.execute("UPDATE written SET n = n + ?", (added,))
                (written,) = self._writer.execute("SELECT n FROM written").fetchone()
                self._writer.commit()
            except sqlite3.Error:
                self._writer.rollback()
                raise
        self._seal.note(written)
        return [completion_of(row) for row, _ in stored]

    def _has_trunk(self, digest: str) -> bool:
        return self._writer.execute("SELECT 1 FROM trunks WHERE hash = ?", (digest,)).fetchone() is not None

    def _put_row(self, row: Row, *, replaces: bool) -> tuple[Row, bool]:
        """Return the row that is stored, and whether it is this one."""
        if self._writer.execute(_REPLACE if replaces else _INSERT, row).rowcount:
            return row, True
        return self._writer.execute(_ONE, (row[0],)).fetchone(), False

    def trunk(self, digest: str) -> tuple[Message, ...] | None:
        """Return the messages of a trunk; None if they are missing or damaged."""
        row = self._reader.execute("SELECT messages FROM trunks WHERE hash = ?", (digest,)).fetchone()
        return unpack(row[0]) if row is not None and is_trunk(digest, row[0]) else None

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self.close_now()

    def close_now(self) -> None:
        """Close a store to which nothing was written."""
        self.leases.close()
        self._reader.close()
        self._writer.close()
        self._seal.close()


def _foreign(connection: sqlite3.Connection) -> str | None:
    """Return what shows that a database without our format number is not a store; one without tables may become one."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")
    tables = {str(name) for (name,) in rows}
    if others := tables - _OURS:
        return f"a table {min(others)!r}"
    columns = {row[1] for row in connection.execute("PRAGMA table_info(responses)")}
    return "responses of another kind" if columns and columns != set(COLUMNS) else None


def _use_log(connection: sqlite3.Connection) -> None:
    """Write through a log. SQLite does not wait for another process that opens or closes the store at this moment."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _code_for_table(connection: sqlite3.Connection) -> str | None:
    """Return what is in the place of one of our tables and is evaluated when it is read. In a database of somebody
    else that may take forever."""
    rows = connection.execute(
        "SELECT type, name FROM sqlite_master WHERE type = 'view' OR type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"
    )
    return next((f"a {kind} {name!r} of another kind" for kind, name in rows if str(name).lower() in _OURS), None)


def _damage(error: sqlite3.Error) -> str | None:
    """Return what is wrong if the file is damaged; None if the cause is the disk, permissions or another process."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by Python: text that is not UTF-8
        return "a text in it cannot be read"
    # A generic error for a correct statement means that a table or column is missing.
    kinds = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    return str(error) if code & 0xFF in kinds else None


def _write_draft(path: Path, found: Salvaged) -> Path:
    """Write a store of the saved responses, complete before it is renamed."""
    draft = draft_of(path)
    draft.unlink(missing_ok=True)
    connection = sqlite3.connect(draft)
    try:
        connection.execute("PRAGMA journal_mode = MEMORY")  # an incomplete draft is useless
        connection.executescript(_SCHEMA)
        connection.executemany("INSERT OR IGNORE INTO trunks VALUES (?, ?)", found.trunks.items())
        connection.executemany(_INSERT, found.rows)
        connection.execute("UPDATE written SET n = ?", (len(found.rows),))
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.commit()
    except sqlite3.Error as error:
        raise StoreError(f"{draft} cannot be written: {error}") from error
    finally:
        connection.close()
    return draft


def completion_of(row: Sequence[Any]) -> Completion:
    """Return the completion in a row of the store."""
    found = dict(zip(COLUMNS, row, strict=True))
    usage = Usage(found["prompt_tokens"], found["cached_tokens"], found["completion_tokens"])
    found["may_be_thought"] = bool(found["may_be_thought"])
    provenance = Provenance(**{name: found[name] for name in Provenance.__slots__})
    return Completion(found["text"], found["finish"], found["reasoning"], usage, provenance)


def _row(response: Response) -> Row:
    completion, made = response.completion, response.completion.provenance
    row = (
        response.key,
        response.model,
        response.prompt.trunk.digest,
        json.dumps([[m.role, *m.parts] for m in response.prompt.branch]),
        response.sampling.as_json(),
        replace_surrogates(completion.text),
        completion.finish,
        None if completion.reasoning is None else replace_surrogates(completion.reasoning),
        completion.usage.prompt,
        completion.usage.cached,
        completion.usage.completion,
        response.role,
        made.address,
        made.sent,
        made.raw_finish,
        made.response_id,
        made.engine,
        made.precision,
        int(made.may_be_thought),
        time.time(),
    )
    return (*row, row_checksum(row))


def _pack(trunk: Trunk) -> bytes:
    return zlib.compress(json.dumps([[m.role, *m.parts] for m in trunk.messages]).encode(), 6)
