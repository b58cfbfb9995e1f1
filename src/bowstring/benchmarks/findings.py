"""What an audit found: a number with its interval, what it should be, and in plain words whether to look closer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bowstring.metrics.comparing import Difference, difference
from bowstring.metrics.intervals import Estimate, Score, estimate

# fine: as it should be over all of its interval; unclear: perhaps, perhaps not; told: neither good nor bad by itself.
Verdict = Literal["fine", "unclear", "look here", "told"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`value` is None where the number is not defined; `left_out` counts items that failed or could not be read.

    `should` is empty where there is nothing that it should be.
    """

    check: str
    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    trusted: bool
    should: str
    verdict: Verdict
    says: str
    left_out: int = 0
    places: int = 1  # decimals that are worth reading

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


Judged = tuple[Verdict, str]
_ROOM = "; the interval reaches beyond that"


def finding(
    check: str,
    name: str,
    found: Estimate | Difference | None,
    should: str,
    judge: Callable[[Any], Judged | str],
    *,
    left_out: int = 0,
    places: int = 1,
) -> Finding:
    """`judge` says of the number whether it is as it should be, and what it means; or only what it means."""
    if found is None:
        why = "nothing could be scored" if left_out else "there is nothing to score"
        return Finding(check, name, None, None, None, 0, 0, False, should, "look here", why, left_out, places)
    judged = judge(found)
    verdict, says = judged if isinstance(judged, tuple) else ("told", judged)
    says += _ROOM if verdict == "unclear" else ""
    numbers = (found.value, found.low, found.high, found.n, found.clusters, found.trusted)
    return Finding(check, name, *numbers, should, verdict, says, left_out, places)


def mean_of(scores: Sequence[Score], scale: float = 100) -> Estimate | None:
    return estimate({"x": scores}, lambda means: scale * means["x"])


def rate_of(scores: Sequence[Score]) -> Estimate | None:
    """In percent, of scores from 0 to 1."""
    return estimate({"x": scores}, lambda means: 100 * means["x"], ends=(0.0, 1.0))


def paired(rows: Iterable[tuple[str, float, float]], scale: float = 100) -> Difference | None:
    """The mean of the second less the first, of rows with their clusters."""
    found = list(rows)
    first, second = [Score(c, x) for c, x, _ in found], [Score(c, y) for c, _, y in found]
    return difference({"x": first}, {"x": second}, lambda means: scale * means["x"], items=len(found))


def at_most(limit: float, found: Estimate | Difference) -> Verdict:
    return "look here" if found.value > limit else "unclear" if found.high > limit else "fine"


def at_least(limit: float, found: Estimate | Difference) -> Verdict:
    return "look here" if found.value < limit else "unclear" if found.low < limit else "fine"


def about(middle: float, room: float, found: Estimate | Difference) -> Verdict:
    """Farther off than can be lived with, and not by chance; or within that room, over all of the interval."""
    if abs(found.value - middle) > room and not found.low <= middle <= found.high:
        return "look here"
    return "fine" if middle - room <= found.low and found.high <= middle + room else "unclear"


def said(verdict: Verdict, well: str, badly: str) -> Judged:
    return verdict, badly if verdict == "look here" else well
