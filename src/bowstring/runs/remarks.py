"""Remarks on a model's answers, for the notes of a run.

They come from what is stored with each answer, not from what this process saw: a run that is resumed says the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from bowstring.files.escaping import one_line
from bowstring.models.finish_reasons import is_known_finish
from bowstring.records import MODEL_ROLE, Completion, Sampling

_SETTINGS = ("temperature", "top_k", "top_p", "seed")


@dataclass(slots=True)
class Remarks:
    """What a reader must know about the answers of one model."""

    not_sent: set[str] = field(default_factory=set)  # settings that were asked for
    unknown_finishes: set[str] = field(default_factory=set)
    empty: set[str] = field(default_factory=set)  # keys of answers without text
    may_be_thoughts: set[str] = field(default_factory=set)  # keys of answers
    as_text: set[str] = field(default_factory=set)  # keys of answers that are text in place of JSON
    thinks: bool = False  # whether any answer has thoughts
    ends: bool = False  # whether any answer ended before its limit
    estimated: bool = False  # whether tokens are estimated, because the server does not count them

    def add(self, role: str, sampling: Sampling, completion: Completion) -> None:
        made = completion.provenance
        if made.sent:
            # Protocols spell names differently: top_p is topP in Bedrock's.
            sent = {name.replace("_", "").lower() for name in json.loads(made.sent)}
            asked = (name for name in _SETTINGS if getattr(sampling, name) is not None)
            self.not_sent.update(name for name in asked if name.replace("_", "") not in sent)
        if made.raw_finish and not is_known_finish(made.raw_finish):
            self.unknown_finishes.add(made.raw_finish)
        # Cut answers of other roles than the model have a note of their own, by role.
        ends = ("stop", "length") if role == MODEL_ROLE else ("stop",)
        if completion.finish in ends and not completion.text.strip():
            self.empty.add(made.key)
        if made.may_be_thought:
            self.may_be_thoughts.add(made.key)
        if sampling.schema == "":
            self.as_text.add(made.key)
        self.thinks |= bool(completion.reasoning)
        self.ends |= completion.finish != "length"

    def __or__(self, other: Remarks) -> Remarks:
        return Remarks(
            self.not_sent | other.not_sent,
            self.unknown_finishes | other.unknown_finishes,
            self.empty | other.empty,
            self.may_be_thoughts | other.may_be_thoughts,
            self.as_text | other.as_text,
            self.thinks or other.thinks,
            self.ends or other.ends,
            self.estimated or other.estimated,
        )

    def notes(self, model: str) -> list[str]:
        """Return the remarks in words, once per run, however many answers they are about."""
        found = []
        if self.not_sent:
            settings = ", ".join(name for name in _SETTINGS if name in self.not_sent)
            found.append(f"{model} does not support {settings}: requests were sent without")
        if self.unknown_finishes:
            reasons = ", ".join(f'"{one_line(reason)}"' for reason in sorted(self.unknown_finishes)[:5])
            found.append(f"{model} ended answers with {reasons}, which is not known; they are kept")
        if self.empty:
            answers = "answer" if len(self.empty) == 1 else "answers"
            found.append(f"{model} gave {len(self.empty):,} {answers} without text; they count as empty answers")
        if self.may_be_thoughts and (self.thinks or not self.ends):
            number = f"{len(self.may_be_thoughts):,} of its answers" if self.ends else "all of its answers"
            thinks = "thinks, and " if self.thinks else "may think: "
            found.append(
                f"{model} {thinks}{number} ended at their limit without a marker: they may be thoughts (let the server "
                "separate them, with a reasoning parser)"
            )
        if self.as_text:
            answers = "1 answer was" if len(self.as_text) == 1 else f"{len(self.as_text):,} answers were"
            found.append(f"{model} did not give the JSON asked for: {answers} asked for as text")
        if self.estimated:
            found.append(f"{model} reports no token counts: tokens and cost are estimated from characters")
        return found
