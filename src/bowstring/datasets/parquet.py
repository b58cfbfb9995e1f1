"""The size of Parquet files when they are read. Compression, dictionaries and runs of equal values can turn a file of
kilobytes into a table of gigabytes, so the size of the table is measured before it is made."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bowstring.errors import UsageError

LARGEST = 2.0  # gigabytes; 1,500 users with 40 dialogues each take 0.13
VARIABLE = "BOWSTRING_LARGEST_TABLE"

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 4}
_ROWS = 65_536  # rows of a batch
_INCREMENTAL = "DELTA_BYTE_ARRAY"  # a value may repeat the beginning of the one before it


class TooLarge(ValueError):
    """A file whose table would be larger than allowed."""


def check_size(path: Path, columns: Collection[str]) -> None:
    """Raise TooLarge if these columns of a file, those that it has, would take more memory than allowed."""
    limit = _limit()
    with pq.ParquetFile(path) as file:
        leaves = [n for n in range(len(file.schema)) if file.schema.column(n).path.split(".")[0] in columns]
        names = sorted(set(file.schema_arrow.names) & set(columns))
        _check_metadata(file, leaves, limit)
        incremental = [n for n in leaves if _is_incremental(file, n)]
        rows = _rows_at_once(file.metadata, incremental, limit)
        whole = [file.schema.column(n) for n in leaves if n not in incremental]
        texts = [leaf.path for leaf in whole if leaf.physical_type == "BYTE_ARRAY"]
    # As a dictionary, a text that is repeated is in memory once.
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        size = 0
        for group in range(file.metadata.num_row_groups):  # Arrow has no lists with several dictionaries
            for batch in file.iter_batches(batch_size=rows, row_groups=[group], columns=names):
                size += sum(map(_decoded_size, batch.columns))
                _check(size, limit)


def _limit() -> float:
    """The allowed size in bytes."""
    given = os.environ.get(VARIABLE) or LARGEST
    try:
        limit = float(given)
    except ValueError:
        limit = 0
    if not 0 < limit < float("inf"):
        raise UsageError(f"{VARIABLE}={given}: expected a number of gigabytes above 0")
    return limit * 1e9


def _check(size: float, limit: float) -> None:
    if size > limit:
        raise TooLarge(
            f"its table takes more than {limit / 1e9:g} GB of memory; if that is right, set {VARIABLE} to more (in GB)"
        )


def _check_metadata(file: Any, leaves: Collection[int], limit: float) -> None:
    """Check the least that the columns take: what is in the file without compression, and one place for each value."""
    size = 0
    for group in range(file.metadata.num_row_groups):
        for n in leaves:
            chunk, leaf = file.metadata.row_group(group).column(n), file.schema.column(n)
            width = _WIDTHS.get(leaf.physical_type, leaf.length)
            size += max(chunk.total_uncompressed_size, chunk.num_values * width, 0)
    _check(size, limit)


def _is_incremental(file: Any, n: int) -> bool:
    """Whether a column has texts that are expanded before they can be counted. In lists, of which a row may have one of
    any length, they are refused."""
    leaf = file.schema.column(n)
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    found = any(_INCREMENTAL in group.column(n).encodings for group in groups)
    if found and leaf.max_repetition_level:
        raise TooLarge(f"the size of {leaf.path} is unknown, because its encoding is {_INCREMENTAL}; use another one")
    return found


def _rows_at_once(metadata: Any, incremental: Collection[int], limit: float) -> int:
    """The rows of a batch. Of incremental texts only as many as certainly fit, because none is longer than all that is
    in its column."""
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    largest = max((group.column(n).total_uncompressed_size for group in groups for n in incremental), default=0)
    return min(_ROWS, max(1, int(limit / 16) // largest)) if largest > 0 else _ROWS


def _decoded_size(array: pa.Array) -> int:
    """The bytes of an array whose dictionaries are replaced by their values."""
    if pa.types.is_dictionary(array.type):
        if not _is_text(array.type.value_type):
            return len(array) * 8
        lengths = pc.cast(pc.binary_length(array.dictionary), pa.int64())
        return int(pc.sum(lengths.take(array.indices)).as_py() or 0) + 4 * len(array)
    if pa.types.is_struct(array.type):
        return sum(map(_decoded_size, array.flatten()))
    if pa.types.is_map(array.type):
        return _decoded_size(array.keys) + _decoded_size(array.items) + 4 * len(array)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        return _decoded_size(array.flatten()) + 8 * len(array)
    return int(array.nbytes)


def _is_text(found: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(kind(found) for kind in kinds)
