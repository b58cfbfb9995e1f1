"""Short names for figures, and which splits scores are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def short(name: str, most: int = 27) -> str:
    """A name shortened for a figure."""
    return name if len(name) <= most else name[: most - 1] + "…"


def splits_in_words(metrics: Mapping[str, Any]) -> str:
    """Which splits the scores are of; empty if the data has none."""
    splits: Sequence[str] = metrics.get("splits", ())
    if len(splits) < 2:
        return f"Split {splits[0]}" if splits else ""
    return f"{', '.join(splits[:-1])} and {splits[-1]} together"
