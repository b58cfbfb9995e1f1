"""People's labels for the items of runs, as scores on the scale of the judge.

    match_labels([Path("people.jsonl")], people, {item: task}).scores

Labels are matched to items by the rated texts (`datasets/ratings.item_id`), so one file can have labels for the items
of several runs. Labels of several people for an item are averaged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bowstring.benchmarks.people import JudgedScore, People, Task
from bowstring.datasets.ratings import GOLD_CHECK, read_ratings
from bowstring.errors import DataError, UsageError
from bowstring.metrics.correction import JudgedItem
from bowstring.metrics.measures import Measure


@dataclass(frozen=True, slots=True)
class PeopleLabels:
    """Mean scores by item; `left_out` counts unused labels by reason."""

    files: tuple[str, ...]
    scores: Mapping[str, float]
    raters: int
    left_out: Mapping[str, int]


def match_labels(
    files: Sequence[Path], people: People, tasks: Mapping[str, Task], runs: Sequence[Path]
) -> PeopleLabels:
    """Read the labels of the items in `tasks`, by item id. `runs` are the folders that these items come from."""
    given: dict[str, list[float]] = {}
    left_out: Counter[str] = Counter()
    raters: set[str] = set()
    compared: tuple[str, str] | None = None
    for file in files:
        if not file.is_file():
            raise UsageError(
                f"--labels {file}: no such file; expected a .jsonl or .csv file with item, rater and label"
            )
        read = read_ratings(file)
        for place, rating in read.rows:
            if rating.sides is not None:
                compared = rating.sides
                left_out["for comparisons of two runs (left out)"] += 1
            elif (task := tasks.get(rating.item)) is None:
                left_out["for other items (left out)"] += 1
            elif (value := people.score_of(task, rating.label)) is None:
                raise DataError(f"{place}: label is {rating.label!r}; expected {task.expected}")
            else:
                given.setdefault(rating.item, []).append(value)
                raters.add(rating.rater)
        for (*_, reason), n in read.left_out.items():
            left_out["of gold checks (left out)" if reason == GOLD_CHECK else reason] += n
    if not given:
        raise _nothing_matches(files, runs, compared)
    means = {item: sum(values) / len(values) for item, values in given.items()}
    return PeopleLabels(tuple(map(str, files)), means, len(raters), dict(left_out))


def _nothing_matches(files: Sequence[Path], runs: Sequence[Path], compared: tuple[str, str] | None) -> UsageError:
    named = ", ".join(map(str, files))
    if compared is not None:
        return UsageError(
            f"{named}: its labels compare two runs, {' and '.join(compared)}, and cannot correct a score; "
            f"collect labels of answers against gold answers with: bowstring annotate {runs[0]}"
        )
    of = " or ".join(map(str, runs))
    return UsageError(f"{named}: no label is for an item of {of}; expected item ids as in bowstring annotate export")


def judged_items(
    measure: Measure, judged: Sequence[tuple[str, Mapping[str, Any], JudgedScore]], scores: Mapping[str, float]
) -> dict[str, list[JudgedItem]]:
    """The items of a metric by component, with the scores of judge and people. `judged` are the judge's scores, each
    with its cluster and its record."""
    found: dict[str, list[JudgedItem]] = {name: [] for name in measure.components}
    for cluster, record, one in judged:
        if one.component in found:
            item = JudgedItem(cluster, one.score, scores.get(one.item), measure.group_of(record))
            found[one.component].append(item)
    return found
