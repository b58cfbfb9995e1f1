"""Coroutines: waiting for several results in a fixed order, and running one from code that is not asynchronous."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_in_order(*asked: Awaitable[T]) -> list[T]:
    """All results. If several fail, the first in order is raised, and only when the others have ended."""
    ended = await asyncio.gather(*asked, return_exceptions=True)
    for end in ended:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ended if not isinstance(end, BaseException)]


def run_anywhere(main: Callable[[], Coroutine[Any, Any, T]], interrupt: Callable[[], None] = lambda: None) -> T:
    """Run a coroutine to its end; where an event loop is running already, as in a notebook, on a thread of its own.

    There, Ctrl-C calls `interrupt` in the coroutine's loop and waits for the end. Elsewhere the coroutine itself
    listens for Ctrl-C.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        try:
            return asyncio.run(main())
        except asyncio.CancelledError as cancelled:  # interrupted twice
            raise KeyboardInterrupt from cancelled
    return _run_on_a_thread(main, interrupt)


def _run_on_a_thread(main: Callable[[], Coroutine[Any, Any, T]], interrupt: Callable[[], None]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def with_its_loop() -> T:
        loops.append(asyncio.get_running_loop())
        return await main()

    def work() -> None:
        try:
            results.append(asyncio.run(with_its_loop()))
        except BaseException as error:  # raised again where it was called
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        for loop in loops:
            loop.call_soon_threadsafe(interrupt)
        thread.join()
    if errors:
        raise errors[0]
    return results[0]
