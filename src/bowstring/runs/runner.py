"""Run items through models: group by group, concurrently, with results in order, and stoppable at any time."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Generic, TypeVar

from bowstring.errors import RunError
from bowstring.records import Usage
from bowstring.runs.asking import Asker, Stopped
from bowstring.runs.budget import BudgetSpent

Item = TypeVar("Item")
Record = dict[str, Any]
Work = Callable[[Item], Awaitable[Record]]

_TICK = 0.25  # seconds between progress updates


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The progress of a run."""

    done: int
    total: int
    seconds: float
    requests: int
    stored: int
    failed: int
    usage: Usage
    cost: float | None
    stopping: bool
    finished: bool
    done_before: int = 0  # items done before the first request was answered: from the store
    waiting: int = 0  # requests that another process is sending

    @property
    def rate(self) -> float:
        """Requests per second, in this process."""
        return self.requests / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        fresh = self.done - self.done_before
        return self.seconds / fresh * (self.total - self.done) if fresh > 0 else None


@dataclass(slots=True)
class Outcome:
    """Records in item order, None for an item that was not reached, and why the run ended early."""

    records: list[Record | None]
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class Group(Generic[Item]):
    """Items that belong together. `open` is called when the group starts, and returns the function that makes
    records."""

    items: Sequence[Item]
    open: Callable[[Sequence[Item]], Work[Item]]


@dataclass(slots=True)
class Runner(Generic[Item]):
    """Runs groups in order, as many at a time as the askers have slots for."""

    groups: Sequence[Group[Item]]
    askers: Sequence[Asker]
    watch: Callable[[Snapshot], None] = lambda snapshot: None
    _done: int = 0
    _done_before: int | None = None
    _stopped: str | None = None
    _started: float = field(default_factory=time.monotonic)

    async def run(self) -> Outcome:
        total = sum(len(group.items) for group in self.groups)
        records: list[Record | None] = [None] * total
        places = asyncio.Semaphore(self._groups_at_once())
        ticker = asyncio.create_task(self._tick(total))
        tasks: set[asyncio.Task[None]] = set()
        restore = self._listen_for_interrupts()
        try:
            start = 0
            for group in self.groups:
                await places.acquire()
                if self._stopped or any(t.done() and not t.cancelled() and t.exception() for t in tasks):
                    break
                task = asyncio.create_task(self._run_group(group, start, records, places))
                tasks.add(task)
                tasks = {t for t in tasks if not t.done() or t.exception()}
                start += len(group.items)
            await self._finish(tasks)
        finally:
            restore()
            ticker.cancel()
            self.watch(self._snapshot(total, finished=True))
        return Outcome(records, self._stopped)

    def _groups_at_once(self) -> int:
        """Return the number of open groups: enough to fill every slot with a first branch, plus one."""
        return max(asker.places for asker in self.askers) + 1 if self.askers else 64

    async def _run_group(
        self, group: Group[Item], start: int, records: list[Record | None], places: asyncio.Semaphore
    ) -> None:
        try:
            work = group.open(group.items)
            # Not a TaskGroup: it would cancel the other requests at the first error.
            running = [self._run_item(work, item, start + n, records) for n, item in enumerate(group.items)]
            for ended in await asyncio.gather(*running, return_exceptions=True):
                if isinstance(ended, BaseException):
                    raise ended
        finally:
            places.release()

    async def _run_item(self, work: Work[Item], item: Item, at: int, records: list[Record | None]) -> None:
        try:
            records[at] = await work(item)
            self._done += 1
        except Stopped:
            pass
        except BudgetSpent as spent:
            self.stop(str(spent))
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            # Otherwise the item would be lost without a word.
            self.stop("failed")
            raise RunError("a model raised CancelledError, although the run was not cancelled") from error
        except Exception:
            self.stop("failed")  # no other item can succeed; requests in flight are paid for and may finish
            raise

    async def _finish(self, tasks: set[asyncio.Task[None]]) -> None:
        """Wait for all tasks, and raise the first error that ended the run."""
        if not tasks:
            return
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        errors = [e for t in tasks if t.done() and not t.cancelled() and (e := t.exception())]
        if not errors:
            return
        await asyncio.gather(*tasks, return_exceptions=True)
        raise errors[0]

    def stop(self, reason: str) -> None:
        """Let requests in flight finish, and start nothing more."""
        self._stopped = self._stopped or reason
        for asker in self.askers:
            asker.stop()

    def _listen_for_interrupts(self) -> Callable[[], None]:
        """Handle Ctrl-C: once lets requests in flight finish; twice ends at once."""
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        loop = asyncio.get_running_loop()
        main = asyncio.current_task()
        waiting = 0  # interrupts that the loop has not handled

        def handle() -> None:
            nonlocal waiting
            waiting -= 1
            if self._stopped and main is not None:
                main.cancel()
            self.stop("interrupted")

        def interrupted(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
            nonlocal waiting
            if waiting:  # something blocks the loop: only an exception ends that
                raise KeyboardInterrupt
            waiting += 1
            loop.call_soon_threadsafe(handle)

        # Not loop.add_signal_handler: it calls nothing while the loop is blocked.
        before = signal.signal(signal.SIGINT, interrupted)

        def restore() -> None:
            signal.signal(signal.SIGINT, before)

        return restore

    async def _tick(self, total: int) -> None:
        while True:
            self.watch(self._snapshot(total, finished=False))
            await asyncio.sleep(_TICK)

    def _snapshot(self, total: int, *, finished: bool) -> Snapshot:
        tallies = [asker.tally for asker in self.askers]
        costs = [t.cost for t in tallies if t.cost is not None]
        if self._done_before is None and any(t.asked for t in tallies):
            self._done_before = self._done
        return Snapshot(
            done=self._done,
            total=total,
            seconds=time.monotonic() - self._started,
            requests=sum(t.asked for t in tallies),
            stored=sum(t.stored for t in tallies),
            failed=sum(t.failed for t in tallies),
            usage=sum((t.usage for t in tallies), Usage()),
            cost=sum(costs) if len(costs) == len(tallies) else None,
            stopping=self._stopped is not None,
            finished=finished,
            done_before=self._done_before or 0,
            waiting=sum(asker.waiting for asker in self.askers),
        )
