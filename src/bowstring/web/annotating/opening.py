"""Opens the study of a command: the first call creates it, later calls open it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.people import Task, Unit
from bowstring.errors import UsageError
from bowstring.files.escaping import escape_control_characters
from bowstring.runs.folder import EndedRun
from bowstring.settings import checked_call, option
from bowstring.web.annotating.checks import given_checks
from bowstring.web.annotating.planning import StudyRequest, plan
from bowstring.web.annotating.study import Study, create, is_created
from bowstring.web.annotating.tasks import task_named
from bowstring.web.annotating.units import UnitCollection, collect_units, read_runs, with_dialogues

DATABASE = "annotations.sqlite"
_MOST_ANNOTATORS = 500


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a study; other settings mean another study."""

    task: str
    annotators: tuple[str, ...]
    overlap: float
    limit: int | None
    checks: float
    gold: str | None  # a hash of the file
    criteria: tuple[str, ...]
    seed: int


def names_of(given: str) -> tuple[str, ...]:
    """Names from 'anna,ben', or from a number of people."""
    given = given.strip()
    if given.isdecimal() and 1 <= int(given[:6]) <= _MOST_ANNOTATORS:
        return tuple(f"annotator-{n}" for n in range(1, int(given) + 1))
    names = tuple(" ".join(name.split()) for name in given.split(","))
    twice = sorted({name for name in names if names.count(name) > 1})
    legible = all(name and escape_control_characters(name) == name for name in names)
    if not legible or given.isdecimal() or twice or len(names) > _MOST_ANNOTATORS:
        why = f"{twice[0]} appears twice; " if twice and all(names) else ""
        raise UsageError(f"--annotators {given}: {why}expected names such as anna,ben, or a number up to 500")
    return names


def criteria_of(given: str) -> tuple[str, ...]:
    names = tuple(" ".join(name.split()) for name in given.split(",")) if given.strip() else ()
    if not all(name and escape_control_characters(name) == name for name in names) or len(set(names)) < len(names):
        raise UsageError(f"--criteria {given}: expected names such as personalization,logical-validity, each once")
    return names


Annotators = Annotated[
    str,
    option("Names, such as anna,ben, or a number of people. Each person gets a link.", metavar="NAMES"),
]
Limit = Annotated[int | None, option("Use a random sample of N items.", min=1, metavar="N", shown_default="all")]
Seed = Annotated[int, option("Seed of the assignment of items, their order and their sides.")]


@checked_call
def open_study(
    paths: Sequence[Path],
    *,
    task: Annotated[
        str | None, option("Task of the runs' benchmark.", metavar="NAME", shown_default="the first")
    ] = None,
    annotators: Annotators = "1",
    overlap: Annotated[float, option("Share of items that all annotators get.", min=0, max=1)] = 0.2,
    limit: Limit = None,
    checks: Annotated[
        float, option("Number of gold checks to generate, as a share of an annotator's items.", min=0, max=1)
    ] = 0.05,
    gold: Annotated[
        Path | None,
        option("A .jsonl or .csv file of items with known labels, to use as gold checks.", metavar="FILE"),
    ] = None,
    criteria: Annotated[
        str,
        option("Additional criteria to rate from 1 to 5, such as personalization,logical-validity.", metavar="NAMES"),
    ] = "",
    seed: Seed = 0,
    db: Annotated[
        Path | None,
        option(
            "File of the study.",
            metavar="FILE",
            shown_default="annotations.sqlite in the parent folder of the first run",
        ),
    ] = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Study:
    """The study of these runs and settings. Without runs, the study in `db`, whatever its settings are."""
    if not paths:
        if db is None:
            raise UsageError("no run was given; expected the folder of a run, such as runs/NAME, or --db with a study")
        return Study(db)
    runs = read_runs(paths)
    benchmark = registry.get(runs[0].configuration["benchmark"])
    kind = task_named(task, benchmark)
    if gold is not None and not gold.is_file():
        raise UsageError(f"--gold {gold}: there is no such file")
    print_ = hashlib.sha256(gold.read_bytes()).hexdigest() if gold else None
    settings = Settings(kind.name, names_of(annotators), overlap, limit, checks, print_, criteria_of(criteria), seed)
    collection = collect_units(runs, kind)
    about = {"settings": asdict(settings), "runs": list(collection.runs), "items": _digest(collection.units)}
    path = db or paths[0].resolve().parent / DATABASE
    if not is_created(path):
        _make(path, {**about, "benchmark": benchmark.name}, collection, kind, settings, runs, gold, tell)
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
    collection: UnitCollection,
    task: Task,
    settings: Settings,
    runs: Sequence[EndedRun],
    gold: Path | None,
    tell: Callable[[str], None],
) -> None:
    known = given_checks(gold, task, collection.units) if gold else []
    request = StudyRequest(settings.annotators, settings.overlap, settings.limit, settings.checks, settings.seed)
    planned = plan(task, collection.units, known, request)
    for reason, n in collection.left_out.items():
        tell(f"{n:,} left out: {reason}")
    if planned.reserved:
        tell(f"{planned.reserved:,} left out: reserved for gold checks, which must not be recognizable")
    if planned.generated < planned.wanted:
        tell(
            f"{planned.generated:,} of {planned.wanted:,} gold checks could be generated: there are too few "
            "unused questions and answers"
        )
    units: Sequence[Unit] = planned.units
    if task.shape != "parts":  # those tasks compare two texts only
        units, why = with_dialogues(units, runs)
        if why:
            tell(why)
    create(path, about, units, planned.turns)


def _digest(units: Sequence[Unit]) -> str:
    return hashlib.sha256(json.dumps([unit.ids for unit in units]).encode()).hexdigest()


def check_same(study: Study, about: Mapping[str, Any]) -> None:
    """One study per file: the settings of a study never change."""
    wanted = json.loads(json.dumps(about))
    if any(study.about.get(name) != value for name, value in wanted.items()):
        found = study.about["settings"]
        differ = [f"--{k.replace('_', '-')}" for k, v in wanted["settings"].items() if found.get(k) != v]
        if not differ:
            differ = ["the runs" if study.about.get("runs") != wanted.get("runs") else "what the runs hold"]
        raise UsageError(
            f"{study.path} contains another study, with different {' and '.join(differ).removeprefix('the ')}; "
            "choose another --db, or use the same command as before"
        )
