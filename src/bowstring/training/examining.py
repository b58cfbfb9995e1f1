"""Test a trained evaluator on held-out items: agreement with its teacher, by type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from bowstring.metrics.agreement import agreement, agreement_intervals
from bowstring.models.local import TOGETHER, LocalGenerator
from bowstring.records import Completion, Sampling
from bowstring.training.evaluators import HeldOut, Labels, grouped

_ROOM = 512  # maximum tokens of an evaluator's answer


def evaluate_held_out(
    answers: LocalGenerator, held_out: Sequence[HeldOut], trained_on: Collection[str], tell: Callable[[str], None]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the agreement with the teacher, overall and by type, and a record of every item."""
    records: list[dict[str, Any]] = []
    found: dict[str, list[tuple[HeldOut, Labels]]] = {}
    for kind, items in grouped(held_out).items():
        tell(f"Evaluating {len(items):,} held-out items of type {kind} …")
        for start in range(0, len(items), TOGETHER):
            lot = items[start : start + TOGETHER]
            said = answers.answer([one.example.prompt for one in lot], [Sampling(_ROOM)] * len(lot), lambda: False)
            for one, completion in zip(lot, said, strict=True):
                text = completion.text if isinstance(completion, Completion) else ""
                labels = one.read(text)
                found.setdefault(kind, []).append((one, labels))
                records.append(
                    {"key": one.example.key, "type": kind, "teacher": one.teacher, "evaluator": labels, "text": text}
                )
    groups = {kind: _agreement(pairs) | {"trained_on": kind in trained_on} for kind, pairs in found.items()}
    return {"all": _agreement([pair for pairs in found.values() for pair in pairs]), "by_type": groups}, records


def _agreement(pairs: Sequence[tuple[HeldOut, Labels]]) -> dict[str, Any]:
    teacher = [label for one, _ in pairs for label in one.teacher]
    evaluator = [label for _, labels in pairs for label in labels]
    owners = [one.example.owner for one, labels in pairs for _ in labels]
    whole = agreement(teacher, evaluator)
    intervals = agreement_intervals(teacher, evaluator, owners)
    return {
        "n": whole.n,
        "unparsed": whole.missing,
        **{name: None if e is None else e.as_json() for name, e in intervals.items()},
    }
