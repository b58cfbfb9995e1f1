"""Offline generation in several processes. The users are the same, in the same order, with any number of them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from bowstring.benchmarks.hicupid.offline import OfflineHicupid
from bowstring.benchmarks.hicupid.users import User

T = TypeVar("T")
_MANY = 200  # users; starting processes does not pay for fewer
_MOST_PROCESSES = 8
Work = tuple[OfflineHicupid, range, Callable[[Sequence[User]], T]]


def in_batches(
    generator: OfflineHicupid, size: int, check: Callable[[Sequence[User]], T], processes: int | None = None
) -> Iterator[tuple[list[User], T]]:
    """Batches of users in order, each with what `check` returned for it."""
    total = generator.sizes.users
    work = [(generator, range(first, min(first + size, total)), check) for first in range(0, total, size)]
    if processes is None:
        processes = min(os.cpu_count() or 1, _MOST_PROCESSES) if total >= _MANY else 1
    if processes == 1:
        yield from map(_batch, work)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(_batch, work)


def _batch(work: Work[T]) -> tuple[list[User], T]:
    generator, numbers, check = work
    users = [generator.user(number) for number in numbers]
    return users, check(users)
