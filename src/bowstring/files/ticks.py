"""Tick positions for figure axes."""

from __future__ import annotations

import math


def axis_ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers between `low` and `high`."""
    rough = (high - low) / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough)
    first = math.ceil(low / step)
    return [round(n * step, 10) for n in range(first, math.floor(high / step) + 1)]
