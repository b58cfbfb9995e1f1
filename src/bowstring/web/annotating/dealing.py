"""Random assignment of units to annotators, their order and the sides of answers, reproducible by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bowstring.benchmarks.people import Unit
from bowstring.seeding import seeded_number


@dataclass(frozen=True, slots=True)
class Turn:
    """A unit assigned to an annotator. If it is swapped, the second answer is shown first."""

    annotator: str
    place: int
    unit: int
    swapped: bool


def chosen(units: Sequence[Unit], limit: int | None, seed: int) -> list[Unit]:
    """A random sample of units, in the order of the data. A larger limit includes the sample of a smaller one."""
    if limit is None or limit >= len(units):
        return list(units)
    taken = {unit.ids for unit in in_random_order(units, seed)[:limit]}
    return [unit for unit in units if unit.ids in taken]


def in_random_order(units: Sequence[Unit], seed: int) -> list[Unit]:
    return sorted(units, key=lambda unit: seeded_number(seed, "taken", *unit.ids))


def shared(units: Sequence[Unit], overlap: float, seed: int) -> list[bool]:
    """The units that all annotators get: a share of all units, stratified by type."""
    order = _by_type(units, seed)
    flags = [False] * len(units)
    taken = 0
    for seen, n in enumerate(order, 1):
        if taken < round(overlap * seen):
            flags[n] = True
            taken += 1
    return flags


def units_by_annotator(units: Sequence[Unit], annotators: Sequence[str], seed: int) -> dict[str, list[int]]:
    """The units of each annotator: all shared units and gold checks, and the other units in turn."""
    for_all = [n for n, unit in enumerate(units) if unit.shared or unit.expected]
    rest = [n for n in _by_type(units, seed) if not (units[n].shared or units[n].expected)]
    return {name: [*for_all, *rest[which :: len(annotators)]] for which, name in enumerate(annotators)}


def deal(units: Sequence[Unit], hands: Mapping[str, Sequence[int]], seed: int) -> list[Turn]:
    """Each annotator's units in a random order, half of them swapped."""
    turns = []
    for annotator, mine in hands.items():
        order = sorted(mine, key=lambda n: seeded_number(seed, "order", annotator, *units[n].ids))
        sides = sorted(mine, key=lambda n: seeded_number(seed, "side", annotator, *units[n].ids))
        offset = seeded_number(seed, "first", annotator) % 2
        swapped = {n: (i + offset) % 2 == 1 for i, n in enumerate(sides)}
        turns += [Turn(annotator, place, n, swapped[n]) for place, n in enumerate(order)]
    return turns


def _by_type(units: Sequence[Unit], seed: int) -> list[int]:
    """Units in random order, alternating between types, so that types are assigned evenly."""
    return sorted(range(len(units)), key=lambda n: (units[n].type, seeded_number(seed, "deal", *units[n].ids)))
