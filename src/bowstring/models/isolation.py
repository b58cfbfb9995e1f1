"""Run user code on daemon threads, with what it raises as a value.

    outcome = await call_on_thread(function, argument)

Code that never returns then holds up nothing else and does not keep the process alive. A CancelledError that it raises
is an error like any other, and is not mistaken for the end of the run.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call of user code returned, or raised."""

    value: Any = None
    error: BaseException | None = None


async def call_on_thread(function: Callable[..., Any], *arguments: Any) -> Outcome:
    """Call on a new daemon thread."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Outcome] = loop.create_future()

    def finish(outcome: Outcome) -> None:
        if not done.done():
            done.set_result(outcome)

    def run() -> None:
        try:
            outcome = Outcome(function(*arguments))
        except BaseException as error:
            outcome = _raised(error)
        with suppress(RuntimeError):  # the loop is closed: no caller is left
            loop.call_soon_threadsafe(finish, outcome)

    threading.Thread(target=run, daemon=True).start()
    return await done


class StillRunning(Exception):
    """A call was not started: earlier ones, whose callers have given up, are still running."""


class ThreadPlaces:
    """Calls of code that may not be thread-safe: on daemon threads, no more of them at once than there are callers.

    A call whose caller has given up cannot be ended. It keeps its place until it returns, and later calls wait for it.
    Once one has waited in vain, further ones fail at once until a place is free.
    """

    def __init__(self) -> None:
        self._callers = 0
        self._places = 0  # the most callers at the same time so far, which is the concurrency of the run
        self._running: set[asyncio.Task[Outcome]] = set()
        self._abandoned: set[asyncio.Task[Outcome]] = set()
        self._waited_in_vain = False

    async def call(self, function: Callable[..., Any], *arguments: Any, end: float | None) -> Outcome:
        """Call, and wait until the loop's time `end`. Raises TimeoutError if the call has not returned by then, and
        StillRunning if there was no place for it."""
        self._callers += 1
        self._places = max(self._places, self._callers)
        try:
            await self._wait_for_place(end)
            return await self._call(function, *arguments, end=end)
        finally:
            self._callers -= 1

    async def _wait_for_place(self, end: float | None) -> None:
        while len(self._running) >= self._places:
            if self._waited_in_vain and self._running <= self._abandoned:
                raise StillRunning
            returned, _ = await asyncio.wait(
                self._running, timeout=_seconds_until(end), return_when=asyncio.FIRST_COMPLETED
            )
            if not returned:
                self._waited_in_vain = True
                raise StillRunning
            self._running -= returned
        self._waited_in_vain = False

    async def _call(self, function: Callable[..., Any], *arguments: Any, end: float | None) -> Outcome:
        task = asyncio.create_task(call_on_thread(function, *arguments))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(self._abandoned.discard)
        try:
            returned, _ = await asyncio.wait({task}, timeout=_seconds_until(end))
        finally:
            if not task.done():
                self._abandoned.add(task)
        if not returned:
            raise TimeoutError
        return task.result()


def _seconds_until(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - asyncio.get_running_loop().time())


async def await_apart(awaitable: Awaitable[Any]) -> Outcome:
    """Await in this loop, in a task of its own: if that is cancelled, the caller is not."""

    async def awaited() -> Any:
        return await awaitable

    # In the thread of Bowstring, a KeyboardInterrupt is a real one.
    task = asyncio.create_task(_outcome_of(awaited, not_caught=KeyboardInterrupt))
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        raise
    return task.result()


async def _outcome_of(
    function: Callable[..., Awaitable[Any]],
    *arguments: Any,
    not_caught: type[BaseException] | tuple[type[BaseException], ...] = (),
) -> Outcome:
    try:
        return Outcome(await function(*arguments))
    except not_caught:
        raise
    except BaseException as error:
        return _raised(error)


def _raised(error: BaseException) -> Outcome:
    """An error with a traceback that begins in the code that was called, not here."""
    trace = error.__traceback__
    return Outcome(error=error.with_traceback(trace.tb_next if trace else None))


class BackgroundLoop:
    """An event loop on a daemon thread. Code that blocks it blocks no other loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    async def call(self, function: Callable[..., Awaitable[Any]], *arguments: Any) -> Outcome:
        """Call an async function in this loop, and wait for it in the caller's."""
        call = _outcome_of(function, *arguments)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))

    def close(self) -> None:
        """End the loop when its tasks have ended, which are cancelled. One that does not end lingers."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        self._loop.stop()
