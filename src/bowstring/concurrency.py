"""Waiting for several results at once, in a way that does not depend on which of them ends first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def gather_in_order(*asked: Awaitable[T]) -> list[T]:
    """All results. If several fail, the first in order is raised, and only when the others have ended."""
    ended = await asyncio.gather(*asked, return_exceptions=True)
    for end in ended:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ended if not isinstance(end, BaseException)]
