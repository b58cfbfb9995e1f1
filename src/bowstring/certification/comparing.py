"""The table: what was compared in a case, how much of it is equal, and the cause of a difference."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from bowstring.certification.transcripts import Results, Transcript

REQUESTS, ENDS = "requests", "ends"
_DIGITS = 6
_SHOWN = 40  # characters around a difference


@dataclass(frozen=True, slots=True)
class Row:
    case: str
    what: str
    compared: int
    equal: int
    cause: str = ""  # of the first difference

    @property
    def different(self) -> int:
        return self.compared - self.equal

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "what": self.what,
            "compared": self.compared,
            "equal": self.equal,
            "different": self.different,
            "cause": self.cause,
        }


def compare(case: str, reference: Transcript, ours: Transcript, stages: Collection[str]) -> list[Row]:
    """Compare the requests of these stages, and the results where the reference has any."""
    rows = [_requests(case, stage, reference, ours) for stage in stages]
    if reference.results.items or reference.results.totals:
        rows += [*_items(case, reference.results, ours.results), _totals(case, reference.results, ours.results)]
    return rows


def compare_ends(case: str, reference: Results, ours: Results) -> Row:
    """Both programs must say that there is no number: theirs by ending, ours by the item and the reason."""
    named = bool(ours.ended)
    cause = f"theirs ends: {reference.ended or 'no'}; ours: {ours.ended or 'says nothing'}"
    return Row(case, ENDS, 1, int(bool(reference.ended) and named), cause)


def _requests(case: str, stage: str, reference: Transcript, ours: Transcript) -> Row:
    theirs = {key for key, one in reference.answers.items() if one.stage == stage}
    own = {key for key, one in ours.answers.items() if one.stage == stage}
    lacking, extra = sorted(theirs - own), sorted(own - theirs)
    cause = ""
    if lacking and extra:
        cause = _first_difference(reference.requests.get(lacking[0]), ours.requests.get(extra[0]))
    elif lacking or extra:
        cause = f"{len(lacking)} only in the reference" if lacking else f"{len(extra)} only in ours"
    return Row(case, f"{REQUESTS}: {stage}", len(theirs | own), len(theirs & own), cause)


def _first_difference(theirs: Mapping[str, Any] | None, ours: Mapping[str, Any] | None) -> str:
    if theirs is None or ours is None:
        return "another hash"
    settings = {name for name in theirs.keys() | ours.keys() if name != "messages"}
    for name in sorted(settings):
        if theirs.get(name) != ours.get(name):
            return f"{name}: theirs {theirs.get(name)!r}, ours {ours.get(name)!r}"
    for n, (one, other) in enumerate(zip_longest(theirs["messages"], ours["messages"])):
        if one != other:
            return f"message {n}: {_difference_of_messages(one, other)}"
    return "unknown"


def _difference_of_messages(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> str:
    if one is None or other is None:
        return "only in ours" if one is None else "only in the reference"
    if one["role"] != other["role"]:
        return f"role: theirs {one['role']}, ours {other['role']}"
    texts = str(one["content"]), str(other["content"])
    at = next((n for n, (a, b) in enumerate(zip_longest(*texts)) if a != b), 0)
    shown = [repr(text[max(0, at - 10) : at + _SHOWN]) for text in texts]
    return f"character {at}: theirs {shown[0]}, ours {shown[1]}"


def _items(case: str, reference: Results, ours: Results) -> Iterator[Row]:
    """One row per value that items have."""
    names = list(dict.fromkeys(name for item in reference.items.values() for name in item))
    keys = sorted(reference.items.keys() | ours.items.keys())
    for name in names:
        differing = [
            (key, one, other)
            for key in keys
            if not _same(one := _value(reference, key, name), other := _value(ours, key, name))
        ]
        cause = f"{differing[0][0]}: theirs {differing[0][1]!r}, ours {differing[0][2]!r}"[:300] if differing else ""
        yield Row(case, f"items: {name}", len(keys), len(keys) - len(differing), cause)


def _value(results: Results, key: str, name: str) -> Any:
    return results.items.get(key, {}).get(name)


def _totals(case: str, reference: Results, ours: Results) -> Row:
    differing = [name for name, value in reference.totals.items() if not _same(value, ours.totals.get(name))]
    cause = "; ".join(f"{n}: theirs {reference.totals[n]!r}, ours {ours.totals.get(n)!r}" for n in differing)
    return Row(case, f"totals, {_DIGITS} digits", len(reference.totals), len(reference.totals) - len(differing), cause)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int) and not isinstance(one, bool):
        return round(float(one), _DIGITS) == round(float(other), _DIGITS)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
