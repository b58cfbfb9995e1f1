"""Where the variance of a score comes from: users, personas, questions, the model's sampling, the judge's retest.

    parts = [Part("user 1", "tea", "question 1", "answer 1", 0.2), …]     # what each record adds to the error
    variance_components(parts)

Moments of pairs: two judgements of an answer share everything but the judge's retest; two answers to an item share
user, persona and question; two items of a user share the user; two items of a persona at different users share the
persona. The mean product of such pairs estimates the sum of the variances that they share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.metrics.clusters import Score
from bowstring.metrics.linear import columns_of, linearize
from bowstring.metrics.measures import Measure

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Source = Literal["cluster", "group", "item", "answer", "judgement"]
SOURCES: tuple[Source, ...] = ("cluster", "group", "item", "answer", "judgement")
_ROUNDING = 1e-12


class Part(NamedTuple):
    """A record: whose it is, what it shares with records of others, its item, its answer, and what it adds to the
    error of the statistic, in units of the statistic if it were the only record."""

    cluster: str
    group: str | None
    item: str
    answer: str
    error: float


@dataclass(frozen=True, slots=True)
class Components:
    """The variance of a single record by source, and each source's share of the variance of the statistic. A source
    that the data cannot tell from the one before it is missing: without a second answer to an item, the model's
    sampling is part of `item`."""

    variances: Mapping[Source, float]
    shares: Mapping[Source, float]

    def as_json(self) -> dict[str, Any]:
        return {"variances": dict(self.variances), "shares": dict(self.shares)}

    def narrower_with_twice(self, source: Source) -> float:
        """Return by which share the interval narrows with twice as many of a source: users with all of their items,
        items of each user, answers to each item, or judgements of each answer."""
        if source in ("cluster", "group"):
            left = 0.5
        else:
            kept = SOURCES.index(source)
            left = sum(share / (1 if SOURCES.index(one) < kept else 2) for one, share in self.shares.items())
        return 1 - float(np.sqrt(left))


def variance_components(parts: Sequence[Part]) -> Components | None:
    """Return the components; None if there are too few clusters, or no variance."""
    errors = np.asarray([part.error for part in parts], dtype=np.float64)
    n = len(errors)
    cluster, group, item, answer = (_numbered([part[k] for part in parts]) for k in range(4))
    answer = _paired(item, answer)
    clusters = int(cluster.max()) + 1 if n else 0
    if clusters < 2 or float((errors**2).sum()) < _ROUNDING:
        return None
    # The mean is the sample's own, so that all products are too small by the variance of the mean.
    sums = np.bincount(cluster, weights=errors)
    centred = clusters / (clusters - 1) * float((sums**2).sum()) / n**2
    own_group = _paired(cluster, group)

    def shared(within: Places, apart: Places) -> float | None:
        """Return the mean product of pairs that are in one of `within`, but not in one of `apart`; None without such
        pairs."""
        many = _pairs(within, np.ones(n)) - _pairs(apart, np.ones(n))
        return (_pairs(within, errors) - _pairs(apart, errors)) / many + centred if many > 0.5 else None

    one_record = np.arange(n)
    by_user = shared(cluster, own_group if (group >= 0).any() else item)
    by_persona = shared(group, own_group) if (group >= 0).any() else None
    by_item, by_answer = shared(item, answer), shared(answer, one_record)
    total = float((errors**2).mean()) + centred
    found: dict[Source, float] = {"cluster": max(0.0, by_user or 0.0)}
    if by_persona is not None:
        found["group"] = max(0.0, by_persona)
    rest = total - sum(found.values())
    sampled = None if by_item is None else max(0.0, (total if by_answer is None else by_answer) - by_item)
    retested = None if by_answer is None else max(0.0, total - by_answer)
    found["item"] = max(0.0, rest - (sampled or 0.0) - (retested or 0.0))
    found |= {"answer": sampled} if sampled is not None else {}
    found |= {"judgement": retested} if retested is not None else {}
    places: dict[Source, Places] = {
        "cluster": cluster,
        "group": group,
        "item": item,
        "answer": answer,
        "judgement": one_record,
    }
    of_mean = {source: variance * _concentration(places[source], n) for source, variance in found.items()}
    whole = sum(of_mean.values())
    if whole <= 0:
        return None
    return Components(found, {source: value / whole for source, value in of_mean.items()})


def components_of(
    measure: Measure,
    records: Sequence[tuple[str, Mapping[str, Any]]],
    item_and_answer: Callable[[Mapping[str, Any]], tuple[str, str]],
) -> Components | None:
    """Return the components of a metric; records come with their cluster."""
    there = [(cluster, record, parts) for cluster, record in records if (parts := measure.parts(record)) is not None]
    scores = {
        name: [Score(cluster, value) for cluster, _, parts in there for value in parts.get(name, ())]
        for name in measure.components
    }
    if not all(scores.values()):
        return None
    (columns,), clusters = columns_of(scores)
    found = linearize(columns, measure.statistic, measure.ends, clusters)
    influence = dict(
        zip(scores, np.split(found.influence, np.cumsum([len(s) for s in scores.values()])[:-1]), strict=True)
    )
    taken = dict.fromkeys(scores, 0)
    listed = []
    for cluster, record, parts in there:
        error = 0.0
        for name, values in parts.items():
            error += float(influence[name][taken[name] : taken[name] + len(values)].sum())
            taken[name] += len(values)
        item, answer = item_and_answer(record)
        listed.append(Part(cluster, measure.group_of(record), item, answer, error * len(there)))
    return variance_components(listed)


def _numbered(names: Sequence[str | float | None]) -> Places:
    numbers: dict[Any, int] = {}
    return np.asarray([-1 if x is None else numbers.setdefault(x, len(numbers)) for x in names], dtype=np.intp)


def _paired(one: Places, other: Places) -> Places:
    """Return a number for each pair; -1 if the second is."""
    pairs = np.where(other >= 0, one * (int(other.max()) + 1 if len(other) else 1) + other, -1)
    found = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return np.asarray(found - int((pairs < 0).any()), dtype=np.intp)


def _pairs(places: Places, values: Floats) -> float:
    """Return the sum of products of ordered pairs at one place; at -1 there is none."""
    there = places >= 0
    sums = np.bincount(places[there], weights=values[there])
    return float((sums**2).sum() - (values[there] ** 2).sum())


def _concentration(places: Places, n: int) -> float:
    """Return the sum of squared shares of the records at each place."""
    there = places >= 0
    return float((np.bincount(places[there]).astype(np.float64) ** 2).sum()) / n**2
