"""Rate limits: requests and tokens per minute, shared by all requests to one model.

Requests are spread evenly over a minute, because providers enforce their limits over shorter times as well: 60 requests
per minute may mean one per second. The tokens of a request are estimated before it is sent, and corrected by its usage.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

_MINUTE = 60.0
_LOOK = 1.0  # seconds after which a waiting request looks again: tokens may have been given back, or the run is ending


class RateLimiter:
    """Lets requests through one at a time, first come, first served."""

    def __init__(
        self,
        requests: float | None,
        tokens: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`requests` and `tokens` per minute; None means no limit."""
        self._per_request = _MINUTE / requests if requests else 0.0
        self._per_token = _MINUTE / tokens if tokens else 0.0
        self._clock = clock
        self._sleep = sleep
        self._next_request = self._next_token = clock()
        self._turn = asyncio.Lock()
        self._stopped = False

    async def take(self, tokens: int = 0) -> None:
        """Wait until a request of so many tokens may be sent. A request larger than the limit is sent alone."""
        async with self._turn:
            while not self._stopped and (wait := max(self._next_request, self._next_token) - self._clock()) > 0:
                await self._sleep(min(wait, _LOOK))
            now = self._clock()
            self._next_request = max(self._next_request, now) + self._per_request
            self._next_token = max(self._next_token, now) + tokens * self._per_token

    def correct(self, expected: int, used: int) -> None:
        """Replace the expected tokens of a request by those that it used."""
        self._next_token += (used - expected) * self._per_token

    def stop(self) -> None:
        """End the run: nobody waits any longer."""
        self._stopped = True


def rate_limiter(requests: float | None, tokens: float | None) -> RateLimiter | None:
    return RateLimiter(requests, tokens) if requests or tokens else None
