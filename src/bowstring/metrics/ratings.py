"""Any number of raters on the same items: overall agreement, pairwise agreement, and agreement with a reference.

    compare_raters([Rating("1", "ann", "win"), Rating("1", "judge", "tie"), …], reference="ann")

The ratings are of one task, with at most one per rater and item. Intervals are resampled by cluster where the
ratings name one, otherwise by item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from bowstring.metrics.agreement import (
    Number,
    accuracy,
    cohen_kappa,
    count_by_cluster,
    distances,
    label_scores,
    macro_f1,
    with_intervals,
)
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import Estimate, estimate
from bowstring.metrics.reliability import Level, fleiss_kappa, krippendorff_alpha
from bowstring.metrics.scales import Scale, scale_of
from bowstring.records import Rating


@dataclass(frozen=True, slots=True)
class _Table:
    """The items in order with their ratings, and the cluster of each item."""

    items: Mapping[str, Mapping[str, str]]
    clusters: Mapping[str, str]
    raters: tuple[str, ...]
    scale: Scale

    def shared_by(self, *raters: str) -> list[str]:
        return [item for item, said in self.items.items() if all(rater in said for rater in raters)]

    def clusters_of(self, items: Sequence[str]) -> list[str]:
        return [self.clusters[item] for item in items]


def compare_raters(
    ratings: Sequence[Rating],
    *,
    order: Sequence[str] = (),
    level: Level | None = None,
    reference: str | None = None,
    most_disputed: int = 5,
) -> dict[str, Any]:
    """Return all agreement measures, ready for JSON; None for a measure that the labels do not define."""
    items: dict[str, dict[str, str]] = {}
    known: dict[str, str] = {}
    for rating in ratings:
        items.setdefault(rating.item, {})[rating.rater] = rating.label
        if rating.cluster is not None:
            known.setdefault(rating.item, rating.cluster)
    # No cluster name begins with \\0, so an item is never mistaken for a cluster.
    clusters = {item: known.get(item, f"\0{item}") for item in items}
    scale = scale_of({rating.label for rating in ratings}, order, level)
    table = _Table(items, clusters, tuple(dict.fromkeys(r.rater for r in ratings)), scale)
    shared = [item for item, said in items.items() if len(said) > 1]
    return {
        "labels": list(scale.labels),
        "levels": list(scale.levels),
        "level": scale.level,
        "items": len(items),
        "shared": len(shared),
        "clusters": _kind_of_clusters(shared or list(items), known),
        "raters": {rater: _rater(rater, table, shared) for rater in table.raters},
        "agreement": _as_json(_raw_agreement(shared, table)),
        "alpha": _alphas(shared, table),
        "fleiss_kappa": _fleiss(shared, table),
        "pairs": [found for pair in combinations(table.raters, 2) if (found := _pair(*pair, table))],
        **({"reference": _against(reference, table)} if reference and reference in table.raters else {}),
        "disputed": _disputed(shared, table)[:most_disputed],
    }


def _kind_of_clusters(items: Sequence[str], known: Mapping[str, str]) -> str:
    n = sum(item in known for item in items)
    return "item" if not n else "cluster" if n == len(items) else "cluster or item"


def _rater(rater: str, table: _Table, shared: Sequence[str]) -> dict[str, Any]:
    counts = Counter(said[rater] for said in table.items.values() if rater in said)
    return {
        "n": counts.total(),
        "shared": sum(rater in table.items[item] for item in shared),
        "labels": {label: counts[label] for label in table.scale.labels if label in counts},
    }


def _raw_agreement(shared: Sequence[str], table: _Table) -> Estimate | None:
    """Return the probability that two raters of an item give the same label."""
    scores = []
    for item in shared:
        pairs = list(combinations(table.items[item].values(), 2))
        scores.append(Score(table.clusters[item], sum(a == b for a, b in pairs) / len(pairs)))
    return estimate({"x": scores}, lambda mean: mean["x"], ends=(0.0, 1.0))


def _alphas(shared: Sequence[str], table: _Table, raters: Sequence[str] = ()) -> dict[str, Any]:
    """Return alpha by level, for all raters or only these."""
    said = [{r: x for r, x in table.items[item].items() if not raters or r in raters} for item in shared]
    clusters, values = table.clusters_of(shared), table.scale.values
    found: dict[str, Any] = {}
    for level in table.scale.levels:
        numbers = None if level == "nominal" else values
        rated = [{r: numbers[x] if numbers else x for r, x in item.items()} for item in said]
        found[level] = _as_json(krippendorff_alpha(rated, level, clusters))
    return found


def _fleiss(shared: Sequence[str], table: _Table) -> dict[str, Any] | None:
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


def _pair(one: str, other: str, table: _Table) -> dict[str, Any] | None:
    """Return the agreement of two raters; None if they share no item."""
    shared = table.shared_by(one, other)
    if not shared:
        return None
    return {
        "raters": [one, other],
        "n": len(shared),
        **_of_two(one, other, shared, table),
        "alpha": _alphas(shared, table, (one, other)),
    }


def _of_two(one: str, other: str, shared: Sequence[str], table: _Table) -> dict[str, Any]:
    first, second = ([table.items[item][rater] for item in shared] for rater in (one, other))
    clusters, scale = table.clusters_of(shared), table.scale
    if not scale.tabular:
        same = [Score(cluster, float(a == b)) for a, b, cluster in zip(first, second, clusters, strict=True)]
        return {"agreement": _as_json(estimate({"x": same}, lambda mean: mean["x"], ends=(0.0, 1.0)))}
    numbers: dict[str, Number] = {"agreement": accuracy, "macro_f1": macro_f1, "kappa": cohen_kappa}
    weights: dict[str, Number] = {}
    if scale.values is not None and scale.level != "nominal":
        values = [scale.values[label] for label in scale.labels]
        weights = {
            name: partial(cohen_kappa, apart=distances(values, power))
            for name, power in (("linear", 1), ("quadratic", 2))
        }
    counts = count_by_cluster(first, second, clusters, scale.labels)
    found = {name: _as_json(e) for name, e in with_intervals(counts, numbers | weights).items()}
    return {
        **{name: found[name] for name in numbers},
        **({"weighted_kappa": {name: found[name] for name in weights}} if weights else {}),
        "confusion": counts.sum(axis=0).tolist(),
    }


def _against(reference: str, table: _Table) -> dict[str, Any]:
    """Compare the other raters with the reference, each on the items they share; confusion rows are the reference's."""
    others: dict[str, Any] = {}
    for rater in table.raters:
        shared = table.shared_by(reference, rater) if rater != reference else []
        if not shared:
            continue
        found = _of_two(reference, rater, shared, table)
        others[rater] = {"n": len(shared), "accuracy": found.pop("agreement"), **found}
        if "confusion" in found:
            scores = label_scores(np.asarray(found["confusion"]))
            others[rater]["labels"] = dict(zip(table.scale.labels, map(asdict, scores), strict=True))
    return {"rater": reference, "others": others}


def _disputed(shared: Sequence[str], table: _Table) -> list[dict[str, Any]]:
    """Return the items with the most disagreement: from 0 (all labels equal) to 1."""
    values = table.scale.values
    used = [values[label] for label in table.scale.labels] if values else []
    span = max(used) - min(used) if used else 1.0
    found = []
    for item in shared:
        said = table.items[item]
        pairs = list(combinations(said.values(), 2))
        far = sum(abs(values[a] - values[b]) / span if values and span else float(a != b) for a, b in pairs)
        if far:
            found.append({"item": item, "disagreement": far / len(pairs), "said": dict(said)})
    return sorted(found, key=lambda one: (-one["disagreement"], one["item"]))


def _as_json(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else found.as_json()
