"""Agreement between raters by task, and people's preference between personalized and general answers or two runs.

agree(["runs/gpt-4o", "runs/proxy", "people.jsonl"], reference="ann")["tasks"]["compare"]["alpha"]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

from bowstring.benchmarks import registry
from bowstring.datasets.problems import join_choices
from bowstring.datasets.ratings import COMPARE, PERSONAL, left_out_in_words
from bowstring.errors import UsageError
from bowstring.labels import PREFERRED
from bowstring.metrics.alternative_annotator import DEFAULT_EPSILON
from bowstring.metrics.preference import prefer_first, prefer_personalized
from bowstring.metrics.ratings import compare_raters
from bowstring.metrics.reliability import Level
from bowstring.metrics.scales import normalize_label, normalize_text
from bowstring.records import Rating
from bowstring.settings import checked_call, option
from bowstring.studies.ratings import RATERS_NAMED, RatingCollection, collect_ratings, raters_in_words

UNNAMED = "ratings"  # task of files that do not name one


@checked_call
def agree(
    sources: Sequence[str],
    *,
    reference: Annotated[
        str | None, option("Rater to compare the others with: accuracy, macro F1, confusion matrix.", metavar="RATER")
    ] = None,
    judges: Annotated[
        Sequence[str],
        option(
            "Rater of a file that is a judge, not a person; repeatable.",
            name="--judge",
            metavar="RATER",
            shown_default="the judges of runs",
        ),
    ] = (),
    epsilon: Annotated[
        float,
        option(
            "Alternative annotator test: how much less often than a person a judge may be the better one, because it "
            "is cheaper. 0.2 for experts, 0.15 for skilled people, 0.1 for crowd workers.",
            min=0,
            below=1,
        ),
    ] = DEFAULT_EPSILON,
    raters: Annotated[
        Sequence[str],
        option("Use only this rater; repeatable.", name="--rater", metavar="RATER", shown_default="all"),
    ] = (),
    level: Annotated[
        Literal["auto", Level], option("Level of measurement of the labels; auto uses all that fit.")
    ] = "auto",
    labels: Annotated[Sequence[str], option("Labels in ascending order.", metavar="LABELS")] = (),
    merge: Annotated[
        Mapping[str, str] | None, option("Count one label as another, such as tie=lose; repeatable.")
    ] = None,
    metrics: Annotated[bool, option("Add text metrics as raters, for runs of a benchmark that has them.")] = False,
    items: Annotated[int, option("Number of most disputed items to show.", min=0)] = 5,
) -> dict[str, Any]:
    """Measure the agreement of raters, as `bowstring agree` does; the result can be written as JSON."""
    at_level = None if level == "auto" else level
    merge = {normalize_label(label): normalize_label(other) for label, other in (merge or {}).items()}
    labels = [normalize_label(label) for label in labels]
    reference = reference and normalize_text(reference)
    collection = collect_ratings(sources, metrics=metrics, raters=raters, judges=judges, merge=merge)
    by_task = collection.tasks()
    known = {rating.rater for rating in collection.ratings}
    if reference is not None and reference not in known:
        raise UsageError(f"--reference {reference!r}: no such rater; {raters_in_words(known)}")
    given = {rating.label for ratings in by_task.values() for rating in ratings}
    if labels and not any({r.label for r in ratings} <= set(labels) for ratings in by_task.values()):
        lacking = ", ".join(sorted(given - set(labels)))
        raise UsageError(f"--labels {','.join(labels)} lacks {lacking}; expected every label of a task")
    how = {"reference": reference, "level": at_level, "epsilon": epsilon, "most_disputed": items}
    found = {
        task or UNNAMED: _task(ratings, collection, _task_labels(task, ratings, merge), labels, how)
        for task, ratings in by_task.items()
    }
    personal = prefer_personalized(
        r for task, ratings in by_task.items() if _is_personal(task, ratings) for r in ratings
    )
    judged = any(r.sides is None for r in by_task.get(COMPARE, ()))
    for task, ratings in by_task.items():
        found[task or UNNAMED] |= _run_preference(ratings, found[task or UNNAMED]["notes"], judged=judged)
    preferred = personal is not None or any(task.get("preference") for task in found.values())
    if not any(task["shared"] for task in found.values()) and not preferred:
        raise UsageError(_no_shared_items(collection))
    return {
        "sources": dict(collection.sources),
        "tasks": found,
        **({"personal": personal} if personal else {}),
        "left_out": [
            {"task": task or UNNAMED, "rater": rater, "reason": reason, "n": n}
            for (task, rater, reason), n in collection.left_out.items()
        ],
    }


def _task(
    ratings: Sequence[Rating],
    collection: RatingCollection,
    task_labels: Collection[str],
    labels: Sequence[str],
    how: Mapping[str, Any],
) -> dict[str, Any]:
    given = {rating.label for rating in ratings}
    order = labels if given <= set(labels) else ()  # otherwise it is the order of another task
    try:
        found = compare_raters(ratings, judges=collection.judges, order=order, task_labels=task_labels, **how)
    except ValueError as error:
        raise UsageError(f"--level: {error}") from error
    for one in found["disputed"]:
        one["about"] = collection.about.get(one["item"])
    return found | {"notes": _notes(found, given)}


def _notes(found: Mapping[str, Any], given: Collection[str]) -> list[str]:
    notes = []
    if len({label.casefold() for label in given}) < len(given):
        notes.append("some labels differ only in case and count as different; --merge Win=win merges them")
    never = [label for label in found["averaged_labels"] if label not in given]
    if never and ("reference" in found or "majority" in found):
        verb = "counts" if len(never) == 1 else "count"
        notes.append(f"no rater gave {join_choices(never)}, which {verb} as 0 in macro F1")
    return notes


def _task_labels(task: str, ratings: Sequence[Rating], merge: Mapping[str, str]) -> set[str]:
    """The labels that a benchmark defines for a task, after merging; none for a task of your own."""
    name = COMPARE if any(rating.sides for rating in ratings) else task
    people = (benchmark.people() for benchmark in registry.all_benchmarks())
    tasks = (one for own in people if own is not None for one in own.tasks if one.name == name)
    return {merge.get(label, label) for one in tasks for label in one.labels}


def _run_preference(ratings: Sequence[Rating], notes: Sequence[str], *, judged: bool) -> dict[str, Any]:
    """People's preference between two runs, if they compared two runs; otherwise nothing."""
    sides = next((rating.sides for rating in ratings if rating.sides), None)
    if sides is None:
        return {}
    note = (
        "people compared two runs with each other, but judges compare an answer with the gold answer, so no "
        "verdict of a judge is about the same items"
    )
    return {
        "sides": list(sides),
        "preference": prefer_first(ratings),
        "notes": [*notes, *([note] if judged else [])],
    }


def _is_personal(task: str, ratings: Sequence[Rating]) -> bool:
    return task == PERSONAL or (not task and {rating.label for rating in ratings} <= set(PREFERRED))


def _no_shared_items(collection: RatingCollection) -> str:
    """The reason why no item has two raters."""
    counts: dict[str, int] = {}
    for rating in collection.ratings:
        counts[rating.rater] = counts.get(rating.rater, 0) + 1
    if not counts:
        lost = left_out_in_words((reason, n) for (*_, reason), n in collection.left_out.items())
        return f"there are no ratings to compare: {lost or 'the sources are empty'}"
    raters = ", ".join(f"{rater} ({n:,})" for rater, n in list(counts.items())[:RATERS_NAMED])
    raters += ", …" if len(counts) > RATERS_NAMED else ""
    if len(counts) == 1:
        ways = ["another run", "a file of ratings", *(["--metrics"] if collection.text_metrics else [])]
        return f"there is only one rater, {raters}; add {join_choices(ways)}"
    return f"no item has two raters: {raters}; agreement needs raters of the same items"
