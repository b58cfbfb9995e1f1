"""Recover the intact rows of a damaged store: read page by page, without SQLite, which stops at structural damage.

Every page that may hold rows is read, in the file and in its log, wherever it is. A row counts if its checksum matches,
so nothing can be invented, and every row whose pages exist is found.

Only the parts of the file format (sqlite.org/fileformat.html) that a WITHOUT ROWID table needs are implemented: tree
pages (2 interior, 10 leaf), records, and overflow chains.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bowstring.files.writing import draft_of
from bowstring.records import Message, Trunk
from bowstring.runs.rows import COLUMNS, Row, is_intact

_MAGIC = b"SQLite format 3\0"
_LOG_MAGIC = (0x377F0682, 0x377F0683)
_SIZES = {512 << n for n in range(8)}
_INSIDE, _END = 2, 10
_LARGEST = 1 << 28  # bytes per row; anything larger is damage
_STORED_AT = COLUMNS.index("stored_at")
Pages = Mapping[int, bytes]


class Unreadable(Exception):
    """These bytes are not a row."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    rows: list[Row]  # the latest row of each key
    trunks: dict[str, bytes]


def salvage(store: Path) -> Salvaged:
    """Return everything intact in the store, its log, and the draft of an interrupted repair."""
    rows: dict[object, Row] = {}
    trunks: dict[str, bytes] = {}
    for path in (store, draft_of(store)):
        for row in _records(path):
            if is_intact(row):
                known = rows.get(row[0])
                if known is None or float(str(known[_STORED_AT])) < float(str(row[_STORED_AT])):
                    rows[row[0]] = row
            elif len(row) == 2 and isinstance(row[1], bytes) and is_trunk(row[0], row[1]):
                trunks[str(row[0])] = row[1]
    return Salvaged(list(rows.values()), trunks)


def keep_damaged_copy(store: Path) -> Path:
    """Keep the file and its log under other names; the file itself stays until it is replaced."""
    n = 1
    while (aside := store.with_name(f"{store.name}.damaged-{n}")).exists():
        n += 1
    try:
        os.link(store, aside)
    except OSError:
        shutil.copyfile(store, aside)
    log = store.with_name(f"{store.name}-wal")
    if log.exists():
        log.replace(aside.with_name(f"{aside.name}-wal"))
    store.with_name(f"{store.name}-shm").unlink(missing_ok=True)
    return aside


def unpack(packed: bytes) -> tuple[Message, ...]:
    return tuple(Message(role, tuple(parts)) for role, *parts in json.loads(zlib.decompress(packed)))


def is_trunk(digest: object, packed: bytes) -> bool:
    """Return whether these are the messages of the trunk with this hash."""
    try:
        return Trunk(unpack(packed)).digest == digest
    except (zlib.error, ValueError, TypeError):
        return False


def _records(store: Path) -> Iterator[Row]:
    """Yield everything that can be read as a record, from every page of the file and of its log."""
    file, log = _bytes(store), _bytes(store.with_name(f"{store.name}-wal"))
    size = _page_size(file, log)
    main = {n // size + 1: file[n : n + size] for n in range(0, len(file) - size + 1, size)}
    logged = list(_logged(log, size))
    # Overflow pages of a row: as in the log, or as before it.
    newest = main | dict(logged)
    for page in (*main.values(), *(page for _, page in logged)):
        for at in _cells(page):
            for pages in (newest, main) if logged else (main,):
                with suppress(Unreadable, IndexError, struct.error, UnicodeDecodeError):
                    yield _record(_payload(page, at, pages))


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _page_size(file: bytes, log: bytes) -> int:
    for found in (struct.unpack(">H", file[16:18])[0] if file[:16] == _MAGIC else 0, *_log_page_size(log)):
        if found in _SIZES:
            return int(found)
    return 4096


def _log_page_size(log: bytes) -> Iterator[int]:
    if len(log) >= 12 and struct.unpack(">I", log[:4])[0] in _LOG_MAGIC:
        yield struct.unpack(">I", log[8:12])[0]


def _logged(log: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    for at in range(32, len(log) - size - 23, size + 24):
        yield struct.unpack(">I", log[at : at + 4])[0], log[at + 24 : at + 24 + size]


def _cells(page: bytes) -> Iterator[int]:
    """Yield where the cells' payloads begin."""
    kind = page[0]
    if kind not in (_INSIDE, _END):
        return
    header, child = (12, 4) if kind == _INSIDE else (8, 0)
    (count,) = struct.unpack(">H", page[3:5])
    for n in range(min(count, (len(page) - header) // 2)):
        (at,) = struct.unpack(">H", page[header + 2 * n : header + 2 * n + 2])
        if at + child < len(page):
            yield at + child


def _payload(page: bytes, at: int, pages: Pages) -> bytes:
    length, at = _varint(page, at)
    if length > _LARGEST:
        raise Unreadable
    usable = len(page)
    most, least = (usable - 12) * 64 // 255 - 23, (usable - 12) * 32 // 255 - 23
    here = length
    if length > most:
        here = least + (length - least) % (usable - 4)
        here = here if here <= most else least
    payload = page[at : at + here]
    if here == length:
        return payload
    (following,) = struct.unpack(">I", page[at + here : at + here + 4])
    while len(payload) < length:
        more = pages.get(following)
        if more is None:
            raise Unreadable
        (following,) = struct.unpack(">I", more[:4])
        payload += more[4 : 4 + length - len(payload)]
    return payload


def _record(payload: bytes) -> Row:
    end, at = _varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != end or len(kinds) not in (2, len(COLUMNS)):
        raise Unreadable
    values: list[object] = []
    for kind in kinds:
        value, at = _value(payload, at, kind)
        values.append(value)
    if len(values) == len(COLUMNS) and isinstance(values[_STORED_AT], int):
        values[_STORED_AT] = float(str(values[_STORED_AT]))  # SQLite stores a float without fraction as an integer
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[object, int]:
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    if kind == 7:
        return struct.unpack(">d", payload[at : at + 8])[0], at + 8
    length = (kind - 12) // 2 if kind >= 12 else {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}.get(kind, -1)
    raw = payload[at : at + length]
    if length < 0 or len(raw) < length:
        raise Unreadable
    if kind < 12:
        return int.from_bytes(raw, "big", signed=True), at + length
    return (raw.decode() if kind % 2 else raw), at + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for n in range(9):
        byte = data[at + n]
        if n == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value, at + n + 1
