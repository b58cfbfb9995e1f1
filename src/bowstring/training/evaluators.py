"""Training data of evaluators (judges and matchers), and what is held out to test them.

Types that are not trained on are tested too: this shows whether the evaluator generalizes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from bowstring.errors import UsageError, check_choice
from bowstring.training.examples import Example, Examples
from bowstring.training.settings import TrainSettings

Labels = tuple[str | None, ...]  # one per decision; None if it cannot be parsed


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A held-out test item: the teacher's decision, and how to parse the evaluator's answer."""

    example: Example
    teacher: Labels
    read: Callable[[str], Labels]


@dataclass(frozen=True, slots=True)
class EvaluatorData:
    examples: Examples
    held_out: tuple[HeldOut, ...]
    fingerprint: str


def check_types(settings: TrainSettings, known: Sequence[str]) -> None:
    for kind in settings.types:
        check_choice("type", kind, known)


def hold_out(made: Sequence[HeldOut], settings: TrainSettings, notes: Sequence[str], what: str) -> EvaluatorData:
    """Split examples into those to train on, and those of held-out owners to test on."""
    owners = _held_owners({one.example.owner for one in made}, settings)
    held = [one for one in made if one.example.owner in owners]
    kept = [one.example for one in made if one.example.owner not in owners]
    if settings.types:
        kept = [example for example in kept if example.kind in settings.types]
    kept = kept[: settings.limit]
    if not kept:
        of = f" of the types {', '.join(settings.types)}" if settings.types else ""
        raise UsageError(f"no {what} to train on{of}")
    digest = hashlib.sha256()
    for one in made:
        digest.update(f"{one.example.prompt.digest}\0{one.example.answer}\0".encode("utf-8", "surrogatepass"))
    # Prompts of a type begin alike, so they share their trunk.
    by_kind = [[example for example in kept if example.kind == kind] for kind in dict.fromkeys(e.kind for e in kept)]
    return EvaluatorData(Examples(lambda: by_kind, tuple(notes)), tuple(held), digest.hexdigest())


def _held_owners(owners: Collection[str], settings: TrainSettings) -> set[str]:
    """Choose a random share of the owners: at least one if any share is wanted, and never all."""
    if not settings.hold_out or len(owners) < 2:
        return set()
    drawn = sorted(owners, key=lambda owner: hashlib.sha256(f"{settings.seed}/held out/{owner}".encode()).digest())
    return set(drawn[: min(len(owners) - 1, max(1, round(settings.hold_out * len(owners))))])


def grouped(held_out: Iterable[HeldOut]) -> dict[str, list[HeldOut]]:
    """Group by type, in order of appearance."""
    found: dict[str, list[HeldOut]] = {}
    for one in held_out:
        found.setdefault(one.example.kind, []).append(one)
    return found
