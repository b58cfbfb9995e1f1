"""How the reports shorten names."""

from __future__ import annotations


def short(name: str, most: int = 27) -> str:
    """A name for a figure, which has little room."""
    return name if len(name) <= most else name[: most - 1] + "…"
