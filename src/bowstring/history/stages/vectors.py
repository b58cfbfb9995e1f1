"""A store of embeddings: a SQLite file beside the response store, keyed by the hash of the embedded text."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bowstring.errors import StoreError

Vector = npt.NDArray[np.float32]
VECTORS_NAME = "embeddings.sqlite"
_AT_ONCE = 500  # keys per query


def vector_key(model: str, kind: str, text: str) -> str:
    return hashlib.sha256(f"{model}\0{kind}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


class VectorStore:
    """Opens a new connection for every call, so that any thread may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, keys: Sequence[str]) -> dict[str, Vector]:
        """Return the stored vectors of these keys."""
        found: dict[str, Vector] = {}
        if not self.path.is_file():
            return found
        try:
            with sqlite3.connect(self.path, timeout=60) as connection:
                for start in range(0, len(keys), _AT_ONCE):
                    part = keys[start : start + _AT_ONCE]
                    marks = ", ".join("?" * len(part))
                    query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"  # noqa: S608 - placeholders only
                    found |= {key: np.frombuffer(raw, np.float32) for key, raw in connection.execute(query, part)}
            connection.close()
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be read: {error}; remove it to embed again") from error
        return found

    def put(self, vectors: Mapping[str, Vector]) -> None:
        rows = [(key, vector.tobytes()) for key, vector in vectors.items()]
        self._write("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def add_all_of(self, other: VectorStore) -> None:
        """Add the vectors of another store; those that are here stay."""
        if not other.path.is_file() or (self.path.exists() and self.path.samefile(other.path)):
            return
        try:
            with closing(sqlite3.connect(other.path, timeout=60)) as connection:
                rows = connection.execute("SELECT key, vector FROM vectors").fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{other.path} cannot be read: {error}; remove it to embed again") from error
        self._write("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    def _write(self, statement: str, rows: Sequence[tuple[str, bytes]]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with sqlite3.connect(self.path, timeout=60) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)")
                connection.executemany(statement, rows)
            connection.close()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self.path} cannot be written: {error}; choose another with --store") from error
