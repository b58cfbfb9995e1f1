"""What evaluators are trained on, and what of it is held out to test them.

    judge     HiCUPID: the judge's prompt on an answer → what the teacher wrote
    matcher   CUPID: the matcher's prompt on a checklist → the teacher's labels, as JSON

Held out are whole users (HiCUPID) or personas (CUPID). HiCUPID's users share personas, so a held-out question may be on
a thing that was trained on, with another answer. Types that are not trained on are tested all the same: does the
evaluator only know what it has seen?
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from bowstring.benchmarks.cupid.prompts import CupidPrompts
from bowstring.benchmarks.cupid.types import COVERAGE_LABELS, INSTANCE_TYPES, Coverage
from bowstring.benchmarks.hicupid.prompts import HicupidPrompts
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Judgement
from bowstring.errors import UsageError, check_choice
from bowstring.judging.structured import LABELS, Unreadable, read_labels
from bowstring.judging.verdicts import read_pairwise, read_satisfaction
from bowstring.prompts import PromptFolder
from bowstring.training.examples import Example, Examples
from bowstring.training.settings import TrainSettings

Labels = tuple[str | None, ...]  # one a decision; None where it cannot be read
_NAMES = {value: label for label, value in zip(COVERAGE_LABELS, LABELS.values(), strict=True)}


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Something to ask the trained evaluator: what the teacher decided, and how to read what it says."""

    example: Example
    teacher: Labels
    read: Callable[[str], Labels]


@dataclass(frozen=True, slots=True)
class ToEvaluate:
    examples: Examples
    held_out: tuple[HeldOut, ...]
    fingerprint: str


def judge_examples(judgements: Sequence[Judgement], settings: TrainSettings, folder: PromptFolder) -> ToEvaluate:
    _check_types(settings, QUESTION_TYPES)
    prompts = HicupidPrompts(
        folder, types=QUESTION_TYPES, shots=0, instruction="system", summaries=False, branches=len(judgements)
    )
    made, unread, sideless = [], 0, 0
    for n, judgement in enumerate(judgements):
        question = judgement.question
        read = _satisfaction if question.type == "schedule" else _choice
        if question.type != "schedule" and judgement.answer_is is None:
            sideless += 1
        elif None in read(judgement.judgement):
            unread += 1
        else:
            prompt = prompts.judge(question, judgement.answer, answer_is=judgement.answer_is or "A")
            example = Example(f"{question.key}#{n}", str(question.user_id), question.type, prompt, judgement.judgement)
            made.append(HeldOut(example, read(judgement.judgement), read))
    notes = [f"left out {unread:,} transcripts without a verdict that can be read"] if unread else []
    if sideless:
        notes.append(f"left out {sideless:,} transcripts that do not say which side the answer had (answer_is)")
    return _parted(made, settings, notes, "judge transcripts")


def matcher_examples(coverage: Sequence[Coverage], settings: TrainSettings, folder: PromptFolder) -> ToEvaluate:
    _check_types(settings, INSTANCE_TYPES)
    prompts = CupidPrompts(folder, oracle=False, matcher=None)
    made = []
    for n, row in enumerate(coverage):
        read = _coverage_reader(row.checklist)
        said = row.transcript if row.transcript is not None and read(row.transcript) == row.labels else _as_json(row)
        prompt = prompts.match(row.checklist, row.preference)
        key = f"{row.persona_id}+{row.instance_type}/{row.side}#{n}"
        made.append(HeldOut(Example(key, row.persona_id, row.instance_type, prompt, said), row.labels, read))
    return _parted(made, settings, [], "coverage labels")


def _check_types(settings: TrainSettings, known: Sequence[str]) -> None:
    for kind in settings.types:
        check_choice("type", kind, known)


def _parted(made: Sequence[HeldOut], settings: TrainSettings, notes: Sequence[str], what: str) -> ToEvaluate:
    owners = _held_owners({one.example.owner for one in made}, settings)
    held = [one for one in made if one.example.owner in owners]
    kept = [one.example for one in made if one.example.owner not in owners]
    if settings.types:
        kept = [example for example in kept if example.kind in settings.types]
    kept = kept[: settings.limit]
    if not kept:
        of = f" of the types {', '.join(settings.types)}" if settings.types else ""
        raise UsageError(f"there are no {what} to train on{of}")
    digest = hashlib.sha256()
    for one in made:
        digest.update(f"{one.example.prompt.digest}\0{one.example.answer}\0".encode("utf-8", "surrogatepass"))
    # Prompts of a type begin alike: they share their trunk.
    by_kind = [[example for example in kept if example.kind == kind] for kind in dict.fromkeys(e.kind for e in kept)]
    return ToEvaluate(Examples(lambda: by_kind, tuple(notes)), tuple(held), digest.hexdigest())


def _held_owners(owners: Collection[str], settings: TrainSettings) -> set[str]:
    """Their share, by lot: at least one where any is wanted, and never all."""
    if not settings.hold_out or len(owners) < 2:
        return set()
    drawn = sorted(owners, key=lambda owner: hashlib.sha256(f"{settings.seed}/held out/{owner}".encode()).digest())
    return set(drawn[: min(len(owners) - 1, max(1, round(settings.hold_out * len(owners))))])


def _choice(text: str) -> Labels:
    return (read_pairwise(text),)


def _satisfaction(text: str) -> Labels:
    said = read_satisfaction(text)
    return (None if said is None else "yes" if said else "no",)


def _coverage_reader(items: Sequence[str]) -> Callable[[str], Labels]:
    def read(text: str) -> Labels:
        try:
            return tuple(_NAMES[value] for value in read_labels(text, items))
        except Unreadable:
            return (None,) * len(items)

    return read


def _as_json(row: Coverage) -> str:
    entries = enumerate(zip(row.checklist, row.labels, strict=True), 1)
    results = [{"index": n, "entry": entry, "label": label} for n, (entry, label) in entries]
    return json.dumps({"results": results}, ensure_ascii=False)


def grouped(held_out: Iterable[HeldOut]) -> dict[str, list[HeldOut]]:
    """By type, in the order in which they come."""
    found: dict[str, list[HeldOut]] = {}
    for one in held_out:
        found.setdefault(one.example.kind, []).append(one)
    return found
