"""Whose turn it is: so many requests at a time, and never two cold ones with the same trunk.

The first branch of a trunk goes alone. When its answer has come, the server has the trunk in its cache, and the
others follow, ahead of any trunk that was opened later, while the cache is warm.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from bowstring.records import Trunk


@dataclass(slots=True)
class _State:
    """A trunk's place in the queue, and whether a server has seen it."""

    opened: int
    warm: bool = False
    leading: bool = False
    waiting: list[asyncio.Future[None]] = field(default_factory=list)


@dataclass(slots=True)
class Turn:
    """One request's turn. `follows` says whether its trunk was warm; `warms` is set once it has answered."""

    follows: bool
    warms: bool = False


class Schedule:
    def __init__(self, concurrency: int) -> None:
        self._free = concurrency
        self._queue: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._trunks: dict[str, _State] = {}

    @asynccontextmanager
    async def turn(self, trunk: Trunk) -> AsyncIterator[Turn]:
        """Wait for a place among the requests in flight, and hold it."""
        state = self._trunks.setdefault(trunk.digest, _State(len(self._trunks)))
        leads = await self._lead_or_follow(state) if trunk.branches > 1 else False
        turn = Turn(follows=trunk.branches > 1 and not leads)
        try:
            await self._take_place(state.opened)
            try:
                yield turn
            finally:
                self._give_place()
        finally:
            if leads:
                self._after_lead(state, turn.warms)

    async def _lead_or_follow(self, state: _State) -> bool:
        """True for the branch that goes first; the others come back from here when it has answered."""
        while not state.warm:
            if not state.leading:
                state.leading = True
                return True
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            state.waiting.append(waiter)
            await waiter
        return False

    def _after_lead(self, state: _State, warm: bool) -> None:
        state.leading = False
        state.warm = warm
        # All of them wake; if the trunk is still cold, the first becomes the new lead and the rest wait again.
        for waiter in state.waiting:
            if not waiter.done():
                waiter.set_result(None)
        state.waiting.clear()

    async def _take_place(self, opened: int) -> None:
        if self._free:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (opened, next(self._numbers), place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._give_place()
            raise

    def _give_place(self) -> None:
        while self._queue:
            _, _, place = heapq.heappop(self._queue)
            if not place.done():
                place.set_result(None)  # the place passes on without becoming free in between
                return
        self._free += 1
