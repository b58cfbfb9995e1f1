"""Parquet files read as one checked table: columns of the right type, every value there, problems by row."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bowstring.datasets.problems import Problem, one_of

_KINDS = {
    "integer": pa.int64(),
    "text": pa.large_string(),
    "text or integer": pa.large_string(),
    "list of integers": pa.large_list(pa.int64()),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a table must have: its name (dots lead into structs) and what it holds."""

    name: str
    kind: str  # a key of _KINDS
    may_be_null: bool = False
    may_be_blank: bool = False
    also: tuple[str, ...] = ()  # other names it goes by

    @property
    def heads(self) -> tuple[str, ...]:
        return (self.name.split(".")[0], *self.also)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one or several files, with the way back from a row to its place.

    Rows without an id are reported and left out, so that later checks can rely on ids. A set with any
    problem is never used, so nothing is lost silently.
    """

    table: pa.Table
    files: tuple[str, ...]
    starts: tuple[int, ...]
    places: npt.NDArray[np.int64]

    def problem(self, row: int, column: str | None, message: str) -> Problem:
        place = int(self.places[row])
        at = bisect.bisect_right(self.starts, place) - 1
        return Problem(self.files[at], place - self.starts[at], column, message)

    def place(self, row: int) -> str:
        at = self.problem(row, None, "")
        return f"{at.file} row {at.row}"

    def integers(self, column: str) -> npt.NDArray[np.int64]:
        return np.asarray(self.table[column].combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)

    def __len__(self) -> int:
        return int(self.table.num_rows)


def where(mask: npt.NDArray[np.bool_]) -> list[int]:
    """The rows at which `mask` is true, as plain numbers."""
    return [int(row) for row in np.flatnonzero(mask)]


def read_rows(root: Path, files: Sequence[str], columns: Sequence[Column], problems: list[Problem]) -> Rows | None:
    """The named columns of these files, or None where a file does not have them; unknown ones are ignored."""
    tables, names, starts, at = [], [], [], 0
    for name in files:
        table = _read_file(root / name, name, columns, problems)
        if table is not None:
            tables.append(table)
            names.append(name)
            starts.append(at)
            at += table.num_rows
    if len(tables) < len(files):
        return None
    return _rows(tables, names, starts, columns)


def rows_of(table: pa.Table, name: str, columns: Sequence[Column], problems: list[Problem]) -> Rows | None:
    """The same for a table that is already in memory."""
    checked = _checked(table, name, columns, problems)
    return None if checked is None else _rows([checked], [name], [0], columns)


def _rows(
    tables: Sequence[pa.Table], names: Sequence[str], starts: Sequence[int], columns: Sequence[Column]
) -> Rows:
    table = pa.concat_tables(tables)
    kept = np.flatnonzero(_has_ids(table, columns))
    if len(kept) < table.num_rows:
        table = table.take(kept)
    return Rows(table.combine_chunks(), tuple(names), tuple(starts), kept)


def _has_ids(table: pa.Table, columns: Sequence[Column]) -> npt.NDArray[np.bool_]:
    has = np.ones(table.num_rows, dtype=bool)
    for column in columns:
        if column.kind in ("integer", "list of integers"):
            array = table[column.name].combine_chunks()
            has &= _to_numpy(array.is_valid())
            if column.kind == "list of integers":
                has[_parents_of_nulls(array)] = False
    return has


def _read_file(path: Path, name: str, columns: Sequence[Column], problems: list[Problem]) -> pa.Table | None:
    try:
        with pq.ParquetFile(path) as file:
            present = set(file.schema_arrow.names)
            table = file.read(columns=sorted({head for c in columns for head in c.heads} & present))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        problems.append(Problem(name, None, None, f"cannot be read as parquet: {reason}"))
        return None
    return _checked(table, name, columns, problems)


def _checked(table: pa.Table, name: str, columns: Sequence[Column], problems: list[Problem]) -> pa.Table | None:
    found = [_read_column(table, name, column, problems) for column in columns]
    if any(array is None for array in found):
        return None
    return pa.table({c.name: array for c, array in zip(columns, found, strict=True)})


def _read_column(table: pa.Table, file: str, column: Column, problems: list[Problem]) -> pa.Array | None:
    head = next((name for name in column.heads if name in table.column_names), None)
    if head is None:
        names = one_of(column.heads)
        message = f"has no column {names}; expected one with {_article(column.kind)} a row"
        problems.append(Problem(file, None, None, message))
        return None
    fields = column.name.split(".")[1:]
    array = table[head].combine_chunks()
    for depth, field in enumerate(fields):
        if pa.types.is_null(array.type):
            break
        if not pa.types.is_struct(array.type) or array.type.get_field_index(field) < 0:
            at = ".".join([head, *fields[:depth]])
            problem = Problem(file, None, None, f"has no field {field} in column {at}")
            if problem not in problems:  # other columns lie below the same field
                problems.append(problem)
            return None
        array = pc.struct_field(array, field)
    array = _converted(array, file, column, problems)
    if array is not None:
        _check_values(array, file, column, problems)
    return array


def _converted(array: pa.Array, file: str, column: Column, problems: list[Problem]) -> pa.Array | None:
    target = _KINDS[column.kind]
    if not _convertible(array.type, column.kind):
        message = f"is of type {array.type}; expected {_article(column.kind)}"
        problems.append(Problem(file, None, column.name, message))
        return None
    try:
        array.validate(full=True)
        return array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        row = _first_bad_row(array, target)
        problems.append(Problem(file, row, column.name, f"is not valid; expected {_article(column.kind)}"))
        return None


def _convertible(found: pa.DataType, kind: str) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_null(found):
        return True
    if kind == "list of integers":
        if not (pa.types.is_list(found) or pa.types.is_large_list(found) or pa.types.is_fixed_size_list(found)):
            return False
        return bool(pa.types.is_integer(found.value_type) or pa.types.is_null(found.value_type))
    if kind == "integer":
        return bool(pa.types.is_integer(found))
    is_text = pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
    return bool(is_text or (kind == "text or integer" and pa.types.is_integer(found)))


def _first_bad_row(array: pa.Array, target: pa.DataType) -> int | None:
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_valid(array, low, middle, target) else (low, middle)
    return low if high > low else None


def _is_valid(array: pa.Array, start: int, stop: int, target: pa.DataType) -> bool:
    # A copy of the slice: a slice validates and casts the buffers of the whole.
    part = pa.concat_arrays([array.slice(start, stop - start)])
    try:
        part.validate(full=True)
        part.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _check_values(array: pa.Array, file: str, column: Column, problems: list[Problem]) -> None:
    def report(rows: list[int], message: str) -> None:
        problems.extend(Problem(file, row, column.name, message) for row in rows)

    if not column.may_be_null:
        report(where(_to_numpy(array.is_null())), f"is null; expected {_article(column.kind)}")
    if column.kind.startswith("text") and not column.may_be_blank:
        length = pc.utf8_length(pc.utf8_trim_whitespace(array))
        report(where(_to_numpy(pc.fill_null(pc.equal(length, 0), False))), "is blank; expected some text")
    if column.kind == "list of integers":
        length = pc.fill_null(pc.list_value_length(array), 1)
        report(where(_to_numpy(length) == 0), "is an empty list; expected at least one id")
        rows_with_null = sorted({int(row) for row in _parents_of_nulls(array)})
        report(rows_with_null, "holds a null; expected a list of integers")


def _to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _parents_of_nulls(array: pa.Array) -> npt.NDArray[np.int64]:
    missing = _to_numpy(pc.list_flatten(array).is_null())
    return np.asarray(_to_numpy(pc.list_parent_indices(array))[missing], dtype=np.int64)


def _article(kind: str) -> str:
    return kind if kind.startswith("text") else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
