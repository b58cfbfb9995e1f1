"""Read Parquet files as one validated table: columns of the right type, no missing values, problems by row."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bowstring.datasets.parquet import TooLarge, check_size
from bowstring.datasets.problems import Problem, join_choices, quote_value
from bowstring.files.redaction import error_line

_KINDS = {
    "integer": pa.int64(),
    "text": pa.large_string(),
    "text or integer": pa.large_string(),
    "list of integers": pa.large_list(pa.int64()),
    "list of texts": pa.large_list(pa.large_string()),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A required column: its name (dots lead into structs) and its kind."""

    name: str
    kind: str  # a key of _KINDS
    may_be_null: bool = False
    may_be_blank: bool = False
    may_be_absent: bool = False  # its values are then null
    also: tuple[str, ...] = ()  # alternative names

    @property
    def heads(self) -> tuple[str, ...]:
        return (self.name.split(".")[0], *self.also)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one or several files, with the original place of each row.

    Rows without an id are reported and excluded, so that later checks can rely on ids. A set with any problem is never
    used, so nothing is lost silently.
    """

    table: pa.Table
    files: tuple[str, ...]
    starts: tuple[int, ...]
    places: npt.NDArray[np.int64]
    broken: frozenset[str] = frozenset()  # columns that could not be read; their values are null

    def problem(self, row: int, column: str | None, message: str) -> Problem:
        place = int(self.places[row])
        at = bisect.bisect_right(self.starts, place) - 1
        return Problem(self.files[at], place - self.starts[at], column, message)

    def has(self, *columns: str) -> bool:
        """Return whether these columns were read without problems."""
        return self.broken.isdisjoint(columns)

    def place(self, row: int) -> str:
        at = self.problem(row, None, "")
        return f"{at.file} row {at.row}"

    def integers(self, column: str) -> npt.NDArray[np.int64]:
        return np.asarray(self.table[column].combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)

    def __len__(self) -> int:
        return int(self.table.num_rows)


def where(mask: npt.NDArray[np.bool_]) -> list[int]:
    """Return the row numbers at which `mask` is true."""
    return [int(row) for row in np.flatnonzero(mask)]


def check_column_choice(rows: Rows, column: str, choices: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for every value that is not one of the choices; nulls and blanks are checked elsewhere."""
    if not rows.has(column):
        return
    values = rows.table[column].combine_chunks()
    known = pc.is_in(values, value_set=pa.array(choices, type=values.type))
    blank = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(values)), 0)
    wrong = pc.fill_null(pc.and_not(pc.invert(known), blank), False)
    for row in where(pc.and_(wrong, values.is_valid()).to_numpy(zero_copy_only=False)):
        yield rows.problem(row, column, f"is {quote_value(values[int(row)].as_py())}; expected {join_choices(choices)}")


def read_rows(root: Path, files: Sequence[str], columns: Sequence[Column], problems: list[Problem]) -> Rows | None:
    """Read the named columns of these files; unknown ones are ignored. None if a file cannot be read at all."""
    tables = {}
    for name in files:
        heads = {head for c in columns for head in c.heads}
        try:
            check_size(root / name, heads)
            with pq.ParquetFile(root / name) as file:
                tables[name] = file.read(columns=sorted(heads & set(file.schema_arrow.names)))
        except (pa.ArrowException, OSError, TooLarge) as error:
            reason = error_line(error)
            problems.append(Problem(name, None, None, f"cannot be read as parquet: {reason}"))
    return rows_of(tables, columns, problems) if len(tables) == len(files) else None


def rows_of(tables: Mapping[str, pa.Table], columns: Sequence[Column], problems: list[Problem]) -> Rows:
    """Like `read_rows`, for tables in memory, by the names used in problems."""
    broken: set[str] = set()
    starts, at, checked = [], 0, []
    for name, table in tables.items():
        arrays = {}
        for column in columns:
            array = _read_column(table, name, column, problems)
            if array is None:
                broken.add(column.name)
                array = pa.nulls(table.num_rows, _KINDS[column.kind])
            arrays[column.name] = array
        checked.append(pa.table(arrays))
        starts.append(at)
        at += table.num_rows
    whole = pa.concat_tables(checked)
    kept = np.flatnonzero(_has_ids(whole, [c for c in columns if c.name not in broken]))
    if len(kept) < whole.num_rows:
        whole = whole.take(kept)
    return Rows(whole.combine_chunks(), tuple(tables), tuple(starts), kept, frozenset(broken))


def _has_ids(table: pa.Table, columns: Sequence[Column]) -> npt.NDArray[np.bool_]:
    has = np.ones(table.num_rows, dtype=bool)
    for column in columns:
        if column.kind in ("integer", "list of integers"):
            array = table[column.name].combine_chunks()
            has &= _to_numpy(array.is_valid())
            if column.kind == "list of integers":
                has[_parents_of_nulls(array)] = False
    return has


def _read_column(table: pa.Table, file: str, column: Column, problems: list[Problem]) -> pa.Array | None:
    def report(name: str | None, message: str) -> None:
        problem = Problem(file, None, name, message)
        if problem not in problems:  # several columns may be inside an invalid struct
            problems.append(problem)

    head = next((name for name in column.heads if name in table.column_names), None)
    if head is None and column.may_be_absent:
        return pa.nulls(table.num_rows, _KINDS[column.kind])
    if head is None:
        fields = "a struct" if "." in column.name else _article(column.kind)
        report(None, f"has no column {join_choices(column.heads)}; expected one with {fields} per row")
        return None
    if table.column_names.count(head) > 1:
        report(None, f"has the column {head} twice; expected it once")
        return None
    array = table[head].combine_chunks()
    path = [head]
    for field in column.name.split(".")[1:]:
        if pa.types.is_null(array.type):
            break
        if not pa.types.is_struct(array.type):
            report(".".join(path), f"is of type {array.type}; expected a struct")
            return None
        if array.type.get_field_index(field) < 0:
            report(None, f"has no field {field} in column {'.'.join(path)}")
            return None
        array = pc.struct_field(array, field)
        path.append(field)
    if not _convertible(array.type, column.kind):
        report(column.name, f"is of type {array.type}; expected {_article(column.kind)}")
        return None
    array, bad = _converted(array, column, file, problems)
    _check_values(array, bad, file, column, problems)
    return array


def _converted(array: pa.Array, column: Column, file: str, problems: list[Problem]) -> tuple[pa.Array, set[int]]:
    """Convert the array to our type; values that do not fit are reported and become null."""
    target = _KINDS[column.kind]
    if _fits(array, target):
        return array.cast(target), set()
    bad = sorted(_bad_rows(array, target, 0))
    wrong = "is not UTF-8" if "text" in column.kind else "is too large"
    problems.extend(Problem(file, row, column.name, f"{wrong}; expected {_article(column.kind)}") for row in bad)
    fits = np.ones(len(array), dtype=bool)
    fits[bad] = False
    good = pa.array(np.where(fits, np.arange(len(array)), -1), mask=~fits)
    return array.take(good).cast(target), set(bad)


def _fits(array: pa.Array, target: pa.DataType) -> bool:
    try:
        array.validate(full=True)
        array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _bad_rows(array: pa.Array, target: pa.DataType, start: int) -> Iterator[int]:
    # Copy each half: a slice is validated and cast with the buffers of the whole array.
    if _fits(pa.concat_arrays([array]), target):
        return
    if len(array) == 1:
        yield start
        return
    middle = len(array) // 2
    yield from _bad_rows(array.slice(0, middle), target, start)
    yield from _bad_rows(array.slice(middle), target, start + middle)


def _convertible(found: pa.DataType, kind: str) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_null(found):
        return True
    if kind.startswith("list of "):
        if not (pa.types.is_list(found) or pa.types.is_large_list(found) or pa.types.is_fixed_size_list(found)):
            return False
        return _convertible(found.value_type, {"list of integers": "integer", "list of texts": "text"}[kind])
    if kind == "integer":
        return bool(pa.types.is_integer(found))
    is_text = pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
    return bool(is_text or (kind == "text or integer" and pa.types.is_integer(found)))


def _check_values(array: pa.Array, known: set[int], file: str, column: Column, problems: list[Problem]) -> None:
    """Report unexpected nulls and blanks; rows in `known` have already been reported."""

    def report(rows: list[int], message: str) -> None:
        problems.extend(Problem(file, row, column.name, message) for row in rows if row not in known)

    if not column.may_be_null:
        report(where(_to_numpy(array.is_null())), f"is null; expected {_article(column.kind)}")
    if column.kind.startswith("text") and not column.may_be_blank:
        length = pc.utf8_length(pc.utf8_trim_whitespace(array))
        report(where(_to_numpy(pc.fill_null(pc.equal(length, 0), False))), "is blank; expected some text")
    if column.kind.startswith("list of "):
        length = pc.fill_null(pc.list_value_length(array), 1)
        one = "id" if column.kind == "list of integers" else "text"
        report(where(_to_numpy(length) == 0), f"is an empty list; expected at least one {one}")
        rows_with_null = sorted({int(row) for row in _parents_of_nulls(array)})
        report(rows_with_null, f"contains a null; expected {_article(column.kind)}")


def _to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _parents_of_nulls(array: pa.Array) -> npt.NDArray[np.int64]:
    missing = _to_numpy(pc.list_flatten(array).is_null())
    return np.asarray(_to_numpy(pc.list_parent_indices(array))[missing], dtype=np.int64)


def _article(kind: str) -> str:
    return kind if kind.startswith("text") else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
