"""Seeded randomness: numbers and samples that are identical on every machine, whatever else a run contains."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def seeded_number(seed: int, *purpose: str) -> int:
    """Return a 64-bit number that depends only on the seed and the purpose."""
    text = "/".join((str(seed), *purpose))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def seeded_sample(items: Sequence[T], size: int, key: Callable[[T], str], *, purpose: str) -> list[T]:
    """Return a random sample in item order; a larger sample contains every smaller one."""
    order = sorted(range(len(items)), key=lambda n: seeded_number(0, purpose, key(items[n])))
    return [items[n] for n in sorted(order[:size])]
