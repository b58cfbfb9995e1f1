"""Rows of the store: the last column is a checksum of the others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

COLUMNS = (
    "key",
    "model",
    "trunk",
    "branch",
    "sampling",
    "text",
    "finish",
    "reasoning",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "role",
    "address",
    "sent",
    "raw_finish",
    "response_id",
    "engine",
    "precision",
    "may_be_thought",
    "stored_at",
    "hash",
)
Row = tuple[object, ...]


def row_checksum(values: Sequence[object]) -> str:
    """Return the checksum of all columns but the last."""
    return hashlib.blake2b(repr(tuple(values)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def is_intact(row: Sequence[object]) -> bool:
    return len(row) == len(COLUMNS) and row[-1] == row_checksum(row[:-1])
