"""Waiting for several results at once, and running a coroutine from wherever one is."""

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


def run_anywhere(start: Callable[[], Coroutine[Any, Any, T]], interrupted: Callable[[], None] = lambda: None) -> T:
    """Run a coroutine to its end: here, or, where a loop is running already (a notebook), on a thread of its own.

    On that thread no signal arrives: `interrupted` is called instead, and the coroutine is waited for.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        try:
            return asyncio.run(start())
        except asyncio.CancelledError as cancelled:  # interrupted twice
            raise KeyboardInterrupt from cancelled
    ended: list[T | BaseException] = []

    def elsewhere() -> None:
        try:
            ended.append(asyncio.run(start()))
        except BaseException as error:  # raised again where it was called
            ended.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        interrupted()
        thread.join()
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0]
