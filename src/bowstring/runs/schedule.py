"""Request scheduling: a concurrency limit, and never two concurrent requests with the same cold trunk.

The first branch of a trunk is sent alone. After its answer, the server has the trunk in its prefix cache, and the other
branches follow, ahead of later trunks, while the cache is warm.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from bowstring.records import Trunk


class _Waiter:
    """A request that waits for a slot; `leads` is set when its trunk lets it into the queue."""

    __slots__ = ("leads", "ready")

    def __init__(self, *, leads: bool) -> None:
        self.leads = leads
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class _State:
    """A trunk's position in the queue, whether it is cached at the server, and the requests waiting for that."""

    opened: int
    warm: bool = False
    leading: bool = False
    waiting: deque[_Waiter] = field(default_factory=deque)


@dataclass(slots=True)
class Turn:
    """One request's slot. `follows` says whether its trunk was warm; the caller sets `warms` after the answer, and may
    give the slot back before the end."""

    follows: bool
    warms: bool = False
    free: Callable[[], None] = lambda: None


class Schedule:
    def __init__(self, concurrency: int, *, leads: bool = True) -> None:
        """Without `leads` no branch goes first: there is no cache to warm."""
        self._free = concurrency
        self._leads = leads
        self._queue: list[tuple[int, int, _Waiter]] = []
        self._numbers = count()
        self._trunks: dict[str, _State] = {}

    @asynccontextmanager
    async def turn(self, trunk: Trunk) -> AsyncIterator[Turn]:
        """Wait for a slot among the requests in flight, and hold it."""
        state = self._trunks.setdefault(trunk.digest, _State(len(self._trunks)))
        shared = self._leads and trunk.branches > 1
        waiter = _Waiter(leads=shared and not state.warm and not state.leading)
        if waiter.leads:
            state.leading = True
        if shared and not state.warm and not waiter.leads:
            state.waiting.append(waiter)
        else:
            self._enqueue(state, waiter)
        turn = Turn(follows=False)
        ended = False

        def end() -> None:
            nonlocal ended
            if ended:
                return
            ended = True
            if waiter.leads:
                self._after_lead(state, warm=turn.warms)
            if waiter.ready.done() and not waiter.ready.cancelled():
                self._free += 1
            self._dispatch()

        try:
            await waiter.ready
            turn.follows = shared and not waiter.leads
            turn.free = end
            yield turn
        finally:
            end()

    def _enqueue(self, state: _State, waiter: _Waiter) -> None:
        heapq.heappush(self._queue, (state.opened, next(self._numbers), waiter))
        self._dispatch()

    def _after_lead(self, state: _State, *, warm: bool) -> None:
        """Let the other branches into the queue; or, if the trunk is still cold, only the next one."""
        state.leading = False
        state.warm = warm
        while state.waiting and not state.leading:
            waiter = state.waiting.popleft()
            if waiter.ready.done():  # cancelled while waiting
                continue
            waiter.leads = state.leading = not warm
            heapq.heappush(self._queue, (state.opened, next(self._numbers), waiter))

    def _dispatch(self) -> None:
        """Give free slots to the first requests in the queue."""
        while self._free and self._queue:
            _, _, waiter = heapq.heappop(self._queue)
            if not waiter.ready.done():
                self._free -= 1
                waiter.ready.set_result(None)
