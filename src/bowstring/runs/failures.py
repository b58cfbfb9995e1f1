"""Failed requests in records: a record, or a part of it, has `failure` with stage, kind and reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bowstring.models.interface import RequestFailed


def failure_of(stage: str, failed: RequestFailed) -> dict[str, str]:
    """Return a failed request as a record stores it."""
    return {"stage": stage, "kind": failed.kind, "reason": failed.reason}


def failures_in(record: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    """Yield the failures of a record and of its parts."""
    for part in (record, *record.values()):
        if isinstance(part, Mapping) and isinstance(failure := part.get("failure"), Mapping):
            yield failure


def commonest_failure(records: Iterable[Mapping[str, Any]]) -> tuple[str, int]:
    """Return the most common failure reason, and how many records have it."""
    reasons = Counter(
        reason for record in records for reason in dict.fromkeys(failure["reason"] for failure in failures_in(record))
    )
    return reasons.most_common(1)[0] if reasons else ("", 0)


# A failure of the model lies in what it was asked or said, or in its own code; any other lies in how it is served.
MODEL_FAILURES = ("context", "code")
ANSWERING = ("answer", "summary", "history")  # stages of the model; all others are of its judges
_REFUSED = ("refusal", "filter")


def count_failures(records: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how many records failed by the model, by its provider and by those that judge it, by kind of the first
    failure in each. Refusals and empty answers are the model's as well; they are answers, and have a score."""
    found: dict[str, Counter[str]] = {"model": Counter(), "provider": Counter(), "judge": Counter()}
    for record in records:
        first = next(failures_in(record), None)
        if first is not None:
            found[_side_of(first)][first["kind"]] += 1
        found["model"].update({fault for part in (record, *record.values()) if (fault := _fault_of(part))})
    return {side: dict(sorted(kinds.items())) for side, kinds in found.items()}


def _side_of(failure: Mapping[str, str]) -> str:
    if failure["stage"] not in ANSWERING:
        return "judge"
    return "model" if failure["kind"] in MODEL_FAILURES else "provider"


def _fault_of(part: Any) -> str | None:
    """Return what is wrong with an answer in a record."""
    if not isinstance(part, Mapping) or "finish" not in part:
        return None
    if part["finish"] in _REFUSED:
        return "refusal"
    return "empty" if not str(part.get("answer", part.get("response", ""))).strip() else None
