"""A study in one SQLite file: units, assignments and annotations.

    study         settings, runs and task
    annotators    names and the tokens of their links
    units         contents of pages, with sources, which pages never show
    turns         assigned units: a random page name, the position, and whether the answers are swapped
    annotations   responses; one row per turn, however often a form is sent

An annotation is committed before the next page is sent, and read back by the name of the file: SQLite continues to
write to a file that was moved or deleted.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import BaseModel, Field, TypeAdapter

from bowstring.benchmarks.people import Task, Unit
from bowstring.errors import StoreError, UsageError
from bowstring.files.redaction import error_line
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.writing import NO_LINKS
from bowstring.web.annotating.dealing import Turn
from bowstring.web.annotating.tasks import DEGREES, PageResponse, task_of_study

_SCHEMA = """
CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE annotators (name TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE units (id INTEGER PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE turns (
    page TEXT PRIMARY KEY,
    annotator TEXT NOT NULL REFERENCES annotators,
    place INTEGER NOT NULL,
    unit INTEGER NOT NULL REFERENCES units,
    swapped INTEGER NOT NULL,
    sent_at REAL,
    UNIQUE (annotator, place),
    UNIQUE (annotator, unit)
) WITHOUT ROWID;
CREATE TABLE annotations (
    page TEXT PRIMARY KEY REFERENCES turns,
    choices TEXT NOT NULL,
    criteria TEXT NOT NULL,
    edits TEXT NOT NULL,
    comment TEXT NOT NULL,
    seconds REAL NOT NULL,
    at REAL NOT NULL,
    changes INTEGER NOT NULL
) WITHOUT ROWID;
"""
_VERSION = 1
_FORMAT = 0x426F7741  # SQLite's application id: the kind of the file
_PATIENCE_S = 30.0
_LATEST = 32_503_680_000.0  # the year 3000
_UNIT: TypeAdapter[Unit] = TypeAdapter(Unit)
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError)  # ParseError and ValidationError are ValueErrors
_COLUMNS = "a.choices, a.criteria, a.edits, a.comment, a.seconds, a.at, a.changes"


@dataclass(frozen=True, slots=True)
class Annotation:
    response: PageResponse
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    at: Annotated[float, Field(ge=0, lt=_LATEST)]
    changes: int


_ANNOTATION: TypeAdapter[Annotation] = TypeAdapter(Annotation)


class _Settings(BaseModel):
    task: str
    annotators: list[str]
    criteria: list[str]
    limit: int | None


class _Counts(BaseModel):
    items: int
    shared: int


class _About(BaseModel):
    """What pages and exports need to know about a study."""

    settings: _Settings
    counts: _Counts
    benchmark: str | None = None
    runs: list[str] = []
    data: dict[str, Any] = {}


_ABOUT: TypeAdapter[_About] = TypeAdapter(_About)


class Gone(StoreError):
    """The file was moved, deleted or replaced while the study was open."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A unit assigned to an annotator, with the annotation, if there is one."""

    page: str
    annotator: str
    place: int
    swapped: bool
    sent_at: float | None
    unit: Unit
    annotation: Annotation | None


@dataclass(frozen=True, slots=True)
class Progress:
    done: int
    total: int
    first_open: str | None  # the next page


class Study:
    """A study file, safe for several threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise UsageError(f"{path} does not exist; bowstring annotate RUN… creates a study")
        self._lock = threading.Lock()
        self._connection = _connect(path)
        self._identity = _identity_of(path)
        self._copy: Path | None = None
        with self._reading() as connection:
            found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            if found[0] != _FORMAT:
                raise UsageError(f"{path} is not a study of bowstring annotate; choose another --db")
            if found[1] != _VERSION:
                raise StoreError(
                    f"{path} was written by a newer version (format {found[1]}); use that version, or choose "
                    f"another --db"
                )
            rows = connection.execute("SELECT name, value FROM study").fetchall()
        try:
            self.about: dict[str, Any] = {name: parse_strict_json(value) for name, value in rows}
            self.people = {token: name for name, token in self.links().items()}
            about = _ABOUT.validate_python(self.about)
            self.task: Task = task_of_study(about.settings.task, about.benchmark)
        except _MALFORMED as error:
            raise self._damaged(error) from error
        except UsageError as error:  # its benchmark is not installed here
            raise UsageError(f"{path}: {error}") from error

    @property
    def criteria(self) -> tuple[str, ...]:
        return tuple(self.about["settings"]["criteria"])

    @property
    def items(self) -> int:
        """The number of rated units, without gold checks."""
        return int(self.about["counts"]["items"])

    @property
    def shared(self) -> int:
        """The number of units that all annotators rate."""
        return int(self.about["counts"]["shared"])

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def links(self) -> dict[str, str]:
        """The tokens by annotator, in the order of the names."""
        with self._reading() as connection:
            rows = dict(connection.execute("SELECT name, token FROM annotators"))
        names = self.about["settings"]["annotators"]
        if set(names) != set(rows):
            raise ValueError("its settings name other annotators than its links")
        return {name: rows[name] for name in names}

    def progress(self, annotator: str) -> Progress:
        with self._reading() as connection:
            pages = connection.execute(
                "SELECT t.page, a.page FROM turns t LEFT JOIN annotations a ON a.page = t.page"
                " WHERE t.annotator = ? ORDER BY t.place",
                (annotator,),
            ).fetchall()
        still = [page for page, response in pages if response is None]
        return Progress(len(pages) - len(still), len(pages), still[0] if still else None)

    def assignment(self, annotator: str, page: str) -> Assignment | None:
        """None if the page is not assigned to the annotator."""
        return next(self._assignments("WHERE t.page = ? AND t.annotator = ?", (page, annotator)), None)

    def neighbours(self, given: Assignment) -> tuple[str | None, str | None]:
        """The previous and the next page."""
        with self._reading() as connection:
            found = dict(
                connection.execute(
                    "SELECT place, page FROM turns WHERE annotator = ? AND place IN (?, ?)",
                    (given.annotator, given.place - 1, given.place + 1),
                ).fetchall()
            )
        return found.get(given.place - 1), found.get(given.place + 1)

    def first_open_after(self, given: Assignment) -> str | None:
        """The next page without an annotation; if there is none after this one, the first of all."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT t.page FROM turns t LEFT JOIN annotations a ON a.page = t.page"
                " WHERE t.annotator = ? AND a.page IS NULL ORDER BY t.place < ?, t.place LIMIT 1",
                (given.annotator, given.place),
            ).fetchone()
        return None if row is None else str(row[0])

    def last(self, annotator: str) -> str | None:
        """The last page of an annotator."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT page FROM turns WHERE annotator = ? ORDER BY place DESC LIMIT 1", (annotator,)
            ).fetchone()
        return None if row is None else str(row[0])

    def assignments(self) -> Iterator[Assignment]:
        return self._assignments("ORDER BY t.annotator, t.place", ())

    def note_sent(self, page: str) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE turns SET sent_at = ? WHERE page = ?", (time.time(), page))

    def save(self, page: str, response: PageResponse, seconds: float) -> None:
        """Save a response; it is committed on return. Saving the same response again changes nothing."""
        row = [json.dumps(v, sort_keys=True) for v in (response.choices, dict(response.criteria), dict(response.edits))]
        now = time.time()
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO annotations VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (page) DO UPDATE SET"
                " choices = excluded.choices, criteria = excluded.criteria, edits = excluded.edits,"
                " comment = excluded.comment, seconds = seconds + excluded.seconds, at = excluded.at,"
                " changes = changes + 1"
                " WHERE (choices, criteria, edits, comment) IS NOT"
                " (excluded.choices, excluded.criteria, excluded.edits, excluded.comment)",
                (page, *row, response.comment, seconds, now),
            )
        self._check_saved(page, (*row, response.comment), now)

    def _check_saved(self, page: str, row: tuple[str, ...], at: float) -> None:
        """Raise Gone unless whoever opens the file now finds the annotation, or a later one."""
        try:
            with closing(_connect(self.path, mode="ro")) as connection:
                found = connection.execute(
                    "SELECT at, choices, criteria, edits, comment FROM annotations WHERE page = ?", (page,)
                ).fetchone()
        except (sqlite3.Error, UsageError):
            found = None
        if found is None or (found[0] <= at and tuple(found[1:]) != row) or self._identity != _identity_of(self.path):
            with self._lock:
                raise self._gone()

    def _gone(self) -> Gone:
        """The error, after everything that was saved before has been copied beside the file."""
        if self._copy is None:
            self._copy = _copy(self._connection, self.path)
        kept = f"all that was saved before is in {self._copy}; " if self._copy else ""
        return Gone(
            f"{self.path} was moved, deleted or replaced while it was open, so nothing more is saved; {kept}stop the "
            "server, put the file (or the copy) back under its name, and run the same command again"
        )

    def _assignments(self, where: str, values: tuple[object, ...]) -> Iterator[Assignment]:
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT t.page, t.annotator, t.place, t.swapped, t.sent_at, u.content, {_COLUMNS} FROM turns t"  # noqa: S608
                f" JOIN units u ON u.id = t.unit LEFT JOIN annotations a ON a.page = t.page {where}",
                values,
            ).fetchall()
        for page, annotator, place, swapped, sent_at, content, *response in rows:
            try:
                annotation = None if response[0] is None else _annotation(response)
                unit = _UNIT.validate_json(content)
                if annotation is not None:
                    _check_said(annotation, unit, self.task)
            except _MALFORMED as error:
                raise self._damaged(error) from error
            yield Assignment(page, annotator, place, bool(swapped), sent_at, unit, annotation)

    def _damaged(self, error: Exception) -> StoreError:
        return StoreError(f"{self.path} is damaged: {error_line(error)}")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise StoreError(f"{self.path} cannot be read: {error}") from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._identity != _identity_of(self.path):
                    raise self._gone()
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise StoreError(f"{self.path} cannot be written: {error}") from error
                raise


def _check_said(annotation: Annotation, unit: Unit, task: Task) -> None:
    """Reject unknown choices: they would count as the last label."""
    response = annotation.response
    valid = len(response.choices) == len(unit.ids) and set(response.choices) <= set(task.choices)
    valid = valid and set(response.criteria.values()) <= set(DEGREES)
    valid = valid and response.edits.keys() <= dict(unit.fields).keys()
    if not valid:
        raise ValueError(f"{response!r:.100} is not a response to {task.name}")


def is_created(path: Path) -> bool:
    """Whether the file has content. A process that was killed while it created a study leaves an empty file."""
    if not path.is_file():
        return False
    with closing(_connect(path)) as connection:
        return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def create(path: Path, about: Mapping[str, Any], units: Sequence[Unit], turns: Sequence[Turn]) -> None:
    """Create the study in one transaction; a study that another process created meanwhile is kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Tokens and comments are private; SQLite gives its additional files the same mode.
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600))
    except OSError as error:
        raise UsageError(f"{path} cannot be used for a study: {error.strerror}; choose another --db") from error
    with closing(_connect(path)) as connection:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return
            for statement in _SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.executemany(
                "INSERT INTO study VALUES (?, ?)",
                [(k, json.dumps(v)) for k, v in {**about, "counts": _counts(units)}.items()],
            )
            names = about["settings"]["annotators"]
            connection.executemany(
                "INSERT INTO annotators VALUES (?, ?)", [(name, secrets.token_urlsafe(24)) for name in names]
            )
            connection.executemany(
                "INSERT INTO units VALUES (?, ?)", [(n, json.dumps(asdict(unit))) for n, unit in enumerate(units)]
            )
            connection.executemany(
                "INSERT INTO turns VALUES (?, ?, ?, ?, ?, NULL)",
                [(secrets.token_urlsafe(9), t.annotator, t.place, t.unit, t.swapped) for t in turns],
            )
            connection.execute(f"PRAGMA application_id = {_FORMAT}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"{path} cannot be written: {error}; choose another --db") from error


def _counts(units: Sequence[Unit]) -> dict[str, int]:
    rated = [unit for unit in units if not unit.expected]
    return {"items": len(rated), "shared": sum(unit.shared for unit in rated), "checks": len(units) - len(rated)}


def _identity_of(path: Path) -> tuple[int, int] | None:
    """What distinguishes a file from another of the same name; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _copy(connection: sqlite3.Connection, path: Path) -> Path | None:
    """Copy what a connection sees to a new file beside `path`; None if that is not possible."""
    number = 1
    while (to := path.with_name(f"{path.name}.copy-{number}")).exists():
        number += 1
    try:
        os.close(os.open(to, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINKS, 0o600))
        with closing(sqlite3.connect(to)) as copied:
            connection.backup(copied)
    except (OSError, sqlite3.Error):
        return None
    return to


def _connect(path: Path, mode: str = "rwc") -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode={mode}", timeout=_PATIENCE_S, check_same_thread=False, uri=True
        )
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error as error:
        raise UsageError(f"{path} cannot be used for a study: {error}; choose another --db") from error
    return connection


def _annotation(row: Sequence[Any]) -> Annotation:
    choices, criteria, edits, comment, seconds, at, changes = row
    return _ANNOTATION.validate_python(
        {
            "response": {
                "choices": parse_strict_json(choices),
                "criteria": parse_strict_json(criteria),
                "edits": parse_strict_json(edits),
                "comment": comment,
            },
            "seconds": seconds,
            "at": at,
            "changes": changes,
        }
    )
