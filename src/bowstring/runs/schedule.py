"""Request scheduling: a concurrency limit, and never two concurrent requests with the same cold trunk.

The first branch of a trunk is sent alone. After its answer, the server has the trunk in its prefix cache, and the other
branches follow, ahead of later trunks, while the cache is warm.

A model may have several servers. Each has its own slots, queue and cache, so a full one delays nobody elsewhere. When a
server fails or returns, what waits is placed again; a trunk is cold wherever it has not been answered.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from bowstring.models.interface import Place
from bowstring.records import Trunk

_ONLY = Place()


@dataclass(slots=True)
class _State:
    """A trunk's position in the queue of a server, whether it is cached there, and the requests waiting for that."""

    opened: int
    warm: bool = False
    leading: bool = False
    waiting: deque[_Waiter] = field(default_factory=deque)


class _Waiter:
    """A request that waits for a slot; `leads` is set when its trunk lets it into the queue."""

    __slots__ = ("leads", "number", "place", "place_of", "ready", "state", "trunk")

    def __init__(self, number: int, trunk: Trunk, place_of: Callable[[], Place]) -> None:
        self.number = number
        self.trunk = trunk
        self.place_of = place_of
        self.leads = False
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.place: Place
        self.state: _State


@dataclass(slots=True)
class Turn:
    """One request's slot. `follows` says whether its trunk was warm, `place` where it goes; the caller sets `warms`
    after the answer, and may give the slot back before the end."""

    follows: bool
    warms: bool = False
    place: Place = _ONLY
    free: Callable[[], None] = lambda: None


class Schedule:
    def __init__(self, concurrency: int, *, leads: bool = True) -> None:
        """`concurrency` is per server. Without `leads` no branch goes first: there is no cache to warm."""
        self._leads = leads
        self._free: defaultdict[str, int] = defaultdict(lambda: concurrency)  # by server
        self._queues: defaultdict[str, list[tuple[int, int, _Waiter]]] = defaultdict(list)  # by server
        self._numbers = count()
        self._opened: dict[str, int] = {}
        self._trunks: dict[tuple[Place, str], _State] = {}

    @asynccontextmanager
    async def turn(self, trunk: Trunk, place_of: Callable[[], Place] = lambda: _ONLY) -> AsyncIterator[Turn]:
        """Wait for a slot among the requests in flight, and hold it. `place_of` may say something else later."""
        waiter = _Waiter(next(self._numbers), trunk, place_of)
        self._admit(waiter)
        turn = Turn(follows=False)
        ended = False

        def end() -> None:
            nonlocal ended
            if ended:
                return
            ended = True
            if waiter.leads:
                self._after_lead(waiter.state, warm=turn.warms)
            if waiter.ready.done() and not waiter.ready.cancelled():
                self._free[waiter.place.server] += 1
            self._dispatch(waiter.place.server)

        try:
            await waiter.ready
            turn.follows = self._is_shared(trunk) and not waiter.leads
            turn.place = waiter.place
            turn.free = end
            yield turn
        finally:
            end()

    def rearrange(self) -> None:
        """Place all waiting requests again: a server has failed or returned."""
        queued = [waiter for queue in self._queues.values() for _, _, waiter in queue]
        waiting = [waiter for state in self._trunks.values() for waiter in state.waiting]
        for waiter in queued:
            if waiter.leads:
                waiter.state.leading = False
        self._queues.clear()
        for state in self._trunks.values():
            state.waiting.clear()
        left = [waiter for waiter in (*queued, *waiting) if not waiter.ready.done()]
        for waiter in sorted(left, key=lambda waiter: (waiter.state.opened, waiter.number)):
            self._admit(waiter)

    def _is_shared(self, trunk: Trunk) -> bool:
        return self._leads and trunk.branches > 1

    def _admit(self, waiter: _Waiter) -> None:
        """Put a request into the queue of its server, or let it wait until its trunk is warm there."""
        digest = waiter.trunk.digest
        waiter.place = waiter.place_of()
        opened = self._opened.setdefault(digest, len(self._opened))
        waiter.state = state = self._trunks.setdefault((waiter.place, digest), _State(opened))
        is_cold = self._is_shared(waiter.trunk) and not state.warm
        waiter.leads = is_cold and not state.leading
        if waiter.leads:
            state.leading = True
        if is_cold and not waiter.leads:
            state.waiting.append(waiter)
            return
        self._enqueue(waiter)
        self._dispatch(waiter.place.server)

    def _enqueue(self, waiter: _Waiter) -> None:
        heapq.heappush(self._queues[waiter.place.server], (waiter.state.opened, waiter.number, waiter))

    def _after_lead(self, state: _State, *, warm: bool) -> None:
        """Let the other branches into the queue; or, if the trunk is still cold, only the next one."""
        state.leading = False
        state.warm = warm
        while state.waiting and not state.leading:
            waiter = state.waiting.popleft()
            if waiter.ready.done():  # cancelled while waiting
                continue
            waiter.leads = state.leading = not warm
            self._enqueue(waiter)

    def _dispatch(self, server: str) -> None:
        """Give free slots of a server to the first requests in its queue."""
        queue = self._queues[server]
        while self._free[server] and queue:
            _, _, waiter = heapq.heappop(queue)
            if not waiter.ready.done():
                self._free[server] -= 1
                waiter.ready.set_result(None)
