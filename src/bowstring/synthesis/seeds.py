"""Persona seeds: the bundled list, a file, or a data set on the hub.

people.txt                               one per line
people.jsonl                             one object per line, the text in a field
proj-persona/PersonaHub:instruction      a data set on the hub, a part of it, and the field that has the text
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from bowstring.errors import DataError, FetchError, UsageError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json

FIELD = "input persona"  # PersonaHub's name for it
_KNOWN = (".txt", ".jsonl", ".json", ".parquet")
_LONGEST = 600  # maximum characters per seed
_MOST = 200_000  # maximum number of seeds


def load_seeds(source: str | None, *, field: str = FIELD, seed: int = 0) -> Sequence[str]:
    """Return the seeds in a random order fixed by `seed`; raise an error if there are none."""
    found = list(_bundled() if source is None else _read(source, field))
    unique = list(dict.fromkeys(" ".join(text.split())[:_LONGEST] for text in found if text.strip()))
    if not unique:
        raise DataError(f"{source}: has no seeds; expected one per line, or objects with a field {field!r}")
    random.Random(f"{seed}/seeds").shuffle(unique)  # noqa: S311 - repeatable on purpose
    return unique


def _bundled() -> Iterator[str]:
    yield from (files("bowstring.synthesis") / "seeds.txt").read_text(encoding="utf-8").splitlines()


def _read(source: str, field: str) -> Iterator[str]:
    path = Path(source).expanduser()
    if not path.is_file():
        if path.exists() or path.suffix in _KNOWN or "/" not in source.strip("/"):
            raise UsageError(
                f"--seeds {source}: no such file; expected a file or a hub id such as proj-persona/PersonaHub"
            )
        path = _from_hub(source)
    if path.suffix not in _KNOWN:
        raise UsageError(f"--seeds {source}: expected a file that ends in {', '.join(_KNOWN)}")
    try:
        if path.suffix == ".parquet":
            yield from _from_parquet(path, field)
        elif path.suffix == ".json":
            yield from _from_json(path, field)
        elif path.suffix == ".jsonl":
            yield from _from_jsonl(path, field)
        else:
            yield from path.read_text(encoding="utf-8").splitlines()[:_MOST]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _from_json(path: Path, field: str) -> Iterator[str]:
    try:
        rows: Any = parse_strict_json(path.read_bytes())
    except ParseError as error:
        raise DataError(f"{path}: {error}") from error
    for n, row in enumerate(rows[:_MOST] if isinstance(rows, list) else [rows], 1):
        yield _text(row, field, f"{path} entry {n}")


def _text(row: Any, field: str, where: str) -> str:
    text = row if isinstance(row, str) else row.get(field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise DataError(f"{where}: no text in the field {field!r}; choose another with --seeds-field")
    return text


def _from_jsonl(path: Path, field: str) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for n, line in enumerate(file, 1):
            if n > _MOST:
                return
            if not line.strip():
                continue
            try:
                row: Any = parse_strict_json(line)
            except ParseError as error:
                raise DataError(f"{path} line {n}: {error}") from error
            yield _text(row, field, f"{path} line {n}")


def _from_parquet(path: Path, field: str) -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from bowstring.datasets.parquet import TooLarge, check_size

    try:
        check_size(path, [field])
        column = pq.read_table(path, columns=[field])[field].slice(0, _MOST)
    except TooLarge as error:
        raise DataError(f"{path}: {error}") from error
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise DataError(f"{path}: no readable field {field!r}; choose another with --seeds-field") from error
    yield from (text for text in column.to_pylist() if isinstance(text, str))


def _from_hub(source: str) -> Path:
    from bowstring.datasets.hub import fetch

    name, _, part = source.partition(":")

    def first_fitting(files: Iterable[str]) -> list[str]:
        fitting = [f for f in files if f.endswith((".jsonl", ".parquet", ".txt")) and part in f]
        if not fitting:
            raise UsageError(f"--seeds {source}: {name} has no .jsonl, .parquet or .txt file with {part!r} in its name")
        return fitting[:1]

    try:
        snapshot = fetch(name, None, first_fitting)
    except FetchError as error:
        raise FetchError(f"--seeds {source}: {error}") from error
    except DataError as error:
        raise UsageError(f"--seeds {source}: {error}") from error
    present = (path.relative_to(snapshot.folder).as_posix() for path in sorted(snapshot.folder.rglob("*")))
    return snapshot.folder / first_fitting(present if snapshot.listing is None else snapshot.listing)[0]
