"""A race of two models: both answer the items of one user after another, until it is clear that they differ.

Users come in random order. After each of them the test is looked at again; it allows for that (metrics/sequential.py).
All responses are in the store: a race that was stopped goes on where it was, and reaches the same result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from bowstring.concurrency import run_anywhere
from bowstring.errors import UsageError
from bowstring.metrics.sequential import SequentialTest
from bowstring.records import MODEL_ROLE, by_item
from bowstring.runs.asking import Asker
from bowstring.runs.budget import Budget
from bowstring.runs.items import chosen_groups, users_in_order
from bowstring.runs.repeats import Repeated, open_repeated, repeats_of
from bowstring.runs.runner import Group, Record, Runner, Snapshot
from bowstring.runs.running import Running
from bowstring.runs.store import Store


class UserDifference(Protocol):
    """The difference of the second model's score from the first's, on the records of one user; None if one has no
    score. `span` is the largest possible one, known after the first."""

    span: float

    def __call__(self, first: Sequence[Record], second: Sequence[Record]) -> float | None: ...


@dataclass(slots=True)
class RaceOutcome:
    """`users` of `of_users` were enough, or all that could be asked; `left_out` of them had no score by both models.

    `items` counts the items that each model answered, of `of_items`. `value` is the mean difference, second model minus
    first, in units of the metric; `low` and `high` are valid at any time, and None before the first difference.
    """

    level: float
    users: int = 0
    of_users: int = 0
    left_out: int = 0
    items: int = 0
    of_items: int = 0
    value: float = 0.0
    low: float | None = None
    high: float | None = None
    evidence: float = 1.0
    established: bool = False
    stopped: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"evidence": min(self.evidence, 1e300)}


@dataclass(slots=True)
class Race:
    """Two evaluations that differ in their model, ready to run."""

    first: Running
    second: Running
    level: float
    difference: UserDifference
    watch: Callable[[Snapshot], None] = field(default=lambda snapshot: None)
    _runner: Runner[Any] | None = None
    _stopped: str | None = None
    _done: int = 0  # items in earlier steps
    _total: int = 0
    _started: float = field(default_factory=time.monotonic)
    _last: Snapshot | None = None

    def run(self) -> RaceOutcome:
        return run_anywhere(self._run, self._interrupt)

    def _interrupt(self) -> None:
        self._stopped = "interrupted"
        if self._runner is not None:
            self._runner.stop("interrupted")

    async def _run(self) -> RaceOutcome:
        # One judge for both: it is loaded once, and identical requests are sent once.
        own = self.second.models[MODEL_ROLE]
        for role, model in self.first.models.items():
            other = self.second.models.get(role)
            if other is not None and other is not own and other.identity == model.identity:
                self.second.models[role] = model
        options = self.first.options
        store = Store(options.store_path)
        try:
            budget = Budget(options.max_cost) if options.max_cost is not None else None
            shared: dict[str, Asker] = {}
            for running in (self.first, self.second):
                running.begin()
            sides = [
                _Side(running, running.askers(store, budget, shared)[0], options.users)
                for running in (self.first, self.second)
            ]
            return await self._race(sides)
        finally:
            if self._last is not None:
                self.watch(replace(self._last, finished=True))
            await store.close()
            models = [*self.first.models.values(), *self.second.models.values()]
            for model in {id(model): model for model in models}.values():
                await model.close()

    async def _race(self, sides: Sequence[_Side]) -> RaceOutcome:
        order = sides[0].order
        outcome = RaceOutcome(self.level, of_users=len(order), of_items=sum(map(sides[0].items, order)))
        self._total = len(sides) * sum(map(sides[0].size, order))
        test = SequentialTest(self.level)
        at_once = self._users_at_once(sides)
        for start in range(0, len(order), at_once):
            records = await self._answered(sides, order[start : start + at_once])
            for user in order[start : start + at_once]:
                if any(None in of_user[user] for of_user in records):
                    outcome.stopped = self._stopped or "stopped"
                    return outcome
                self._look([of_user[user] for of_user in records], test, outcome)
                if outcome.established:
                    return outcome
        return outcome

    def _look(self, records: Sequence[Sequence[Record | None]], test: SequentialTest, outcome: RaceOutcome) -> None:
        first, second = ([r for r in own if r is not None] for own in records)
        outcome.users += 1
        outcome.items += len(by_item(first))
        found = self.difference(first, second)
        if found is None:
            outcome.left_out += 1
            return
        span = self.difference.span
        test.add(found / span)
        outcome.low, outcome.high = (span * end for end in test.interval)
        outcome.value, outcome.evidence, outcome.established = span * test.mean, test.evidence, test.established

    async def _answered(self, sides: Sequence[_Side], users: Sequence[str]) -> list[dict[str, list[Record | None]]]:
        """Return each model's records by user; None for an item that was not reached."""
        turns = [(n, user, group) for user in users for n, side in enumerate(sides) for group in side.groups_of(user)]
        askers = list({id(asker): asker for side in sides for asker in side.askers.values()}.values())
        self._runner = Runner([group for _, _, group in turns], askers, self._told)
        if self._stopped:
            self._runner.stop(self._stopped)
        ended = await self._runner.run()
        self._done += sum(record is not None for record in ended.records)
        self._stopped = self._stopped or ended.stopped
        found: list[dict[str, list[Record | None]]] = [{user: [] for user in users} for _ in sides]
        records = iter(ended.records)
        for n, user, group in turns:
            found[n][user] += [next(records) for _ in group.items]
        return found

    def _told(self, snapshot: Snapshot) -> None:
        """Report the progress of the race, of which a runner does a step."""
        seconds = time.monotonic() - self._started
        done = self._done + snapshot.done
        self._last = replace(snapshot, done=done, total=self._total, seconds=seconds, finished=False)
        self.watch(self._last)

    def _users_at_once(self, sides: Sequence[_Side]) -> int:
        """Return how many users keep all places busy: few, because those beyond the last one are answered in vain."""
        places = max((asker.places for side in sides for asker in side.askers.values()), default=1)
        each = max(1, sum(map(sides[0].size, sides[0].order)) // max(1, len(sides[0].order)))
        return max(1, places // (len(sides) * each))


class _Side:
    """One of the two evaluations: its askers, and its items by user."""

    def __init__(self, running: Running, askers: dict[str, Asker], users: int | None) -> None:
        self.askers = askers
        items = running.evaluations[0].items
        if not hasattr(items, "whose"):
            raise UsageError("--until: this benchmark does not say whose its items are")
        groups = chosen_groups(items, limit=None, users=users)
        in_all = users_in_order(items, items.groups(None))  # the runs of the first users of this order are written
        self.order = in_all if users is None else in_all[:users]
        repeats = repeats_of(running.options.answers, running.options.judgements)
        self._repeats = len(repeats)
        open_group = open_repeated(partial(items.open_group, askers=askers))
        self._groups: dict[str, list[Group[Repeated]]] = {user: [] for user in self.order}
        for group in groups:
            by_user: dict[str, list[Repeated]] = {}
            for item in group:
                by_user.setdefault(items.whose(item)[0], []).extend(Repeated(item, repeat) for repeat in repeats)
            for user, own in by_user.items():
                self._groups[user].append(Group(own, open_group))

    def groups_of(self, user: str) -> list[Group[Repeated]]:
        return self._groups[user]

    def size(self, user: str) -> int:
        """The number of records of a user; items have several if they are answered or judged several times."""
        return sum(len(group.items) for group in self._groups[user])

    def items(self, user: str) -> int:
        return self.size(user) // self._repeats
