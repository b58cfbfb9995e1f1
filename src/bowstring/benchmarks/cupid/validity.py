"""Validity checks of a CUPID run that need no model: whether its score depends on length. An audit checks more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bowstring.metrics.correlation import correlation
from bowstring.runs.runner import Record

Cluster = Callable[[Record], str]


def response_lengths(records: Iterable[Record], cluster_of: Cluster) -> list[tuple[str, float, float]]:
    """Cluster, number of words and score of every scored response."""
    return [
        (cluster_of(r), float(len(r["generation"]["response"].split())), r["generation"]["score"])
        for r in records
        if r.get("generation", {}).get("score") is not None
    ]


def validity_of(records: Sequence[Record], cluster_of: Cluster) -> dict[str, Any]:
    """The correlation of a response's score with its length in words."""
    found = correlation(response_lengths(records, cluster_of))
    return {"length_correlation": found.as_json()} if found else {}
