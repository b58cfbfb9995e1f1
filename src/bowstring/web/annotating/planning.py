"""What everybody is asked: items by lot, and gold checks made of what they are not asked.

A check that repeated a question, or showed a text that stands on a real page, would tell what the right answer there
is. So an annotator's checks are made of items that somebody else was dealt or nobody was; where there are too few,
items are kept for them, the last in the lot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bowstring.benchmarks.people import Task, Unit
from bowstring.web.annotating.checks import made_checks
from bowstring.web.annotating.dealing import Turn, by_lot, chosen, deal, hands_of, shared


@dataclass(frozen=True, slots=True)
class Plan:
    """`kept` items are asked of nobody; of `wanted` gold checks, over all annotators, `made` could be made."""

    units: tuple[Unit, ...]
    turns: tuple[Turn, ...]
    kept: int
    wanted: int
    made: int
    short: int  # checks that the annotator with the fewest lacks


@dataclass(frozen=True, slots=True)
class Wishes:
    annotators: Sequence[str]
    overlap: float
    limit: int | None
    checks: float
    seed: int


def plan(task: Task, units: Sequence[Unit], known: Sequence[Unit], wishes: Wishes) -> Plan:
    """`known` are gold checks that were given: everybody gets them."""
    given = {unit.ids for unit in known}
    pool = [unit for unit in units if unit.ids not in given]
    questions = list(dict.fromkeys(unit.asked for unit in reversed(by_lot(pool, wishes.seed))))
    best = tried = _plan(task, pool, known, wishes, keep=set())
    keep, step, most = 0, 0, len(questions) // 2
    each = 2 if task.shape == "pair" else 1  # there, two gold answers are shown, and one is another question's
    while tried.short and keep < most:
        step = each * tried.short if tried is best else 2 * step  # more, where those did not fit together
        keep = min(keep + step, most)
        tried = _plan(task, pool, known, wishes, keep=set(questions[:keep]))
        if tried.made > best.made:
            best = tried
    return best


def _plan(task: Task, pool: Sequence[Unit], known: Sequence[Unit], wishes: Wishes, *, keep: set[str]) -> Plan:
    seed = wishes.seed
    taken = chosen([unit for unit in pool if unit.asked not in keep], wishes.limit, seed)
    flags = shared(taken, wishes.overlap, seed)
    units = [*(replace(unit, shared=flag) for unit, flag in zip(taken, flags, strict=True)), *known]
    hands = hands_of(units, wishes.annotators, seed)
    places = {unit.ids: n for n, unit in enumerate(units)}
    wanted = made = short = 0
    for hand in hands.values():
        dealt = [units[n] for n in hand]
        n = round(wishes.checks * sum(not unit.expected for unit in dealt))
        checks = made_checks(task, pool, n, seed, dealt=dealt)
        wanted, made, short = wanted + n, made + len(checks), max(short, n - len(checks))
        for check in checks:  # the same for several people, where it can be
            if check.ids not in places:
                places[check.ids] = len(units)
                units.append(check)
            hand.append(places[check.ids])
    kept = min(len(pool), wishes.limit or len(pool)) - len(taken)
    return Plan(tuple(units), tuple(deal(units, hands, seed)), kept, wanted, made, short)
