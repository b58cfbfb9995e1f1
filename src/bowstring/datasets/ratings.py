"""Read rating files, and build the ids of rated items.

    read_ratings(Path("people.csv")), item_id("compare", "3/120", [question, gold, answer])

A file has one rating per row: CSV with the columns `item`, `rater` and `label`, or JSONL with the same fields, such
as `bowstring annotate export` writes. Optional: `task`, `cluster`, `type`, `gold`, `criteria`, `sources`. If the
sources are two runs, their answers were compared with each other: a separate task, which no judge shares.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bowstring.datasets.problems import join_choices, quote_value
from bowstring.errors import DataError, UsageError
from bowstring.metrics.scales import normalize_text
from bowstring.records import Rating

# Tasks with the same meaning in every file, whatever the benchmark.
COMPARE = "compare"  # an answer against the gold one or another run's: win, tie or lose
PERSONAL = "personal"  # a personalized against a general answer
COLUMNS = ("item", "rater", "label")
CRITERION = "personalization"
GOLD = "gold answer"  # the source an answer is compared with, unless that is another run
GOLD_CHECK, LEFT_OPEN = "gold check", "left open"  # why a row is not a rating
# Names and labels that look alike are the same. An item stays as it is: it is identified by exact texts.
_NORMALIZED = ("rater", "label", "cluster")
_SEPARATORS = (",", ";", "\t")
_SUFFIXES = (".csv", ".tsv", ".jsonl")


def item_id(task: str, key: str, texts: Sequence[str], *where: str) -> str:
    """Return the id of a rated item: the task, the record's key, further qualifiers, and a hash of the exact texts that
    a rater sees.

    So two judges match on the same answer whatever run or model it comes from, and never on two different answers.
    """
    digest = hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
    return "/".join([task, key, *where, digest[:12]])


@dataclass(frozen=True, slots=True)
class ReadRatings:
    """The ratings of one source, each with its place; `left_out` counts skipped ones by task, rater and reason."""

    source: str
    rows: list[tuple[str, Rating]] = field(default_factory=list)
    left_out: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    about: dict[str, str] = field(default_factory=dict)  # description by item
    is_run: bool = False  # its raters are judges and metrics; those of a file are people
    text_metrics: tuple[str, ...] = ()  # metrics that could also rate the items of this source


def left_out_in_words(counts: Iterable[tuple[str, int]]) -> str:
    """Counts by reason, added up: '4 gold checks, 1 left open'."""
    found: Counter[str] = Counter()
    for reason, n in counts:
        found[reason] += n
    return ", ".join(f"{n:,} {reason}{'s' if reason == GOLD_CHECK and n != 1 else ''}" for reason, n in found.items())


def read_ratings(path: Path) -> ReadRatings:
    """Read a file's ratings. A row without a label was left open; a gold check tests the rater, not the item."""
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{path}: expected the folder of a run, or a file that ends in {join_choices(_SUFFIXES)}")
    read = ReadRatings(str(path))
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = _json_rows(file, path) if path.suffix.lower() == ".jsonl" else _table_rows(file, path)
            for place, row in rows:
                _take(row, place, read)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: save it as UTF-8") from error
    _name_study(read)
    if not read.rows and not read.left_out:
        raise DataError(f"{path} has no ratings; expected one row per rating, with item, rater and label")
    return read


def _name_study(read: ReadRatings) -> None:
    """Assign the gold checks of a study of two runs to that study, although their answers come from elsewhere."""
    studies = {rating.task if rating.sides else None for _, rating in read.rows}
    study = studies.pop() if len(studies) == 1 else None
    if study is not None:
        for task, rater, reason in list(read.left_out):
            read.left_out[study, rater, reason] += read.left_out.pop((task, rater, reason))


def _json_rows(file: IO[str], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for n, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} line {n}: is not JSON; expected one object per line") from error
        if not isinstance(row, dict):
            raise DataError(f"{path} line {n}: is {quote_value(row)}; expected an object with item, rater and label")
        yield f"{path} line {n}", row


def _table_rows(file: IO[str], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    head = file.readline()
    file.seek(0)
    rows = csv.DictReader(file, delimiter=max(_SEPARATORS, key=head.count), strict=True)
    try:
        names = [(name or "").strip() for name in rows.fieldnames or ()]
        if missing := [column for column in COLUMNS if column not in names]:
            found = f"; it has {', '.join(names)[:200]}" if any(names) else ""
            raise DataError(f"{path} line 1: no column {join_choices(missing)}; expected item, rater and label{found}")
        rows.fieldnames = names
        for row in rows:
            if None in row:
                raise DataError(f"{path} line {rows.line_num}: has more cells than the header has columns")
            yield f"{path} line {rows.line_num}", row
    except csv.Error as error:
        raise DataError(f"{path} line {rows.reader.line_num}: cannot be read as CSV: {error}") from error


def _take(row: Mapping[str, Any], place: str, read: ReadRatings) -> None:
    texts = {name: _text(row.get(name), name, place) for name in (*COLUMNS, "task", "cluster", "type")}
    item, rater, label = (texts[name] for name in COLUMNS)
    for name in ("item", "rater"):
        if not texts[name]:
            raise DataError(f"{place}: has no {name}; expected item, rater and label")
    if "label" not in row:
        raise DataError(f"{place}: has no label; expected item, rater and label (null or empty if it was left open)")
    task = texts["task"] or ""
    if _is_true(row.get("gold")):
        read.left_out[task, str(rater), GOLD_CHECK] += 1
    elif not label:
        read.left_out[task, str(rater), LEFT_OPEN] += 1
    else:
        degree = _degree(row.get("criteria"), place)
        sides = _sides(row.get("sources")) if task == COMPARE else None
        task = " against ".join(sides) if sides else task
        rating = Rating(str(item), str(rater), label, texts["cluster"], task, texts["type"], degree, sides)
        read.rows.append((place, rating))


def _sides(sources: Any) -> tuple[str, str] | None:
    """Return the two runs of an export whose answers were compared with each other."""
    if not isinstance(sources, list) or len(sources) != 2 or not all(isinstance(name, str) for name in sources):
        return None
    first, second = (" ".join(name.split()) for name in sources)
    return (first, second) if first and second and GOLD not in (first, second) else None


def _text(value: Any, name: str, place: str) -> str | None:
    """Return a cell as text; None if it is empty."""
    if isinstance(value, str):
        return (normalize_text(value) if name in _NORMALIZED else " ".join(value.split())) or None
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and math.isfinite(value):
        return str(int(value)) if float(value).is_integer() else repr(value)
    raise DataError(f"{place}: {name} is {quote_value(value)}; expected text or a number")


def _is_true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes", "1"))


def _degree(criteria: Any, place: str) -> str | None:
    """Return how personalized the rater found the answer; in a table, the criteria are JSON."""
    if isinstance(criteria, str):
        try:
            criteria = json.loads(criteria) if criteria.strip() else None
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: criteria are {quote_value(criteria)}; expected a JSON object") from error
    if criteria is None:
        return None
    if not isinstance(criteria, Mapping):
        raise DataError(f"{place}: criteria are {quote_value(criteria)}; expected an object")
    return _text(criteria.get(CRITERION), CRITERION, place)
