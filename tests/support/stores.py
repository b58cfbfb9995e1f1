"""Rows of a store that a test changes, with checksums that fit."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from bowstring.runs.rows import COLUMNS, row_checksum


def change_rows(store: Path, change: Callable[[dict[str, Any]], dict[str, Any]], where: str = "1") -> None:
    """Replace the values of rows by those that `change` returns."""
    with closing(sqlite3.connect(store)) as db:
        for row in db.execute(f"SELECT {', '.join(COLUMNS)} FROM responses WHERE {where}").fetchall():
            found = dict(zip(COLUMNS, row, strict=True))
            found |= change(found)
            values = [*list(found.values())[:-1], row_checksum(list(found.values())[:-1])]
            places = ", ".join(f"{name} = ?" for name in COLUMNS)
            db.execute(f"UPDATE responses SET {places} WHERE key = ?", (*values, found["key"]))
        db.commit()
