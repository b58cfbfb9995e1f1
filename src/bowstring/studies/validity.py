"""What can be said for nothing of whether a score means what it says: how far it goes with length, and what the answers
name. An audit asks further."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bowstring.benchmarks.hicupid.types import Persona
from bowstring.errors import DataError
from bowstring.files.plain_json import read_json
from bowstring.files.plain_yaml import NotPlain
from bowstring.judging import builtin, verdicts
from bowstring.metrics.correlation import correlation
from bowstring.metrics.intervals import Estimate, Score
from bowstring.metrics.length_control import Compared, length_controlled
from bowstring.runs.folder import AUDIT_NAME, sum_of
from bowstring.runs.runner import Record
from bowstring.studies.findings import rate_of

Cluster = Callable[[Record], str]


class KnownPersonas:
    """What is true of the users of a run, as far as its questions tell."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_user: dict[int, dict[tuple[str, str], Persona]] = {}
        for record in records:
            if record["persona"]:
                persona = Persona(**record["persona"])
                self._by_user.setdefault(record["user"], {})[persona.category, persona.entity] = persona

    def irrelevant(self, record: Record) -> list[Persona]:
        """What is true of the user and not what the question is about; a profile question may be about all of them."""
        if record["type"] == "profile":
            return []
        own = record["persona"]
        personas = self._by_user.get(record["user"], {}).values()
        return [p for p in personas if own is None or p.category != own["category"]]


def compared_lengths(records: Iterable[Record], cluster_of: Cluster) -> list[Compared]:
    """Every comparison that could be read: how it went, and by how many words the answer is the longer one."""
    return [
        Compared(cluster_of(r), r["score"], len(r["answer"].split()) - len(r["personalized_answer"].split()))
        for r in records
        if r["type"] != "schedule" and r.get("score") is not None
    ]


def of_hicupid(records: Sequence[Record], cluster_of: Cluster) -> dict[str, Any]:
    """`score` is that of all comparisons together, `longer_wins` what it would be if the longer answer always won;
    `named` are rates of answers by the words in them."""
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
    """Answers that name a persona the question is not about, by type; and what becomes of a dislike."""
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
    for treatment in ("respected", "mentioned", "omitted"):  # words do not tell what is violated
        found[f"dislikes {treatment}"] = rate_of([Score(cluster, float(one == treatment)) for cluster, one in treated])
    return {name: rate.as_json() for name, rate in found.items() if rate is not None}


def response_lengths(records: Iterable[Record], cluster_of: Cluster) -> list[tuple[str, float, float]]:
    """The words and the score of every response that was scored."""
    return [
        (cluster_of(r), float(len(r["generation"]["response"].split())), r["generation"]["score"])
        for r in records
        if r.get("generation", {}).get("score") is not None
    ]


def of_cupid(records: Sequence[Record], cluster_of: Cluster) -> dict[str, Any]:
    """How the score of a response goes with its words."""
    found = correlation(response_lengths(records, cluster_of))
    return {"length_correlation": found.as_json()} if found else {}


def _as_json(found: Estimate | None) -> dict[str, Any] | None:
    return found.as_json() if found else None


def with_audit(metrics: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The numbers of a run, and what its last audit found, if it had one; `outdated` if the run has changed since."""
    path = folder / AUDIT_NAME
    if not path.is_file():
        return dict(metrics)
    try:
        audit = read_json(path.read_bytes())
        if not {"findings", "skipped", "judge", "records", "notes", "failed", "unparsed"} <= audit.keys():
            raise NotPlain("not an audit")
    except (OSError, NotPlain, AttributeError) as error:
        raise DataError(f"{path} cannot be read; audit the run again: answers are in the store") from error
    same = audit["records"] == sum_of(folder / "records.jsonl")
    return {**metrics, "validity": metrics.get("validity", {}) | ({"audit": audit} if same else {"outdated": True})}
