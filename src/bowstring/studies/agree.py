"""How far raters agree, task by task, and what people prefer: a personalized answer, or one run's to another's.

agree(["runs/gpt-4o", "runs/proxy", "people.jsonl"], reference="ann")["tasks"]["compare"]["alpha"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bowstring.datasets.ratings import COMPARE, PERSONAL
from bowstring.errors import UsageError
from bowstring.labels import PREFERRED
from bowstring.metrics.preference import prefer_first, prefer_personalized
from bowstring.metrics.ratings import compare_raters
from bowstring.metrics.reliability import Level
from bowstring.records import Rating
from bowstring.settings import suggest_keywords
from bowstring.studies.ratings import Gathered, gather

UNNAMED = "ratings"  # the task of files that name none


@suggest_keywords
def agree(
    sources: Sequence[str],
    *,
    reference: str | None = None,
    level: Level | None = None,
    labels: Sequence[str] = (),
    merge: Mapping[str, str] | None = None,
    raters: Sequence[str] = (),
    metrics: bool = False,
    items: int = 5,
) -> dict[str, Any]:
    """Everything, ready for JSON."""
    gathered = gather(sources, metrics=metrics, raters=raters, merge=merge)
    by_task = gathered.tasks()
    known = {rating.rater for rating in gathered.ratings}
    if reference is not None and reference not in known:
        raise UsageError(f"--reference {reference!r}: no such rater; there are {', '.join(sorted(known)) or 'none'}")
    given = {rating.label for ratings in by_task.values() for rating in ratings}
    if labels and not any({r.label for r in ratings} <= set(labels) for ratings in by_task.values()):
        lacking = ", ".join(sorted(given - set(labels)))
        raise UsageError(f"--labels {','.join(labels)} lacks {lacking}; expected every label of a task")
    found = {
        task or UNNAMED: _task(ratings, gathered, reference=reference, level=level, labels=labels, items=items)
        for task, ratings in by_task.items()
    }
    personal = prefer_personalized(
        r for task, ratings in by_task.items() if _is_personal(task, ratings) for r in ratings
    )
    judged = any(r.sides is None for r in by_task.get(COMPARE, ()))
    for task, ratings in by_task.items():
        found[task or UNNAMED] |= _of_two_runs(ratings, found[task or UNNAMED]["notes"], judged=judged)
    preferred = personal is not None or any(task.get("preference") for task in found.values())
    if not any(task["shared"] for task in found.values()) and not preferred:
        raise UsageError(_nothing_shared(gathered))
    return {
        "sources": dict(gathered.sources),
        "tasks": found,
        **({"personal": personal} if personal else {}),
        "left_out": [
            {"task": task or UNNAMED, "rater": rater, "reason": reason, "n": n}
            for (task, rater, reason), n in gathered.left_out.items()
        ],
    }


def _task(
    ratings: Sequence[Rating],
    gathered: Gathered,
    *,
    reference: str | None,
    level: Level | None,
    labels: Sequence[str],
    items: int,
) -> dict[str, Any]:
    given = {rating.label for rating in ratings}
    order = labels if given <= set(labels) else ()  # it is another task's
    try:
        found = compare_raters(ratings, order=order, level=level, reference=reference, most_disputed=items)
    except ValueError as error:
        raise UsageError(f"--level: {error}") from error
    for one in found["disputed"]:
        one["about"] = gathered.about.get(one["item"])
    cases = {label.casefold() for label in given}
    note = "some labels differ only in case, and count as different: --merge Win=win makes them one"
    return found | {"notes": [note] if len(cases) < len(given) else []}


def _of_two_runs(ratings: Sequence[Rating], notes: Sequence[str], *, judged: bool) -> dict[str, Any]:
    """Whose answers people liked better, where they compared those of two runs; otherwise nothing."""
    sides = next((rating.sides for rating in ratings if rating.sides), None)
    if sides is None:
        return {}
    note = (
        "two runs were compared with each other: judges compare one answer with the gold one, so that none of their "
        "verdicts is of what people saw here"
    )
    return {
        "sides": list(sides),
        "preference": prefer_first(ratings),
        "notes": [*notes, *([note] if judged else [])],
    }


def _is_personal(task: str, ratings: Sequence[Rating]) -> bool:
    return task == PERSONAL or (not task and {rating.label for rating in ratings} <= set(PREFERRED))


def _nothing_shared(gathered: Gathered) -> str:
    """Why there is nothing to compare."""
    counts: dict[str, int] = {}
    for rating in gathered.ratings:
        counts[rating.rater] = counts.get(rating.rater, 0) + 1
    if not counts:
        return "there is no rating to compare: " + (
            ", ".join(f"{n:,} {reason}" for (*_, reason), n in gathered.left_out.items()) or "the sources are empty"
        )
    raters = ", ".join(f"{rater} ({n:,})" for rater, n in counts.items())
    if len(counts) == 1:
        return f"there is one rater, {raters}; give another run, a file of ratings, or --metrics"
    return f"no item has two raters: {raters}; raters meet where the item is the same"
