"""Findings of an audit: a number with its interval, the expected range, a verdict and what it means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

from bowstring.benchmarks.interface import Noun
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import Difference, difference
from bowstring.metrics.intervals import Estimate, estimate, mean_without_ends

# fine: the whole interval is in the expected range; problem: the number is outside it; unclear: the data cannot tell;
# info: a number without an expected range.
Verdict = Literal["fine", "unclear", "problem", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of a check. `value` is None if the number is undefined, `low` and `high` if it has no interval;
    `left_out` counts failed and unparsed items.

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
    needed: int | None = None  # clusters for an interval that is narrow enough for a verdict, if it is unclear

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Meanings:
    """What a finding means if it is fine, and if it is a problem; if it is unclear, nobody knows `whether`."""

    fine: str
    problem: str
    whether: str  # such as: the judges agree


class Decision(NamedTuple):
    """A verdict against a margin: the distance from the ideal value to the nearest limit of the expected range."""

    verdict: Verdict
    margin: float


Assessment = tuple[Verdict | Decision, str | Meanings]
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
    decided, meaning = assessed if isinstance(assessed, tuple) else ("info", assessed)
    verdict, margin = decided if isinstance(decided, Decision) else (decided, None)
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
    needed = clusters_to_decide(found, margin) if verdict == "unclear" and margin else None
    return Finding(check, name, *numbers, expected, verdict, meaning, left_out, places, needed)


def clusters_to_decide(found: Estimate | Difference, margin: float) -> int:
    """How many clusters make the interval as wide as the margin, so that a value up to half the margin from the ideal
    is shown to be fine. It depends on the width of the interval, not on where it lies."""
    return max(_FEW, math.ceil(found.clusters * ((found.high - found.low) / margin) ** 2))


def unclear_note(findings: Sequence[Mapping[str, Any]], cluster: Noun) -> str:
    """How many findings are unclear, and how many users would decide them; empty if none is unclear."""
    unclear = [one for one in findings if one["verdict"] == "unclear"]
    if not unclear:
        return ""
    are = f"{len(unclear)} of {len(findings)} findings {'is' if len(unclear) == 1 else 'are'} unclear"
    needed = sorted(one["needed"] for one in unclear if one.get("needed"))
    if not needed:
        return f"{are}: the intervals are too wide."
    there = max(one["clusters"] for one in unclear)
    have = f"{there} {cluster.one if there == 1 else cluster.many}"
    half, most = (_round_up(n) for n in (needed[(len(needed) - 1) // 2], needed[-1]))
    for_all = f"about {most:,}" if half == most else f"about {half:,} for half of them, {most:,} for all"
    return f"{are}: {have} give intervals wider than the margins. {cluster.many.capitalize()} needed: {for_all}."


def _round_up(n: int) -> int:
    """Two significant digits: more would be false precision."""
    unit: int = 10 ** max(0, len(str(n)) - 2)
    return math.ceil(n / unit) * unit


def _in_words(meaning: Meanings, verdict: Verdict, few: str) -> str:
    if verdict != "unclear":
        return meaning.problem if verdict == "problem" else meaning.fine
    return f"{few[0].upper()}{few[1:]} to tell whether {meaning.whether}."


def mean_of(scores: Sequence[Score], ends: tuple[float, float]) -> Estimate | None:
    """The mean; `ends` are the lowest and highest possible score."""
    return estimate({"x": scores}, lambda means: means["x"], ends=ends)


def length_finding(check: str, name: str, lengths: Sequence[Score], meaning: str, *, cluster: Noun = USER) -> Finding:
    """A finding on the mean of lengths, which have no highest value. It has no interval if nothing is known of how
    much other lengths differ."""
    found = mean_without_ends(lengths)
    if found is not None or not lengths:
        return make_finding(check, name, found, "", lambda e: meaning, cluster=cluster)
    value, clusters = sum(one.value for one in lengths) / len(lengths), len({one.cluster for one in lengths})
    why = "all lengths are equal" if clusters > 1 else f"all are of one {cluster.one}"
    said = f"{meaning} There is no interval, because {why}."
    return Finding(check, name, value, None, None, len(lengths), clusters, False, "", "info", said)


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


def at_most(limit: float, found: Estimate | Difference, *, ideal: float = 0.0) -> Decision:
    """Fine if the whole interval is at or below the limit, a problem if it is above: a test of equivalence."""
    verdict: Verdict = "fine" if found.high <= limit else "problem" if found.low > limit else "unclear"
    return Decision(verdict, limit - ideal)


def at_least(limit: float, found: Estimate | Difference, *, ideal: float = 100.0) -> Decision:
    verdict: Verdict = "fine" if found.low >= limit else "problem" if found.high < limit else "unclear"
    return Decision(verdict, ideal - limit)


def near(middle: float, room: float, found: Estimate | Difference) -> Decision:
    """Fine if the whole interval is within `room` of `middle`; a problem if the value is farther off and the interval
    excludes `middle`."""
    if abs(found.value - middle) > room and not found.low <= middle <= found.high:
        return Decision("problem", room)
    inside = middle - room <= found.low and found.high <= middle + room
    return Decision("fine" if inside else "unclear", room)


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
    decided = Decision("problem" if small else "unclear", room)
    return decided, f"The model is not shown to score {way} than {than}."


def with_meaning(verdict: Decision, fine: str, problem: str, *, whether: str) -> Assessment:
    return verdict, Meanings(fine, problem, whether)


def naming_run_judge(judge: str | None, found: Iterable[Finding]) -> list[Finding]:
    """Findings on the run's own verdicts; their names say which judge gave them if it is not the audit's judge."""
    return [replace(one, name=f"{one.name} (by the run's judge, {judge})") if judge else one for one in found]
