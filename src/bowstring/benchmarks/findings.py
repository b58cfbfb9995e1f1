"""What an audit found: a number with its interval, what it should be, and in plain words whether to look closer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import Difference, difference
from bowstring.metrics.intervals import Estimate, estimate

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
_FEW = 5  # users or personas, of whom nothing is told for certain
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
    alike = found.low == found.high and not found.trusted  # no proof that others are like that too
    if (found.clusters < _FEW and verdict in ("fine", "look here")) or (alike and verdict == "fine"):
        verdict, says = "unclear", f"{says}; but this is of {found.clusters} alone"
    elif verdict == "unclear":
        says += _ROOM
    numbers = (found.value, found.low, found.high, found.n, found.clusters, found.trusted)
    return Finding(check, name, *numbers, should, verdict, says, left_out, places)


def mean_of(scores: Sequence[Score], scale: float = 100) -> Estimate | None:
    return estimate({"x": scores}, lambda means: scale * means["x"])


def rate_of(scores: Sequence[Score]) -> Estimate | None:
    """In percent, of scores from 0 to 1."""
    return estimate({"x": scores}, lambda means: 100 * means["x"], ends=(0.0, 1.0))


def paired(rows: Iterable[tuple[str, float, float]], scale: float = 100, reach: float = 100) -> Difference | None:
    """The mean of the second less the first, of rows with their clusters; `reach` is the greatest change there could
    be."""
    listed = list(rows)
    first, second = [Score(c, x) for c, x, _ in listed], [Score(c, y) for c, _, y in listed]
    ends = (0.0, reach / scale)
    return difference({"x": first}, {"x": second}, lambda means: scale * means["x"], items=len(listed), ends=ends)


def at_most(limit: float, found: Estimate | Difference) -> Verdict:
    return "fine" if found.high <= limit else "look here" if found.low > limit else "unclear"


def at_least(limit: float, found: Estimate | Difference) -> Verdict:
    return "fine" if found.low >= limit else "look here" if found.high < limit else "unclear"


def about(middle: float, room: float, found: Estimate | Difference) -> Verdict:
    """Fine within that room, over all of the interval; to be looked at farther off than that, if not by chance."""
    if abs(found.value - middle) > room and not found.low <= middle <= found.high:
        return "look here"
    return "fine" if middle - room <= found.low and found.high <= middle + room else "unclear"


def better(than: str, room: float, gain: Difference) -> Judged:
    """Whether a model is shown to be better than something that does not know the user."""
    if gain.low > 0:
        return "fine", f"the model does better than {than}"
    hardly = gain.high <= room
    return "look here" if hardly else "unclear", f"the model is not shown to do better than {than}"


def said(verdict: Verdict, well: str, badly: str) -> Judged:
    return verdict, badly if verdict == "look here" else well


def by_the_runs(judge: str | None, found: Iterable[Finding]) -> list[Finding]:
    """Findings on the run's own verdicts, named after who gave them, if that is not the audit's judge."""
    return [replace(one, name=f"{one.name} (by the run's judge, {judge})") if judge else one for one in found]
