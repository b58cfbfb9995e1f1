"""Validity checks of a HiCUPID run that need no model: whether its score depends on length, and what its answers name.

An audit checks more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bowstring.benchmarks.findings import rate_of
from bowstring.benchmarks.hicupid.types import Persona
from bowstring.judging import builtin, verdicts
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.length_control import Comparison, length_controlled
from bowstring.runs.runner import Record

Cluster = Callable[[Record], str]


class KnownPersonas:
    """The personas of the users of a run, as far as its questions give them."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_user: dict[int, dict[tuple[str, str], Persona]] = {}
        for record in records:
            if record["persona"]:
                persona = Persona(**record["persona"])
                self._by_user.setdefault(record["user"], {})[persona.category, persona.entity] = persona

    def irrelevant(self, record: Record) -> list[Persona]:
        """The personas that the question is not about; none for a profile question, which may be about all of them."""
        if record["type"] == "profile":
            return []
        own = record["persona"]
        personas = self._by_user.get(record["user"], {}).values()
        return [p for p in personas if own is None or p.category != own["category"]]


def compared_lengths(records: Iterable[Record], cluster_of: Cluster) -> list[Comparison]:
    """Every parsed comparison: its outcome, and by how many words the answer is longer than the gold answer."""
    return [
        Comparison(
            cluster_of(r),
            r["score"],
            len(r["answer"].split()) - len(r["personalized_answer"].split()),
            r["type"],
            r["key"],
        )
        for r in records
        if r["type"] != "schedule" and r.get("score") is not None
    ]


def validity_of(records: Sequence[Record], cluster_of: Cluster) -> dict[str, Any]:
    """`score` is over all comparisons; `longer_wins` is the score if the longer answer always won; `named` are rates of
    answers that contain certain words."""
    named = _named([record for record in records if "answer" in record], KnownPersonas(records), cluster_of)
    found: dict[str, Any] = {"named": named} if named else {}
    compared = compared_lengths(records, cluster_of)
    controlled = length_controlled(compared)
    if controlled is None:
        return found
    longer = [Score(c.cluster, 1.0 if c.longer > 0 else 0.0 if c.longer < 0 else 0.5) for c in compared]
    return found | {
        "score": _as_json(rate_of([Score(c.cluster, c.outcome) for c in compared])),
        "longer_wins": _as_json(rate_of(longer)),
        "length_controlled": controlled.as_json(),
    }


def _named(answered: Sequence[Record], known: KnownPersonas, cluster_of: Cluster) -> dict[str, Any]:
    """Rates of answers that name a persona the question is not about, by type; and of the treatments of dislikes."""
    found: dict[str, Estimate | None] = {}
    for kind in ("schedule", "persona"):
        names = [(r, [p.entity for p in known.irrelevant(r)]) for r in answered if r["type"] == kind]
        dragged = [
            Score(cluster_of(r), float(bool(verdicts.read_dragged_in(builtin.dragged_in(r["answer"], entities)))))
            for r, entities in names
            if entities
        ]
        found[f"{kind}: another persona"] = rate_of(dragged)
    disliked = [r for r in answered if r["persona"] and r["persona"]["sentiment"] == "NEG"]
    treated = [
        (cluster_of(r), verdicts.read_dislike(builtin.dislike(r["answer"], r["persona"]["entity"]))) for r in disliked
    ]
    for treatment in ("respected", "mentioned", "omitted"):  # violations cannot be recognized by words
        found[f"dislikes {treatment}"] = rate_of([Score(cluster, float(one == treatment)) for cluster, one in treated])
    return {name: rate.as_json() for name, rate in found.items() if rate is not None}


def _as_json(found: Estimate | None) -> dict[str, Any] | None:
    return found.as_json() if found else None
