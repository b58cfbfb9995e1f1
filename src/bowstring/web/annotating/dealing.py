"""Who gets which unit, in which order, and which answer stands where: by lot, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bowstring.benchmarks.people import Unit
from bowstring.seeding import seeded_number


@dataclass(frozen=True, slots=True)
class Turn:
    """A unit on its way to an annotator. Where it is swapped, the second answer stands first."""

    annotator: str
    place: int
    unit: int
    swapped: bool


def chosen(units: Sequence[Unit], limit: int | None, seed: int) -> list[Unit]:
    """So many units by lot, in the order of the data. A larger limit keeps what a smaller one took."""
    if limit is None or limit >= len(units):
        return list(units)
    taken = {unit.ids for unit in by_lot(units, seed)[:limit]}
    return [unit for unit in units if unit.ids in taken]


def by_lot(units: Sequence[Unit], seed: int) -> list[Unit]:
    return sorted(units, key=lambda unit: seeded_number(seed, "taken", *unit.ids))


def shared(units: Sequence[Unit], overlap: float, seed: int) -> list[bool]:
    """Which units everybody gets: a share of the whole, spread over the types as they are."""
    order = _by_type(units, seed)
    flags = [False] * len(units)
    taken = 0
    for seen, n in enumerate(order, 1):
        if taken < round(overlap * seen):
            flags[n] = True
            taken += 1
    return flags


def hands_of(units: Sequence[Unit], annotators: Sequence[str], seed: int) -> dict[str, list[int]]:
    """Which units everybody gets: shared ones and gold checks all of them, the others in turn."""
    for_all = [n for n, unit in enumerate(units) if unit.shared or unit.expected]
    rest = [n for n in _by_type(units, seed) if not (units[n].shared or units[n].expected)]
    return {name: [*for_all, *rest[which :: len(annotators)]] for which, name in enumerate(annotators)}


def deal(units: Sequence[Unit], hands: Mapping[str, Sequence[int]], seed: int) -> list[Turn]:
    """Each annotator's units in an order of their own, with half of them each way."""
    turns = []
    for annotator, mine in hands.items():
        order = sorted(mine, key=lambda n: seeded_number(seed, "order", annotator, *units[n].ids))
        sides = sorted(mine, key=lambda n: seeded_number(seed, "side", annotator, *units[n].ids))
        offset = seeded_number(seed, "first", annotator) % 2
        swapped = {n: (i + offset) % 2 == 1 for i, n in enumerate(sides)}
        turns += [Turn(annotator, place, n, swapped[n]) for place, n in enumerate(order)]
    return turns


def _by_type(units: Sequence[Unit], seed: int) -> list[int]:
    """By lot, type after type: whoever deals from this deals every type evenly."""
    return sorted(range(len(units)), key=lambda n: (units[n].type, seeded_number(seed, "deal", *units[n].ids)))
