"""Raters compared with a reference: the labels of one rater, or of the majority of people; and judges with each other.

A reference is a label per item. Judges that rated the same items are tested for a difference in their accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bowstring.metrics.agreement import label_scores
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import CorrectedDifference, Difference, difference, holm, minimum_holm_factors
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.rating_table import Labels, RatingTable, compare_labels, mean_of

MAJORITY, ONE_PERSON = "majority", "person"  # the reference of a test of two judges, unless that is a rater


@dataclass(frozen=True, slots=True)
class Majority:
    """The label that most people gave, by item. Items without one are counted: two labels are equally common, or only
    one person rated the item."""

    labels: Labels
    tied: int
    one_person: int


def majority_of(table: RatingTable) -> Majority:
    """Return the most common label of people, for items that two or more people rated. A split vote has no majority:
    it is not a vote for a label `tie`."""
    labels: dict[str, str] = {}
    tied = one_person = 0
    for item, votes in table.votes.items():
        if votes.total() < 2:
            one_person += votes.total()
            continue
        (label, most), *others = votes.most_common(2)
        if others and others[0][1] == most:
            tied += 1
        else:
            labels[item] = label
    return Majority(labels, tied, one_person)


def compare_with(reference: Labels, rater: str, table: RatingTable) -> dict[str, Any] | None:
    """Compare a rater with the reference on the items that both have; None without such items."""
    said = table.raters[rater]
    shared = [item for item in reference if item in said]
    if not shared:
        return None
    first, second = ([side[item] for item in shared] for side in (reference, said))
    found = compare_labels(first, second, table.clusters_of(shared), table.scale)
    compared = {"n": len(shared), "accuracy": found.pop("agreement"), **found}
    if "confusion" in found:
        scores = label_scores(np.asarray(found["confusion"]))
        compared["labels"] = dict(zip(table.scale.labels, map(asdict, scores), strict=True))
    return compared


def compare_with_majority(table: RatingTable) -> dict[str, Any] | None:
    """Compare every judge with the majority of people; None if no item was rated by two people."""
    majority = majority_of(table)
    if not majority.labels and not majority.tied:
        return None
    compared = {judge: compare_with(majority.labels, judge, table) for judge in table.judges}
    return {
        "items": len(majority.labels),
        "tied": majority.tied,
        "one_person": majority.one_person,
        "people": len(table.people),
        "judges": {judge: found for judge, found in compared.items() if found},
    }


def agreement_with_people(rater: str, table: RatingTable) -> Estimate | None:
    """Return the mean share of the other people who give the same label to an item: the probability that the rater
    agrees with a random other person."""
    scores = []
    for item, label in table.raters[rater].items():
        others = table.other_votes(item, rater)
        if others.total():
            scores.append(Score(table.clusters[item], others[label] / others.total()))
    return mean_of(scores)


def reference_of_judges(table: RatingTable, rater: str | None) -> tuple[str, Labels]:
    """Return what judges are measured by, and its name: the given rater, the majority of people, or, if no item was
    rated by two people, the one person who rated it."""
    if rater is not None and rater in table.raters:
        return rater, table.raters[rater]
    majority = majority_of(table)
    if majority.labels or majority.tied:
        return MAJORITY, majority.labels
    return ONE_PERSON, {item: label for item, votes in table.votes.items() for label in votes}


def judge_differences(table: RatingTable, rater: str | None = None) -> list[dict[str, Any]]:
    """Test every pair of judges for a difference in accuracy against the reference: the second minus the first, paired
    by item and clustered, with p-values corrected by Holm's method."""
    name, reference = reference_of_judges(table, rater)
    pairs = [pair for pair in combinations(table.judges, 2) if name not in pair]
    found = {pair: known for pair in pairs if (known := _difference(*pair, reference, table))}
    corrected = holm([own.p for own, _ in found.values()])
    factors = minimum_holm_factors([own.clusters for own, _ in found.values()])
    return [
        {"judges": list(pair), "reference": name}
        | CorrectedDifference(**asdict(own), corrected=p, comparisons=factor, left_out=left_out).as_json()
        for (pair, (own, left_out)), p, factor in zip(found.items(), corrected, factors, strict=True)
    ]


def _difference(first: str, second: str, reference: Labels, table: RatingTable) -> tuple[Difference, int] | None:
    """Return the difference on the items of both judges, and the number of items that only one of them rated."""
    one, other = ({i for i in table.raters[judge] if i in reference} for judge in (first, second))
    shared = [item for item in reference if item in one and item in other]
    sides = [{"x": _right(judge, shared, reference, table)} for judge in (first, second)]
    found = difference(sides[0], sides[1], lambda mean: mean["x"], items=len(shared), ends=(0.0, 1.0))
    return None if found is None else (found, len(one ^ other))


def _right(judge: str, items: Sequence[str], reference: Labels, table: RatingTable) -> list[Score]:
    said = table.raters[judge]
    return [Score(table.clusters[item], float(said[item] == reference[item])) for item in items]
