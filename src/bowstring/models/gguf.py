"""Read the header of a GGUF file: settings, vocabulary, chat template. Tensors are not loaded."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

from bowstring.errors import FetchError

_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_STRING, _ARRAY = 8, 9


def read_header(path: Path) -> dict[str, Any]:
    """Return all keys and values of the header; arrays become lists."""
    damaged = f"{path} is truncated or damaged; delete it to download it again"
    if not path.stat().st_size:
        raise FetchError(damaged)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            magic, version, _, count = struct.unpack_from("<4sIQQ", content)
            if magic != b"GGUF" or version not in (2, 3):
                raise FetchError(f"{path} is not a supported GGUF file")
            at, header = 24, {}
            for _ in range(count):
                key, at = _string(content, at)
                (kind,) = struct.unpack_from("<I", content, at)
                header[key], at = _value(content, at + 4, kind)
        except (struct.error, UnicodeDecodeError, KeyError) as error:
            raise FetchError(damaged) from error
    return header


def _string(content: mmap.mmap, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", content, at)
    start = at + 8
    return content[start : start + length].decode(), start + length


def _value(content: mmap.mmap, at: int, kind: int) -> tuple[Any, int]:
    if kind == _STRING:
        return _string(content, at)
    if kind == _ARRAY:
        inner, length = struct.unpack_from("<IQ", content, at)
        at += 12
        if inner in _NUMBERS:
            layout = f"<{length}{_NUMBERS[inner]}"
            return list(struct.unpack_from(layout, content, at)), at + struct.calcsize(layout)
        values = []
        for _ in range(length):
            value, at = _value(content, at, inner)
            values.append(value)
        return values, at
    layout = "<" + _NUMBERS[kind]
    return struct.unpack_from(layout, content, at)[0], at + struct.calcsize(layout)
