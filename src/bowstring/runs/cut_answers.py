"""Answers that ended at their token limit, by the role that gave them.

>>> in_words("judge", {"answers": 12, "of": 40, "limits": [512]}, "raise --judge-tokens")
'judge: 12 of 40 answers were cut at 512 tokens; raise --judge-tokens'

A role that is asked for several things, such as checklists and scores, has counts by purpose, too.

The counts come from what is stored with each answer, not from what this process saw: a run that is resumed, or scored
again from stored answers, counts the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bowstring.records import MODEL_ROLE, STAGE_ROLE, Completion, Sampling

_GIVERS = {STAGE_ROLE: "history stage", "second": "second judge"}


@dataclass(slots=True)
class CutAnswers:
    """The answers of one role, by their keys in the store: an answer that serves several items counts once."""

    answers: dict[str, str] = field(default_factory=dict)  # with what each was asked for
    limits: dict[str, int] = field(default_factory=dict)  # of those that were cut, in tokens

    def add(self, sampling: Sampling, completion: Completion, purpose: str = "") -> None:
        key = completion.provenance.key
        self.answers[key] = purpose
        if completion.finish == "length":
            self.limits[key] = sampling.max_tokens

    def as_json(self) -> dict[str, Any]:
        found = {"answers": len(self.limits), "of": len(self.answers), "limits": sorted(set(self.limits.values()))}
        of, cut = Counter(self.answers.values()), Counter(self.answers[key] for key in self.limits)
        if len(of) < 2:
            return found
        return found | {"purposes": {name: {"answers": cut[name], "of": of[name]} for name in sorted(of)}}


def in_words(role: str, cut: Mapping[str, Any], way_out: str = "") -> str:
    """Return how many answers of a role were cut, and what a user can do about it."""
    n, of = cut["answers"], cut["of"]
    share = f"all {of:,} answers were" if n == of > 1 else f"{n:,} of {of:,} answers {'was' if n == 1 else 'were'}"
    *others, last = (f"{limit:,}" for limit in cut["limits"])
    limits = f"{', '.join(others)} or {last}" if others else last
    by_purpose = [f"{one['answers']:,} of {one['of']:,} {name}" for name, one in _cut_purposes(cut).items()]
    apart = f" ({', '.join(by_purpose)})" if by_purpose and n < of else ""
    return f"{role}: {share} cut at {limits} tokens{apart}{f'; {way_out}' if way_out else ''}"


def _cut_purposes(cut: Mapping[str, Any]) -> dict[str, Mapping[str, int]]:
    return {name: one for name, one in cut.get("purposes", {}).items() if one["answers"]}


def cut_of_others(metrics: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the cut answers of a run by role, without those of the evaluated model: they are results."""
    return {role: cut for role, cut in metrics.get("cut", {}).items() if role != MODEL_ROLE}


def cut_numbers(metrics: Mapping[str, Any]) -> list[str]:
    """Return how many answers of each of these roles were cut, in words."""
    return [
        f"{cut['answers']:,} {'answer' if cut['answers'] == 1 else 'answers'} of the {_GIVERS.get(role, role)}"
        for role, cut in cut_of_others(metrics).items()
    ]


def why_unjudged(metrics: Mapping[str, Any]) -> list[str]:
    """Return the notes about cut answers that leave a run without a score: every answer of a judging role was cut; or
    some were, and a main metric has no value, or only values of answers that could not be read (a protocol may count
    these as 0)."""
    judging = {role: cut for role, cut in cut_of_others(metrics).items() if role != STAGE_ROLE}
    whole = {role: cut for role, cut in judging.items() if cut["answers"] == cut["of"]}
    lost = whole or (judging if metrics.get("unscored") or metrics.get("unread") else {})
    said = tuple(in_words(role, cut) for role, cut in lost.items())
    return [note for note in metrics["notes"] if note.startswith(said)] if said else []
