"""Gold checks: units with a known answer, which test the annotator and are not exported as ratings.

Generated checks pair a good answer with an answer to another user's question. Given checks come from a file with `item`
and `label`.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bowstring.benchmarks.people import Task, Unit
from bowstring.datasets.problems import join_choices, quote_value
from bowstring.errors import DataError, UsageError
from bowstring.files.strict_json import parse_strict_json
from bowstring.seeding import seeded_number


def generated_checks(task: Task, units: Sequence[Unit], n: int, seed: int, *, dealt: Sequence[Unit]) -> list[Unit]:
    """Up to `n` checks for an annotator with the units `dealt`: no question or text of a check appears twice."""
    if task.shape == "scale" and not task.wrong:
        return []  # no label is known to be right for an answer to another question
    met = {text for unit in dealt for text in (unit.asked, *unit.answers)}
    free = sorted((u for u in units if u.asked not in met), key=lambda u: seeded_number(seed, "check", *u.ids))
    # A text is shown only once, so each is considered once.
    others = list({_elsewhere(task, unit): unit for unit in reversed(free)}.values())[::-1]
    checks: list[Unit] = []
    for unit in free:
        if len(checks) == n:
            break
        if unit.asked in met:
            continue
        fitting = (u for u in others if _elsewhere(task, u) not in met and _usable(task, unit, u))
        other = unit if task.shape == "parts" else next(fitting, None)
        if other is not None and all(_texts(task, unit, other)) and met.isdisjoint(_texts(task, unit, other)):
            checks.append(_check(task, unit, other))
            met |= {unit.asked, *_texts(task, unit, other)}
    return checks


def _usable(task: Task, unit: Unit, other: Unit) -> bool:
    return (
        other.cluster != unit.cluster
        and other.asked != unit.asked
        and _elsewhere(task, other) not in ("", _elsewhere(task, unit))
    )


def _elsewhere(task: Task, other: Unit) -> str:
    """An answer that another user got."""
    return other.right if task.shape == "pair" else other.answers[0]


def _texts(task: Task, unit: Unit, other: Unit) -> tuple[str, ...]:
    """The answers that a check shows."""
    if task.shape == "parts":
        return (unit.right,)
    wrong = _elsewhere(task, other)
    return (unit.right, wrong) if task.shape == "pair" else (wrong,)


def _check(task: Task, unit: Unit, other: Unit) -> Unit:
    answers = _texts(task, unit, other)
    expected: tuple[str, ...]
    if task.shape == "pair":
        expected = (task.labels[0],)
    elif task.shape == "parts":
        expected = task.labels[:2]  # a preference covers the checklist that was made from it
    else:
        expected = task.wrong
    digest = hashlib.sha256(json.dumps([unit.asked, *answers]).encode()).hexdigest()[:12]
    ids = tuple(f"check/{task.name}/{unit.key}/{n}/{digest}" for n in range(len(unit.ids)))
    sources = ("right", "wrong")[: len(answers)] if task.shape != "scale" else ("wrong",)
    return replace(unit, ids=ids, answers=answers, sources=sources, expected=(expected,) * len(ids))


def given_checks(path: Path, task: Task, units: Sequence[Unit]) -> list[Unit]:
    """Units with known labels from a file, by item id, or by record key if that is unambiguous."""
    by_id = {named: unit for unit in units for named in unit.ids}
    by_key: dict[str, list[Unit]] = {}
    for unit in units:
        by_key.setdefault(unit.key, []).append(unit)
    known: dict[tuple[str, ...], dict[str, str]] = {}
    for place, row in _rows(path):
        item, label = str(row.get("item") or "").strip(), str(row.get("label") or "").strip()
        fitting = by_key.get(item, [])
        found = by_id.get(item) or (fitting[0] if len(fitting) == 1 and len(fitting[0].ids) == 1 else None)
        if found is None:
            raise DataError(
                f"{place}: item {quote_value(item)} is not in these runs; expected an item id as in an export"
            )
        if label not in task.labels:
            raise DataError(f"{place}: label is {quote_value(label)}; expected {join_choices(task.labels)}")
        known.setdefault(found.ids, {})[item if item in found.ids else found.ids[0]] = label
    by_ids = {unit.ids: unit for unit in units}
    return [
        replace(by_ids[ids], expected=tuple((labels[i],) if i in labels else () for i in ids))
        for ids, labels in known.items()
    ]


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The rows of a .jsonl or .csv file, each with its location."""
    if path.suffix.lower() not in (".jsonl", ".csv"):
        raise UsageError(f"--gold {path}: expected a .jsonl or .csv file with item and label")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix.lower() == ".csv":
                table = csv.DictReader(file)
                yield from ((f"{path} line {table.line_num}", row) for row in table)
                return
            for n, line in enumerate(file, 1):
                if line.strip():
                    row = parse_strict_json(line)
                    if not isinstance(row, dict):
                        raise DataError(
                            f"{path} line {n}: is {quote_value(row)}; expected an object with item and label"
                        )
                    yield f"{path} line {n}", row
    except DataError:
        raise
    except (ValueError, csv.Error) as error:  # ParseError is a ValueError
        raise DataError(f"{path} cannot be read: {error}; expected rows with item and label") from error
