"""Results of a study: ratings with their sources, and the progress of annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

from bowstring.benchmarks.people import Task
from bowstring.records import Side
from bowstring.web.annotating.study import Annotation, Assignment, Study
from bowstring.web.annotating.tasks import PageResponse


def export(study: Study) -> Iterator[dict[str, Any]]:
    """One line per rated item; gold checks are marked and are not ratings."""
    task = study.task
    for given in study.assignments():
        if given.annotation is not None:
            yield from _lines(given, given.annotation, task)


def _lines(given: Assignment, annotation: Annotation, task: Task) -> Iterator[dict[str, Any]]:
    unit, response = given.unit, annotation.response
    for n, (item, choice) in enumerate(zip(unit.ids, response.choices, strict=True)):
        line: dict[str, Any] = {
            "item": item,
            "rater": given.annotator,
            "label": task.label(choice, swapped=given.swapped),
            "task": task.name,
            "cluster": unit.cluster,
            "type": unit.type,
            "seconds": round(annotation.seconds / len(unit.ids), 2),  # the time of a page is divided between its points
            "gold": bool(unit.expected),
            "criteria": _degrees(response, "B" if given.swapped else "A", task),
            "comment": response.comment,
            "at": datetime.fromtimestamp(annotation.at, UTC).isoformat(timespec="seconds"),
            "key": unit.key,
            "sources": list(unit.sources),
            "place": given.place + 1,
            "shared": unit.shared,
            "changes": annotation.changes,
        }
        if task.shape == "pair":
            line["criteria_of_other"] = _degrees(response, "A" if given.swapped else "B", task)
            line |= {"choice": choice, "first": unit.sources[1 if given.swapped else 0]}
        if unit.expected:
            line |= {"expected": list(unit.expected[n]), "right": _is_right(line["label"], unit.expected[n])}
        yield line


def _degrees(response: PageResponse, side: Side, task: Task) -> dict[str, int]:
    """The ratings of the answer on one side, by criterion; tasks without a comparison have one side."""
    if task.shape != "pair":
        return {name: int(degree) for name, degree in response.criteria.items()}
    of_side = {name.rpartition("/"): int(degree) for name, degree in response.criteria.items()}
    return {criterion: degree for (criterion, _, of), degree in of_side.items() if of == side}


def _is_right(label: str, expected: tuple[str, ...]) -> bool | None:
    return label in expected if expected else None


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of one annotator; `right` of `checked` gold checks were answered as expected."""

    annotator: str
    done: int
    total: int
    right: int
    checked: int
    checks: int
    seconds: float | None  # median per page
    last: str | None
    chose: dict[str, int]  # counts of each side or label, as named on the page


def standings(study: Study) -> list[Standing]:
    task = study.task
    by_name: dict[str, list[Assignment]] = {name: [] for name in study.about["settings"]["annotators"]}
    for given in study.assignments():
        by_name[given.annotator].append(given)
    return [_standing(name, turns, task) for name, turns in by_name.items()]


def _standing(name: str, turns: list[Assignment], task: Task) -> Standing:
    done = [(g, g.annotation) for g in turns if g.annotation is not None]
    checked = [_all_right(g, a, task) for g, a in done if g.unit.expected]
    last = max((a.at for _, a in done), default=None)
    chose = Counter(choice for g, a in done if not g.unit.expected for choice in a.response.choices)
    return Standing(
        annotator=name,
        done=len(done),
        total=len(turns),
        right=sum(checked),
        checked=len(checked),
        checks=sum(bool(g.unit.expected) for g in turns),
        seconds=median(a.seconds for _, a in done) if done else None,
        last=None if last is None else datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds"),
        chose={choice: chose[choice] for choice in task.choices},
    )


def _all_right(given: Assignment, annotation: Annotation, task: Task) -> bool:
    labels = [task.label(choice, swapped=given.swapped) for choice in annotation.response.choices]
    known = zip(labels, given.unit.expected, strict=True)
    return all(_is_right(label, expected) is not False for label, expected in known)
