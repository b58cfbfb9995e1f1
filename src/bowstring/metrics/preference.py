"""Preference between two answers: personalized against general, or one run's answers against another's.

    prefer_personalized([Rating("1", "ann", "personalized", cluster="7", personalization="4"), …])
    prefer_first([Rating("1", "ann", "win", cluster="7", sides=("strong", "weak")), …])

A comparison is a win (1), tie (0.5) or loss (0) for the first; the win rate is the mean × 100.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bowstring.labels import COMPARED_SCORES, PREFERRED_SCORES, TIE
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import Estimate, estimate, interval_of
from bowstring.metrics.linear import numbered
from bowstring.metrics.residuals import linearize_slope
from bowstring.metrics.scales import normalize_label, parse_number
from bowstring.records import Rating


def prefer_personalized(ratings: Iterable[Rating]) -> dict[str, Any] | None:
    """Return the win rate overall, and by rater, question type and degree of personalization where known.

    None if nobody chose between a personalized and a general answer.
    """
    rated = [rating for rating in ratings if rating.label in PREFERRED_SCORES]
    if not any(rating.label != TIE for rating in rated):
        return None
    found: dict[str, Any] = {"win_rate": _win_rate(rated)}
    for label in PREFERRED_SCORES:
        shares = [Score(_cluster(r), float(r.label == label)) for r in rated]
        found[label] = _percent(shares)
    for axis in ("rater", "type", "personalization"):
        if members := _by(axis, rated):
            found[f"by_{axis}"] = {name: _win_rate(own) for name, own in members.items()}
    if (slope := _slope(rated)) is not None:
        found["slope"] = slope.as_json()
    return found


def prefer_first(ratings: Iterable[Rating]) -> dict[str, Any] | None:
    """Return the win rate of the first of two runs, also by rater and question type; None if nobody chose.

    `n` counts items: several ratings of one item are averaged, so that each item counts once.
    """
    rated = [rating for rating in ratings if rating.label in COMPARED_SCORES]
    if not rated:
        return None
    found: dict[str, Any] = {"win_rate": _of_items(rated)}
    for axis in ("rater", "type"):
        if members := _by(axis, rated):
            found[f"by_{axis}"] = {name: _of_items(own) for name, own in members.items()}
    return found


def _of_items(rated: Sequence[Rating]) -> dict[str, Any] | None:
    items: dict[str, list[Rating]] = {}
    for rating in rated:
        items.setdefault(rating.item, []).append(rating)
    said = ((_cluster(own[0]), sum(COMPARED_SCORES[r.label] for r in own) / len(own)) for own in items.values())
    return _percent([Score(cluster, score) for cluster, score in said])


def _by(axis: str, rated: Sequence[Rating]) -> dict[str, list[Rating]]:
    """Group the ratings by their value on an axis, in order; ratings without a value are omitted."""
    members: dict[str, list[Rating]] = {}
    for rating in rated:
        if (name := getattr(rating, axis)) is not None:
            members.setdefault(normalize_label(name) if axis == "personalization" else name, []).append(rating)
    return {name: members[name] for name in sorted(members, key=_low_to_high)}


def _cluster(rating: Rating) -> str:
    return rating.cluster if rating.cluster is not None else f"\0{rating.item}"


def _percent(scores: Sequence[Score]) -> dict[str, Any] | None:
    found = estimate({"x": scores}, lambda mean: 100 * mean["x"], ends=(0.0, 1.0))
    return None if found is None else found.as_json()


def _win_rate(rated: Sequence[Rating]) -> dict[str, Any] | None:
    return _percent([Score(_cluster(r), PREFERRED_SCORES[r.label]) for r in rated])


def _low_to_high(name: str) -> tuple[bool, float, str]:
    """Sort key: numbers by size, then words."""
    number = parse_number(name)
    return number is None, number or 0.0, name


def _slope(rated: Sequence[Rating]) -> Estimate | None:
    """Return the change of the win rate per degree of personalization, in points; None if degrees are words or all
    equal."""
    points = [
        (_cluster(r), degree, PREFERRED_SCORES[r.label])
        for r in rated
        if r.personalization is not None and (degree := parse_number(r.personalization)) is not None
    ]
    degrees, scores = (np.asarray([point[k] for point in points], dtype=np.float64) for k in (1, 2))
    if len(set(degrees.tolist())) < 2:
        return None
    found = linearize_slope(degrees, scores, numbered([cluster for cluster, _, _ in points]))
    low, high = interval_of(found)
    return Estimate(100 * found.value, 100 * low, 100 * high, found.n, found.clusters)
