"""Short names for figures."""

from __future__ import annotations


def short(name: str, most: int = 27) -> str:
    """A name shortened for a figure."""
    return name if len(name) <= most else name[: most - 1] + "…"
