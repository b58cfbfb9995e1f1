"""The ratings of one task as a table: labels by item and by rater, clusters, and which raters are people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bowstring.metrics.agreement import (
    Number,
    accuracy,
    cohen_kappa,
    count_by_cluster,
    distances,
    macro_f1,
    with_intervals,
)
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import Estimate, estimate
from bowstring.metrics.scales import Scale
from bowstring.records import Rating

Labels = Mapping[str, str]  # item: label


@dataclass(frozen=True, slots=True)
class RatingTable:
    """`items` and `raters` have the same ratings, by item and by rater, in order of appearance."""

    items: Mapping[str, Mapping[str, str]]  # item: rater: label
    raters: Mapping[str, Labels]
    clusters: Mapping[str, str]  # item: cluster; an item without one is its own cluster
    named_clusters: frozenset[str]  # items whose cluster is named
    votes: Mapping[str, Counter[str]]  # item: how many people gave each label
    judges: tuple[str, ...]  # judges and metrics; the other raters are people
    scale: Scale

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(rater for rater in self.raters if rater not in self.judges)

    def other_votes(self, item: str, rater: str) -> Counter[str]:
        """Return how many people other than this rater gave each label to an item."""
        if rater in self.judges or rater not in self.items[item]:
            return self.votes[item]
        votes = self.votes[item].copy()
        votes[self.items[item][rater]] -= 1
        return votes

    def shared_by(self, one: str, other: str) -> list[str]:
        there = self.raters[other]
        return [item for item in self.raters[one] if item in there]

    def clusters_of(self, items: Iterable[str]) -> list[str]:
        return [self.clusters[item] for item in items]


def build_table(ratings: Sequence[Rating], scale: Scale, judges: Collection[str] = ()) -> RatingTable:
    items: dict[str, dict[str, str]] = {}
    known: dict[str, str] = {}
    for rating in ratings:
        items.setdefault(rating.item, {})[rating.rater] = rating.label
        if rating.cluster is not None:
            known.setdefault(rating.item, rating.cluster)
    raters: dict[str, dict[str, str]] = {rating.rater: {} for rating in ratings}
    for item, said in items.items():
        for rater, label in said.items():
            raters[rater][item] = label
    # No cluster name begins with \0, so an item is never mistaken for a cluster.
    clusters = {item: known.get(item, f"\0{item}") for item in items}
    votes = {item: Counter(x for rater, x in said.items() if rater not in judges) for item, said in items.items()}
    return RatingTable(items, raters, clusters, frozenset(known), votes, tuple(r for r in raters if r in judges), scale)


def compare_labels(
    first: Sequence[str], second: Sequence[str], clusters: Sequence[str], scale: Scale
) -> dict[str, Any]:
    """Return all measures of two raters' labels of the same items, ready for JSON; rows of `confusion` are the
    first's."""
    if not scale.tabular:
        return {"agreement": as_json(share_equal(first, second, clusters))}
    averaged = [scale.labels.index(label) for label in scale.averaged or scale.labels]
    f1 = partial(macro_f1, averaged=averaged)
    numbers: dict[str, Number] = {"agreement": accuracy, "macro_f1": f1, "kappa": cohen_kappa}
    weights: dict[str, Number] = {}
    if scale.values is not None and scale.level != "nominal":
        values = [scale.values[label] for label in scale.labels]
        weights = {
            name: partial(cohen_kappa, apart=distances(values, power))
            for name, power in (("linear", 1), ("quadratic", 2))
        }
    counts = count_by_cluster(first, second, clusters, scale.labels)
    found = {name: as_json(e) for name, e in with_intervals(counts, numbers | weights).items()}
    return {
        **{name: found[name] for name in numbers},
        **({"weighted_kappa": {name: found[name] for name in weights}} if weights else {}),
        "confusion": counts.sum(axis=0).tolist(),
    }


def share_equal(first: Sequence[str], second: Sequence[str], clusters: Sequence[str]) -> Estimate | None:
    same = [Score(cluster, float(a == b)) for a, b, cluster in zip(first, second, clusters, strict=True)]
    return mean_of(same)


def mean_of(scores: Sequence[Score]) -> Estimate | None:
    """Return the mean of scores from 0 to 1."""
    return estimate({"x": scores}, lambda mean: mean["x"], ends=(0.0, 1.0))


def as_json(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else found.as_json()
