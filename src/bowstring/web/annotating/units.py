"""Units from runs: the contents of the pages.

The benchmark turns a record into a unit (`People.unit`). Unit ids are those of `datasets.ratings`, so people and judges
rate the same items. A unit includes its sources, which pages never show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import require_part
from bowstring.benchmarks.of_run import open_run
from bowstring.benchmarks.people import People, Task, Turns, Unit, turns_of
from bowstring.datasets.dataset import DataSet
from bowstring.errors import UsageError
from bowstring.records import is_repeated
from bowstring.runs.folder import EndedRun
from bowstring.runs.runner import Record
from bowstring.runs.sweep import run_folders
from bowstring.studies.loading import data_name
from bowstring.studies.report import data_of
from bowstring.studies.run_names import folder_names


@dataclass(frozen=True, slots=True)
class UnitCollection:
    """The units of runs in the order of the data; `left_out` counts the others by reason."""

    runs: tuple[str, ...]
    units: tuple[Unit, ...]
    left_out: Mapping[str, int]


def read_runs(paths: Sequence[Path]) -> list[EndedRun]:
    """The runs, which must have the same benchmark and data. A sweep means all of its runs."""
    folders = {folder.resolve(): folder for path in paths for folder in run_folders(path)}
    runs = [open_run(folder) for folder in folders.values()]
    if not runs:
        raise UsageError("no run was given; expected the folder of a run, such as runs/NAME")
    first = runs[0]
    for other in runs[1:]:
        kinds = [str(run.configuration["benchmark"]) for run in (first, other)]
        if kinds[0] != kinds[1]:
            raise UsageError(
                f"{first.path} is a {kinds[0]} run and {other.path} a {kinds[1]} one; annotate them separately"
            )
        _check_data(first, other)
    return runs


def _check_data(first: EndedRun, other: EndedRun) -> None:
    """Check that the runs have the same data: keys are not comparable between data sets."""
    data, theirs = first.configuration["data"], other.configuration["data"]
    if data["fingerprint"] == theirs["fingerprint"]:
        return
    what, shown = "data", [data_name(data), data_name(theirs)]
    splits = [run.configuration["settings"].get("splits") for run in (first, other)]
    if [data["name"], data["revision"]] == [theirs["name"], theirs["revision"]] and splits[0] != splits[1]:
        what, shown = "splits", ["+".join(own or ()) or "all" for own in splits]
    raise UsageError(
        f"{first.path} and {other.path} cannot be annotated together: their {what} differ: {shown[0]} and {shown[1]}"
    )


def collect_units(runs: Sequence[EndedRun], task: Task) -> UnitCollection:
    """The unique units of these runs for a task."""
    benchmark = registry.get(runs[0].configuration["benchmark"])
    people = require_part(benchmark, benchmark.people(), "tasks for annotators")
    left_out: Counter[str] = Counter()
    if task.compares_runs and len(runs) > 2:
        raise UsageError(
            f"{task.name} takes one run, against the gold answers, or two, against each other; not {len(runs)}"
        )
    names = tuple(folder_names([run.path for run in runs]))
    if task.compares_runs and len(runs) == 2:
        found = _of_two_runs(people, runs[0], runs[1], (names[0], names[1]))
    else:
        found = (people.unit(task, r, name) for run, name in zip(runs, names, strict=True) for r in _first_answers(run))
    units: dict[tuple[str, ...], Unit] = {}
    for unit in found:
        if isinstance(unit, str):
            left_out[unit] += 1
            continue
        if unit.ids in units:
            left_out["duplicate of another item"] += 1
        units.setdefault(unit.ids, unit)
    if not units:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in left_out.items())
        raise UsageError(f"{runs[0].path} has no items for --task {task.name}: {reasons or 'no records'}")
    return UnitCollection(names, tuple(units.values()), left_out)


def _of_two_runs(people: People, one: EndedRun, other: EndedRun, names: tuple[str, str]) -> Iterator[Unit | str]:
    others = {record["key"]: record for record in _first_answers(other)}
    for record in _first_answers(one):
        against = others.get(record["key"])
        yield "not in both runs" if against is None else people.unit_of_two(record, against, names)


def with_dialogues(units: Sequence[Unit], runs: Sequence[EndedRun]) -> tuple[list[Unit], str | None]:
    """The units with the dialogues that an answer depends on; or unchanged, with the reason. Runs of one set may use
    different splits."""
    keys = {unit.key for unit in units}
    found: dict[str, tuple[Turns, ...]] = {}
    for run in {str(run.configuration["settings"].get("splits")): run for run in runs}.values():
        data, why = data_of(run)
        if data is None:
            return list(units), f"the dialogues are not shown: {why}"
        found |= _evidence(data, keys)
    return [replace(unit, dialogues=found.get(unit.key, ())) for unit in units], None


def _evidence(data: DataSet, keys: set[str]) -> Iterator[tuple[str, tuple[Turns, ...]]]:
    key, by_id = None, {}
    for item in (item for item in data.items() if item.key in keys):
        if data.history_key(item) != key:
            key = data.history_key(item)
            by_id = {dialogue.id: dialogue for dialogue in data.history_named(key)}
        yield item.key, tuple(turns_of(by_id[n]) for n in item.evidence)


def _first_answers(run: EndedRun) -> Iterator[Record]:
    return (record for record in run.records() if not is_repeated(record))
