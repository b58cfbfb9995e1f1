"""Coroutine helpers: gather results in a fixed order, and run a coroutine from synchronous code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_in_order(*asked: Awaitable[T]) -> list[T]:
    """Return all results in order. Wait for every awaitable to finish; if several fail, raise the first error in
    order."""
    ended = await asyncio.gather(*asked, return_exceptions=True)
    for end in ended:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ended if not isinstance(end, BaseException)]


def run_anywhere(main: Callable[[], Coroutine[Any, Any, T]], interrupt: Callable[[], None] = lambda: None) -> T:
    """Run a coroutine to completion; if an event loop is already running (as in a notebook), use a separate thread.

    On that thread, Ctrl-C calls `interrupt` in the coroutine's loop and waits for it to finish. Without a running loop,
    the coroutine handles Ctrl-C itself.
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
        except BaseException as error:  # re-raised in the calling thread
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
