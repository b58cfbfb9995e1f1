"""Finds the task of a study and parses the forms of annotators.

On a page two answers are A and B in random order. Only `Task.label` maps a side back to its source, on export.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import Benchmark, require_part
from bowstring.benchmarks.people import CURATE, Task
from bowstring.errors import UsageError

Form = Mapping[str, Sequence[str]]
DEGREES = ("1", "2", "3", "4", "5")  # of a criterion
LONGEST = 200_000  # characters of a comment or an edited text


def task_named(name: str | None, benchmark: Benchmark) -> Task:
    """The task of this name, or the default task; a UsageError lists the tasks of the benchmark."""
    people = require_part(benchmark, benchmark.people(), "tasks for annotators")
    if name is None:
        return people.tasks[0]
    known = {task.name: task for task in people.tasks}
    if name in known:
        return known[name]
    fitting = " or ".join(known)
    if (other := _benchmark_with(name)) is not None:
        raise UsageError(f"--task {name} is for {other} runs; these are {benchmark.name}: {fitting}")
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"expected {fitting}"
    raise UsageError(f"--task {name!r} is not a task of {benchmark.name} runs; {hint}")


def task_of_study(name: str, benchmark: str | None) -> Task:
    """The task of a study; studies of earlier versions do not name their benchmark. ValueError for an unknown task,
    UsageError for an unknown benchmark."""
    if name == CURATE.name:
        return CURATE
    benchmark = benchmark or _benchmark_with(name)
    if benchmark is not None and benchmark not in registry.names():
        raise UsageError(
            f"this is a study of the benchmark {benchmark}, which is not installed here; install the package that has "
            "it"
        )
    people = registry.get(benchmark).people() if benchmark is not None else None
    found = next((task for task in people.tasks if task.name == name), None) if people is not None else None
    if found is None:
        raise ValueError(f"{name!r:.100} is not a task")
    return found


def _benchmark_with(task: str) -> str | None:
    """The first benchmark that has a task of this name."""
    having = ((b.name, people) for b in registry.all_benchmarks() if (people := b.people()) is not None)
    return next((name for name, people in having if any(task == one.name for one in people.tasks)), None)


@dataclass(frozen=True, slots=True)
class PageResponse:
    """The response of an annotator on one page, in the terms of the page."""

    choices: tuple[str, ...]
    criteria: Mapping[str, str] = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""


class Incomplete(Exception):
    """A form with a missing or unknown value; str() is shown to the annotator."""


def read_form(
    form: Form, task: Task, *, parts: int, criteria: Sequence[str], fields: Mapping[str, str]
) -> PageResponse:
    """Parse a form; criteria are optional. `fields` are the current values of the editable texts."""
    names = [f"choice-{n}" for n in range(parts)] if task.shape == "parts" else ["choice"]
    choices = tuple(_one(form, name) for name in names)
    if not all(choices):
        said = "Please label every point." if task.shape == "parts" else "Please make a choice."
        raise Incomplete(said)
    if unknown := [c for c in choices if c not in task.choices]:
        raise Incomplete(f"{unknown[0][:40]!r} is not one of the choices.")
    rated = (name for criterion in criteria for name in task.rated(criterion))
    degrees = {name: given for name in rated if (given := _one(form, f"criterion-{name}"))}
    if unknown := [d for d in degrees.values() if d not in DEGREES]:
        raise Incomplete(f"{unknown[0][:40]!r} is not one of the choices.")
    comment = _lines(_one(form, "comment")).strip()
    edits: dict[str, str] = {}
    if task.shape == "fields":
        choices, edits = _curated(form, choices[0], comment, fields)
    return PageResponse(choices, degrees, edits, comment)


def _curated(form: Form, choice: str, reason: str, fields: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Edits are found by comparing texts, so an unchanged text is never an edit, and no edit is lost."""
    if choice == "reject":
        if not reason:
            raise Incomplete("Please give a reason for the rejection.")
        return ("reject",), {}
    given = {name: _lines(_one(form, f"field-{name}")) for name in fields}
    if any(not text.strip() for name, text in given.items() if fields[name].strip()):
        raise Incomplete("A text is empty; reject the item if it cannot be fixed.")
    edits = {name: text.strip() for name, text in given.items() if text.strip() != _lines(fields[name]).strip()}
    return ("edit" if edits else "accept",), edits


def _one(form: Form, name: str) -> str:
    given = form.get(name, [""])[-1]
    if len(given) > LONGEST:
        raise Incomplete(f"A text is too long; the limit is {LONGEST:,} characters.")
    return given


def _lines(text: str) -> str:
    """Forms send CRLF line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_seconds(form: Form, most: float) -> float:
    """The time on the page as reported by the form; if missing or impossible, the time since the page was sent."""
    try:
        seconds = float(_one(form, "seconds"))
    except ValueError:
        return most
    return seconds if math.isfinite(seconds) and 0 < seconds <= most else most
