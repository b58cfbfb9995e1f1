"""Any number of raters on the same items: overall agreement, pairwise agreement, and agreement with a reference.

    compare_raters([Rating("1", "ann", "win"), Rating("1", "judge", "tie"), …], reference="ann")

The ratings are of one task, with at most one per rater and item. Intervals are clustered where the ratings name a
cluster; otherwise each item is its own cluster.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from bowstring.metrics.agreement import accuracy, cohen_kappa, count_pairs
from bowstring.metrics.alternative_annotator import DEFAULT_EPSILON, alternative_annotator_test
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.rating_table import RatingTable, as_json, build_table, compare_labels, mean_of
from bowstring.metrics.references import (
    agreement_with_people,
    compare_with,
    compare_with_majority,
    judge_differences,
)
from bowstring.metrics.reliability import Level, fleiss_kappa, krippendorff_alpha
from bowstring.metrics.scales import Scale, scale_of
from bowstring.records import Rating

MOST_INTERVALS = 100  # with more pairs of raters, pairs have values only: hundreds of raters have thousands of pairs


def compare_raters(
    ratings: Sequence[Rating],
    *,
    judges: Collection[str] = (),
    order: Sequence[str] = (),
    task_labels: Collection[str] = (),
    level: Level | None = None,
    reference: str | None = None,
    epsilon: float = DEFAULT_EPSILON,
    most_disputed: int = 5,
) -> dict[str, Any]:
    """Return all agreement measures, ready for JSON; None for a measure that the labels do not define.

    `judges` are the raters that are not people; `task_labels` are the labels that the task allows.
    """
    scale = scale_of({rating.label for rating in ratings}, order, level, task_labels)
    scale = replace(scale, averaged=_averaged(ratings, scale, judges, {*order, *task_labels}))
    table = build_table(ratings, scale, judges)
    shared = [item for item, said in table.items.items() if len(said) > 1]
    return {
        "labels": list(scale.labels),
        "averaged_labels": list(scale.averaged),
        "levels": list(scale.levels),
        "level": scale.level,
        "items": len(table.items),
        "shared": len(shared),
        "clusters": _kind_of_clusters(shared or list(table.items), table.named_clusters),
        "judges": list(table.judges),
        "raters": {rater: _rater(rater, table) for rater in table.raters},
        "agreement": as_json(_raw_agreement(shared, table)),
        "alpha": _alphas(shared, table),
        "fleiss_kappa": _fleiss(shared, table),
        "pairs": _pairs(table),
        **({"reference": _against(reference, table)} if reference and reference in table.raters else {}),
        **_against_people(table, reference, epsilon),
        "disputed": _disputed(shared, table, most_disputed),
    }


def _averaged(
    ratings: Sequence[Rating], scale: Scale, judges: Collection[str], declared: Collection[str]
) -> tuple[str, ...]:
    """Return the labels of the task, which macro F1 averages over: all if they are declared, otherwise those that
    people gave. What only a judge says, such as a text that could not be read, is an error, not a class of its own."""
    given = {rating.label for rating in ratings if rating.rater not in judges}
    if not given or (not scale.numeric and set(scale.labels) <= set(declared)):
        return scale.labels
    return tuple(label for label in scale.labels if label in given)


def _kind_of_clusters(items: Sequence[str], known: Collection[str]) -> str:
    n = sum(item in known for item in items)
    return "item" if not n else "cluster" if n == len(items) else "cluster or item"


def _rater(rater: str, table: RatingTable) -> dict[str, Any]:
    said = table.raters[rater]
    counts = Counter(said.values())
    return {
        "n": len(said),
        "shared": sum(len(table.items[item]) > 1 for item in said),
        "labels": {label: counts[label] for label in table.scale.labels if label in counts},
        "with_people": as_json(agreement_with_people(rater, table)),
    }


def _against_people(table: RatingTable, reference: str | None, epsilon: float) -> dict[str, Any]:
    """Compare the judges with people, if there are both."""
    if not table.judges or not table.people:
        return {}
    majority = compare_with_majority(table)
    return {
        **({"majority": majority} if majority else {}),
        "judge_differences": judge_differences(table, reference),
        "alternative_annotator": {judge: alternative_annotator_test(judge, table, epsilon) for judge in table.judges},
    }


def _raw_agreement(shared: Sequence[str], table: RatingTable) -> Estimate | None:
    """Return the probability that two raters of an item give the same label."""
    scores = []
    for item in shared:
        counts = Counter(table.items[item].values())
        n = counts.total()
        same = sum(count * (count - 1) for count in counts.values())
        scores.append(Score(table.clusters[item], same / (n * (n - 1))))
    return mean_of(scores)


def _alphas(shared: Sequence[str], table: RatingTable, raters: Sequence[str] = ()) -> dict[str, Any]:
    """Return alpha by level, for all raters or only these."""
    said = [{r: x for r, x in table.items[item].items() if not raters or r in raters} for item in shared]
    clusters, values = table.clusters_of(shared), table.scale.values
    found: dict[str, Any] = {}
    for level in table.scale.levels:
        numbers = None if level == "nominal" else values
        rated = [{r: numbers[x] if numbers else x for r, x in item.items()} for item in said]
        found[level] = as_json(krippendorff_alpha(rated, level, clusters))
    return found


def _fleiss(shared: Sequence[str], table: RatingTable) -> dict[str, Any] | None:
    """Return Fleiss' kappa over the items with the most common number of ratings."""
    if not table.scale.tabular:
        return None
    kappa = fleiss_kappa([table.items[item] for item in shared], table.clusters_of(shared))
    if kappa is None:
        return None
    sizes = Counter(len(table.items[item]) for item in shared)
    most = max(sizes.values())
    ratings = max(size for size, n in sizes.items() if n == most)
    return {**kappa.as_json(), "ratings": ratings, "items": sizes[ratings]}


def _pairs(table: RatingTable) -> list[dict[str, Any]]:
    """Return the agreement of every two raters who share an item; with many pairs, without intervals."""
    shared = {pair: items for pair in combinations(table.raters, 2) if (items := table.shared_by(*pair))}
    of_pair = _pair if len(shared) <= MOST_INTERVALS else _pair_values
    return [{"raters": list(pair), "n": len(items)} | of_pair(pair, items, table) for pair, items in shared.items()]


def _pair(pair: tuple[str, str], shared: Sequence[str], table: RatingTable) -> dict[str, Any]:
    first, second = ([table.raters[rater][item] for item in shared] for rater in pair)
    measures = compare_labels(first, second, table.clusters_of(shared), table.scale)
    return measures | {"alpha": _alphas(shared, table, pair)}


def _pair_values(pair: tuple[str, str], shared: Sequence[str], table: RatingTable) -> dict[str, Any]:
    first, second = ([table.raters[rater][item] for item in shared] for rater in pair)
    if not table.scale.tabular:
        same = sum(a == b for a, b in zip(first, second, strict=True))
        return {"agreement": {"value": same / len(shared), "n": len(shared)}}
    counts = count_pairs(first, second)
    values = {"agreement": float(accuracy(counts)), "kappa": float(cohen_kappa(counts))}
    return {name: {"value": x, "n": len(shared)} if math.isfinite(x) else None for name, x in values.items()}


def _against(reference: str, table: RatingTable) -> dict[str, Any]:
    """Compare the other raters with the reference, each on the items they share; confusion rows are the reference's."""
    labels = table.raters[reference]
    compared = {rater: compare_with(labels, rater, table) for rater in table.raters if rater != reference}
    return {"rater": reference, "others": {rater: found for rater, found in compared.items() if found}}


def _disputed(shared: Sequence[str], table: RatingTable, most: int) -> list[dict[str, Any]]:
    """Return the items with the most disagreement: from 0 (all labels equal) to 1."""
    values = table.scale.values
    used = [values[label] for label in table.scale.labels] if values else []
    span = max(used) - min(used) if used else 1.0

    def apart(one: str, other: str) -> float:
        return abs(values[one] - values[other]) / span if values and span else 1.0

    found = []
    for item in shared:
        counts = Counter(table.items[item].values())
        far = sum(n * m * apart(a, b) for (a, n), (b, m) in combinations(counts.items(), 2))
        if far:
            pairs = counts.total() * (counts.total() - 1) / 2
            found.append((-far / pairs, item))
    return [
        {"item": item, "disagreement": -less, "said": dict(table.items[item])} for less, item in sorted(found)[:most]
    ]
