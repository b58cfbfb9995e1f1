"""Findings of an audit: a number with its interval, the expected range, a verdict and what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from bowstring.benchmarks.interface import Noun
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import Difference, difference
from bowstring.metrics.intervals import Estimate, estimate

# fine: the whole interval is in the expected range; problem: the number is outside it; unclear: the data cannot tell;
# info: a number without an expected range.
Verdict = Literal["fine", "unclear", "problem", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of a check. `value` is None if the number is undefined; `left_out` counts failed and unparsed items.

    `expected` is empty for a number without an expected range; `meaning` is one or more sentences.
    """

    check: str
    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    trusted: bool
    expected: str
    verdict: Verdict
    meaning: str
    left_out: int = 0
    places: int = 1  # decimals to print

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Meanings:
    """What a finding means if it is fine, and if it is a problem; if it is unclear, nobody knows `whether`."""

    fine: str
    problem: str
    whether: str  # such as: the judges agree


Assessment = tuple[Verdict, str | Meanings]
_FEW = 5  # clusters; with fewer, no verdict is certain
USER = Noun("user", "users")
_BEYOND = " The interval extends beyond the expected range."


def make_finding(
    check: str,
    name: str,
    found: Estimate | Difference | None,
    expected: str,
    assess: Callable[[Any], Assessment | str],
    *,
    left_out: int = 0,
    places: int = 1,
    cluster: Noun = USER,
) -> Finding:
    """A finding on an estimate. `assess` returns a verdict and a meaning, or the meaning alone for `info`. `cluster` is
    the benchmark's word for a cluster."""
    if found is None:
        why = "Nothing could be scored." if left_out else "There is nothing to score."
        return Finding(check, name, None, None, None, 0, 0, False, expected, "problem", why, left_out, places)
    assessed = assess(found)
    verdict, meaning = assessed if isinstance(assessed, tuple) else ("info", assessed)
    identical = found.low == found.high and not found.trusted  # no evidence that other clusters are the same
    only = ""
    if (found.clusters < _FEW and verdict in ("fine", "problem")) or (identical and verdict == "fine"):
        verdict, only = "unclear", f"only {found.clusters} {cluster.one if found.clusters == 1 else cluster.many}"
    if isinstance(meaning, Meanings):
        meaning = _in_words(meaning, verdict, f"{only}, too few" if only else f"too few {cluster.many}")
    elif only:
        meaning = f"{meaning} But it rests on {only}."
    if verdict == "unclear" and not only:
        meaning += _BEYOND
    numbers = (found.value, found.low, found.high, found.n, found.clusters, found.trusted)
    return Finding(check, name, *numbers, expected, verdict, meaning, left_out, places)


def _in_words(meaning: Meanings, verdict: Verdict, few: str) -> str:
    if verdict != "unclear":
        return meaning.problem if verdict == "problem" else meaning.fine
    return f"{few[0].upper()}{few[1:]} to tell whether {meaning.whether}."


def mean_of(scores: Sequence[Score], scale: float = 100) -> Estimate | None:
    return estimate({"x": scores}, lambda means: scale * means["x"])


def rate_of(scores: Sequence[Score]) -> Estimate | None:
    """The mean of scores from 0 to 1, in percent."""
    return estimate({"x": scores}, lambda means: 100 * means["x"], ends=(0.0, 1.0))


def paired_difference(
    rows: Iterable[tuple[str, float, float]], scale: float = 100, reach: float = 100
) -> Difference | None:
    """The mean of second − first over rows of (cluster, first, second). `reach` is the largest possible change."""
    listed = list(rows)
    first, second = [Score(c, x) for c, x, _ in listed], [Score(c, y) for c, _, y in listed]
    ends = (0.0, reach / scale)
    return difference({"x": first}, {"x": second}, lambda means: scale * means["x"], items=len(listed), ends=ends)


def at_most(limit: float, found: Estimate | Difference) -> Verdict:
    return "fine" if found.high <= limit else "problem" if found.low > limit else "unclear"


def at_least(limit: float, found: Estimate | Difference) -> Verdict:
    return "fine" if found.low >= limit else "problem" if found.high < limit else "unclear"


def near(middle: float, room: float, found: Estimate | Difference) -> Verdict:
    """Fine if the whole interval is within `room` of `middle`; a problem if the value is farther off and the interval
    excludes `middle`."""
    if abs(found.value - middle) > room and not found.low <= middle <= found.high:
        return "problem"
    return "fine" if middle - room <= found.low and found.high <= middle + room else "unclear"


def improvement(change: Difference, *, higher_is_better: bool) -> Difference:
    """A difference as an improvement: with its sign reversed where lower is better."""
    return change if higher_is_better else replace(change, value=-change.value, low=-change.high, high=-change.low)


def assess_gain(than: str, room: float, gain: Difference, *, higher_is_better: bool = True) -> Assessment:
    """Whether the model is shown to score better than a baseline that does not know the user."""
    gain = improvement(gain, higher_is_better=higher_is_better)
    way = "higher" if higher_is_better else "lower"
    if gain.low > 0:
        return "fine", f"The model scores {way} than {than}."
    small = gain.high <= room
    return "problem" if small else "unclear", f"The model is not shown to score {way} than {than}."


def with_meaning(verdict: Verdict, fine: str, problem: str, *, whether: str) -> Assessment:
    return verdict, Meanings(fine, problem, whether)


def naming_run_judge(judge: str | None, found: Iterable[Finding]) -> list[Finding]:
    """Findings on the run's own verdicts; their names say which judge gave them if it is not the audit's judge."""
    return [replace(one, name=f"{one.name} (by the run's judge, {judge})") if judge else one for one in found]
