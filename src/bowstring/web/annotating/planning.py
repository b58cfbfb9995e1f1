"""Plans a study: a random assignment of items, and gold checks from items that an annotator does not rate.

A check that repeats a question or a text of a real page would reveal the right answer there. So the checks of an
annotator use items of other annotators or unassigned items; if there are too few, items are reserved for checks, the
last ones of the random order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bowstring.benchmarks.people import Task, Unit
from bowstring.web.annotating.checks import generated_checks
from bowstring.web.annotating.dealing import Turn, chosen, deal, in_random_order, shared, units_by_annotator


@dataclass(frozen=True, slots=True)
class Plan:
    """`reserved` items are rated by nobody; `generated` of the `wanted` gold checks, over all annotators, exist."""

    units: tuple[Unit, ...]
    turns: tuple[Turn, ...]
    reserved: int
    wanted: int
    generated: int
    short: int  # missing checks of the annotator with the fewest


@dataclass(frozen=True, slots=True)
class StudyRequest:
    annotators: Sequence[str]
    overlap: float
    limit: int | None
    checks: float
    seed: int


def plan(task: Task, units: Sequence[Unit], known: Sequence[Unit], request: StudyRequest) -> Plan:
    """`known` are given gold checks; all annotators get them."""
    given = {unit.ids for unit in known}
    pool = [unit for unit in units if unit.ids not in given]
    questions = list(dict.fromkeys(unit.asked for unit in reversed(in_random_order(pool, request.seed))))
    best = tried = _plan(task, pool, known, request, keep=set())
    keep, step, most = 0, 0, len(questions) // 2
    each = 2 if task.shape == "pair" else 1  # those show two gold answers, one of them to another question
    while tried.short and keep < most:
        step = each * tried.short if tried is best else 2 * step  # more, if those did not fit
        keep = min(keep + step, most)
        tried = _plan(task, pool, known, request, keep=set(questions[:keep]))
        if tried.generated > best.generated:
            best = tried
    return best


def _plan(task: Task, pool: Sequence[Unit], known: Sequence[Unit], request: StudyRequest, *, keep: set[str]) -> Plan:
    seed = request.seed
    taken = chosen([unit for unit in pool if unit.asked not in keep], request.limit, seed)
    flags = shared(taken, request.overlap, seed)
    units = [*(replace(unit, shared=flag) for unit, flag in zip(taken, flags, strict=True)), *known]
    hands = units_by_annotator(units, request.annotators, seed)
    places = {unit.ids: n for n, unit in enumerate(units)}
    wanted = made = short = 0
    for hand in hands.values():
        dealt = [units[n] for n in hand]
        n = round(request.checks * sum(not unit.expected for unit in dealt))
        checks = generated_checks(task, pool, n, seed, dealt=dealt)
        wanted, made, short = wanted + n, made + len(checks), max(short, n - len(checks))
        for check in checks:  # the same checks for several people, if possible
            if check.ids not in places:
                places[check.ids] = len(units)
                units.append(check)
            hand.append(places[check.ids])
    kept = min(len(pool), request.limit or len(pool)) - len(taken)
    return Plan(tuple(units), tuple(deal(units, hands, seed)), kept, wanted, made, short)
