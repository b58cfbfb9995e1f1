"""What can be asked of an annotator, and how what they say is read.

On a page two answers are A and B, by lot. Only here, and only on the way out, does a side become a source again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bowstring.benchmarks.cupid.types import COVERAGE_LABELS
from bowstring.errors import UsageError
from bowstring.records import SIDES

Shape = Literal["pair", "scale", "parts", "fields"]
Form = Mapping[str, Sequence[str]]
DEGREES = ("1", "2", "3", "4", "5")  # of a criterion
LONGEST = 200_000  # characters of a comment, or of a text that somebody edits


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of question. `labels` are what is exported: of a pair, for the first answer, a tie and the second."""

    name: str
    benchmark: str | None
    shape: Shape
    labels: tuple[str, ...]
    asks: str
    advice: str

    @property
    def choices(self) -> tuple[str, ...]:
        """What a page offers."""
        return ("A", "tie", "B") if self.shape == "pair" else self.labels

    def rated(self, criterion: str) -> tuple[str, ...]:
        """What is rated by a criterion: each answer of a page."""
        return tuple(f"{criterion}/{side}" for side in SIDES) if self.shape == "pair" else (criterion,)

    def label(self, choice: str, *, swapped: bool) -> str:
        """What a choice means when it is known which answer stood where."""
        if self.shape != "pair":
            return choice
        first, tie, second = self.labels
        if choice == "tie":
            return tie
        return first if (choice == "A") != swapped else second

    def choice(self, label: str, *, swapped: bool) -> str:
        return next(c for c in self.choices if self.label(c, swapped=swapped) == label)


_BETTER = (
    "Choose the answer that this user is better served by: it fits what is known of them, and it is right and to the "
    "point. An answer that forces in what does not matter here is no better for it."
)
TASKS = {
    task.name: task
    for task in (
        Task("compare", "hicupid", "pair", ("win", "tie", "lose"), "Which answer is better for this user?", _BETTER),
        Task(
            *("personal", "hicupid", "pair", ("personalized", "tie", "general")),
            *("Which answer is better for this user?", _BETTER),
        ),
        Task(
            *("satisfaction", "hicupid", "scale", ("yes", "no"), "Does the answer take account of what is known?"),
            "Say yes where the answer notices what the user already has at that time, and does not simply go along.",
        ),
        Task(
            *("rate", "cupid", "scale", tuple(map(str, range(1, 11)))),
            "How well does the answer meet what this user wants here?",
            "1: it goes against it, or misses it altogether. 10: it meets every point of the list. Only what this user "
            "wants counts, not what you would want.",
        ),
        Task(
            *("coverage", "cupid", "parts", COVERAGE_LABELS),
            "How far does the description cover each point?",
            "Fully: whoever follows the description meets the point. Partially: they may meet a part of it, or only "
            "sometimes. Not: following it says nothing of the point, or goes against it.",
        ),
        Task(
            *("curate", None, "fields", ("accept", "edit", "reject"), "Is this good enough for the data set?"),
            "Read everything. Accept what is sound, mend what is nearly so, and reject the rest with a reason.",
        ),
    )
}
ASKED = tuple(name for name in TASKS if name != "curate")


def default_task(benchmark: str) -> str:
    return "compare" if benchmark == "hicupid" else "rate"


def task_named(name: str, benchmark: str) -> Task:
    """The task, where runs of this benchmark have something for it."""
    task = TASKS[name]
    if task.benchmark != benchmark:
        fitting = [n for n in ASKED if TASKS[n].benchmark == benchmark]
        raise UsageError(f"--task {name} is for {task.benchmark} runs; these are {benchmark}: {' or '.join(fitting)}")
    return task


@dataclass(frozen=True, slots=True)
class Said:
    """What an annotator said on one page, as the page called it."""

    choices: tuple[str, ...]
    criteria: Mapping[str, str] = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""


class Incomplete(Exception):
    """Something is missing or unknown in a form; str() is said to the annotator."""


def read_form(form: Form, task: Task, *, parts: int, criteria: Sequence[str], fields: Mapping[str, str]) -> Said:
    """What a form says; criteria may be left open. `fields` are the texts that can be edited, as they are now."""
    names = [f"choice-{n}" for n in range(parts)] if task.shape == "parts" else ["choice"]
    choices = tuple(_one(form, name) for name in names)
    if not all(choices):
        said = "Please label every point." if task.shape == "parts" else "Please choose first."
        raise Incomplete(said)
    if unknown := [c for c in choices if c not in task.choices]:
        raise Incomplete(f"There is no choice {unknown[0][:40]!r} here.")
    rated = (name for criterion in criteria for name in task.rated(criterion))
    degrees = {name: given for name in rated if (given := _one(form, f"criterion-{name}"))}
    if unknown := [d for d in degrees.values() if d not in DEGREES]:
        raise Incomplete(f"There is no choice {unknown[0][:40]!r} here.")
    comment = _lines(_one(form, "comment")).strip()
    edits: dict[str, str] = {}
    if task.shape == "fields":
        choices, edits = _curated(form, choices[0], comment, fields)
    return Said(choices, degrees, edits, comment)


def _curated(form: Form, choice: str, reason: str, fields: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """What was changed is found by looking, so that nothing is an edit without one, and no edit is lost."""
    if choice == "reject":
        if not reason:
            raise Incomplete("Please say why it is rejected.")
        return ("reject",), {}
    given = {name: _lines(_one(form, f"field-{name}")) for name in fields}
    if any(not text.strip() for name, text in given.items() if fields[name].strip()):
        raise Incomplete("A text was left empty; reject the item if it cannot be mended.")
    edits = {name: text.strip() for name, text in given.items() if text.strip() != _lines(fields[name]).strip()}
    return ("edit" if edits else "accept",), edits


def _one(form: Form, name: str) -> str:
    given = form.get(name, [""])[-1]
    if len(given) > LONGEST:
        raise Incomplete(f"At most {LONGEST:,} characters at a time.")
    return given


def _lines(text: str) -> str:
    """Forms send line ends of their own."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_seconds(form: Form, most: float) -> float:
    """How long the page was looked at, as it says itself; since it was sent, where it does not or cannot have been."""
    try:
        seconds = float(_one(form, "seconds"))
    except ValueError:
        return most
    return seconds if math.isfinite(seconds) and 0 < seconds <= most else most
