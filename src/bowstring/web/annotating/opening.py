"""From a command to its study: made at the first call, and opened again at every other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.people import Task, Unit
from bowstring.errors import UsageError
from bowstring.files.escaping import escape_control_characters
from bowstring.runs.folder import EndedRun
from bowstring.web.annotating.checks import given_checks
from bowstring.web.annotating.planning import Wishes, plan
from bowstring.web.annotating.study import Study, create, is_made
from bowstring.web.annotating.tasks import task_named
from bowstring.web.annotating.units import Gathered, gather, read_runs, with_dialogues

DATABASE = "annotations.sqlite"
_MOST_ANNOTATORS = 500


@dataclass(frozen=True, slots=True)
class Settings:
    """What a study is made with; another one is another study."""

    task: str
    annotators: tuple[str, ...] = ("annotator-1",)
    overlap: float = 0.2
    limit: int | None = None
    checks: float = 0.05
    gold: str | None = None  # a hash of the file
    criteria: tuple[str, ...] = ()
    seed: int = 0


def names_of(given: str) -> tuple[str, ...]:
    """'anna,ben', or a number of people without names."""
    given = given.strip()
    if given.isdecimal() and 1 <= int(given[:6]) <= _MOST_ANNOTATORS:
        return tuple(f"annotator-{n}" for n in range(1, int(given) + 1))
    names = tuple(" ".join(name.split()) for name in given.split(","))
    twice = sorted({name for name in names if names.count(name) > 1})
    legible = all(name and escape_control_characters(name) == name for name in names)
    if not legible or given.isdecimal() or twice or len(names) > _MOST_ANNOTATORS:
        why = f"{twice[0]} is there twice; " if twice and all(names) else ""
        raise UsageError(f"--annotators {given}: {why}expected names such as anna,ben, or a number up to 500")
    return names


def criteria_of(given: str) -> tuple[str, ...]:
    names = tuple(" ".join(name.split()) for name in given.split(",")) if given.strip() else ()
    if not all(name and escape_control_characters(name) == name for name in names) or len(set(names)) < len(names):
        raise UsageError(f"--criteria {given}: expected names such as personalization,logical-validity, each once")
    return names


def open_study(
    paths: Sequence[Path],
    *,
    task: str | None = None,
    annotators: str = "1",
    overlap: float = 0.2,
    limit: int | None = None,
    checks: float = 0.05,
    gold: Path | None = None,
    criteria: str = "",
    seed: int = 0,
    db: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Study:
    """The study of these runs and settings. Without runs, the one that `db` holds, whatever it was made with."""
    if not paths:
        if db is None:
            raise UsageError("which runs? expected the folder of one, such as runs/NAME, or --db with a study")
        return Study(db)
    runs = read_runs(paths)
    benchmark = registry.get(runs[0].configuration["benchmark"])
    kind = task_named(task, benchmark)
    print_ = hashlib.sha256(gold.read_bytes()).hexdigest() if gold else None
    settings = Settings(kind.name, names_of(annotators), overlap, limit, checks, print_, criteria_of(criteria), seed)
    gathered = gather(runs, kind)
    about = {"settings": asdict(settings), "runs": list(gathered.runs), "items": _digest(gathered.units)}
    path = db or paths[0].resolve().parent / DATABASE
    if not is_made(path):
        _make(path, {**about, "benchmark": benchmark.name}, gathered, kind, settings, runs, gold, tell)
    study = Study(path)
    try:
        check_same(study, about)
    except UsageError:
        study.close()
        raise
    return study


def find_study(path: Path) -> Study:
    """The study in a file, or in a folder of runs."""
    return Study(path / DATABASE if path.is_dir() else path)


def _make(
    path: Path,
    about: Mapping[str, Any],
    gathered: Gathered,
    task: Task,
    settings: Settings,
    runs: Sequence[EndedRun],
    gold: Path | None,
    tell: Callable[[str], None],
) -> None:
    known = given_checks(gold, task, gathered.units) if gold else []
    wishes = Wishes(settings.annotators, settings.overlap, settings.limit, settings.checks, settings.seed)
    planned = plan(task, gathered.units, known, wishes)
    for reason, n in gathered.left_out.items():
        tell(f"{n:,} left out: {reason}")
    if planned.kept:
        tell(f"{planned.kept:,} left out: kept for gold checks, which nobody may recognize")
    if planned.made < planned.wanted:
        tell(
            f"{planned.made:,} of {planned.wanted:,} gold checks could be made: too few questions and answers are "
            "not asked anyway"
        )
    units: Sequence[Unit] = planned.units
    if task.shape != "parts":  # there, two texts are held against each other, and nothing else
        units, why = with_dialogues(units, runs)
        if why:
            tell(why)
    create(path, about, units, planned.turns)


def _digest(units: Sequence[Unit]) -> str:
    return hashlib.sha256(json.dumps([unit.ids for unit in units]).encode()).hexdigest()


def check_same(study: Study, about: Mapping[str, Any]) -> None:
    """One study a file: what was asked of people is not changed under them."""
    wanted = json.loads(json.dumps(about))
    if any(study.about.get(name) != value for name, value in wanted.items()):
        found = study.about["settings"]
        differ = [f"--{k.replace('_', '-')}" for k, v in wanted["settings"].items() if found.get(k) != v]
        if not differ:
            differ = ["the runs" if study.about.get("runs") != wanted.get("runs") else "what the runs hold"]
        raise UsageError(
            f"{study.path} holds another study, with other {' and '.join(differ).removeprefix('the ')}; "
            "give another --db, or the same command as before"
        )
