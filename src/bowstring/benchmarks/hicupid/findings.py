"""What an audit of a HiCUPID run comes to: each check's numbers, what they should be, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bowstring.benchmarks.findings import (
    Finding,
    Judged,
    Verdict,
    about,
    at_least,
    at_most,
    better,
    by_the_runs,
    finding,
    paired,
    rate_of,
    said,
)
from bowstring.benchmarks.hicupid.scores import cluster_of
from bowstring.benchmarks.hicupid.validity import compared_lengths
from bowstring.benchmarks.probe_findings import Probed
from bowstring.judging.verdicts import TREATMENTS
from bowstring.metrics.agreement import cohen_kappa, count_by_cluster, with_intervals
from bowstring.metrics.clusters import Score
from bowstring.metrics.correlation import rank_correlation
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.length_control import length_controlled
from bowstring.runs.runner import Record

_CLEAR = 5.0  # points of score that can be lived with
_KINDS = {"compared": ("persona", "profile"), "satisfied": ("schedule",)}
_LABELS = ("win", "tie", "lose", "yes", "no")


def findings_of(
    checks: Sequence[str], whole: Sequence[Record], audited: Sequence[Record], run_judge: str | None = None
) -> list[Finding]:
    """`whole` are the run's records, `audited` those of the sample with their variants; `run_judge` is who judged the
    run, if another than the audit's."""
    made: dict[str, Callable[[], Iterable[Finding]]] = {
        "gold": lambda: _baseline("gold", audited),
        "general": lambda: [*_baseline("general", audited), *_gain("general", audited)],
        "no-history": lambda: [*_baseline("no-history", audited), *_gain("no-history", audited)],
        "length": lambda: by_the_runs(run_judge, _length(whole)),
        "position": lambda: _position(audited),
        "probes": _probed(audited).dress,
        "steering": _probed(audited).steering,
        "second-judge": lambda: _second_judge(audited),
        "overpersonalization": lambda: _dragged_in(audited),
        "dislikes": lambda: _dislikes(audited),
    }
    return [one for check in checks for one in made[check]()]


def _of(audited: Sequence[Record], name: str, kinds: Sequence[str] = ()) -> tuple[list[tuple[Record, Any]], int]:
    """The records whose variant of this name was judged, with it; and how many more failed or could not be read."""
    there = [(r, r["variants"][name]) for r in audited if name in r["variants"] and (not kinds or r["type"] in kinds)]
    read = [(r, v) for r, v in there if v.get("verdict") is not None]
    return read, len(there) - len(read)


def _both(audited: Sequence[Record], name: str, than: str = "answer") -> tuple[list[tuple[str, float, float]], int]:
    """The scores of the answer as it is, or of another variant, and of this one, where both could be read."""
    variants, lost = _of(audited, name)
    rows = [(cluster_of(r), r["variants"].get(than, {}).get("score"), v["score"]) for r, v in variants]
    found = [row for row in rows if row[1] is not None]
    return found, lost + len(rows) - len(found)


_BASELINES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("gold", "compared"): ("the gold answer against itself", "about 50: neither side is better"),
    ("gold", "satisfied"): ("the gold answer, on schedules", "near 100: it notices every conflict"),
    ("general", "compared"): ("the general answer as if a model had given it", "well below 50: a stranger's answer"),
    ("general", "satisfied"): ("the general answer, on schedules", "near 0: it knows no calendar"),
    ("no-history", "compared"): ("the model without the history", "well below 50: it knows nothing of the user"),
    ("no-history", "satisfied"): ("the model without the history, on schedules", "near 0: it knows no calendar"),
}


def _baseline(check: str, audited: Sequence[Record]) -> Iterator[Finding]:
    for kind, types in _KINDS.items():
        found, lost = _of(audited, check, types)
        if not found and not lost:
            continue
        name, should = _BASELINES[check, kind]
        scores = rate_of([Score(cluster_of(r), v["score"]) for r, v in found])
        yield finding(check, name, scores, should, partial(_baseline_says, check, kind), left_out=lost)


def _baseline_says(check: str, kind: str, e: Estimate) -> Judged:
    if check == "gold" and kind == "compared":
        return said(
            about(50, _CLEAR, e),
            "two equal answers are about equal to the judge",
            "the judge prefers one of two equal answers: look at the position check and the judge's words",
        )
    if check == "gold":
        return said(
            at_least(95, e), "the judge accepts what is right", "the judge, or the gold answers, miss conflicts"
        )
    if kind == "compared":
        return said(
            at_most(25, e),
            "the judge tells it from a personalized answer",
            "this much can be had without knowing the user: a score says little below it",
        )
    return said(at_most(10, e), "it cannot be guessed", "satisfied without a calendar: the judge or the questions leak")


def _gain(check: str, audited: Sequence[Record]) -> Iterator[Finding]:
    rows, lost = _both(audited, check)
    if rows or lost:
        than = "a stranger's answers" if check == "general" else "itself without the history"
        found = paired((c, variant, own) for c, own, variant in rows)
        title = f"the model less {than}, over all items alike"
        yield finding(check, title, found, "clearly above 0", partial(better, than, _CLEAR), left_out=lost)


def _length(whole: Sequence[Record]) -> Iterator[Finding]:
    compared = compared_lengths(whole, cluster_of)
    clusters = [c.cluster for c in compared]
    taken = [Score(c.cluster, 1.0 if c.longer > 0 else 0.0 if c.longer < 0 else 0.5) for c in compared]
    raw = rate_of([Score(c.cluster, c.outcome) for c in compared])
    yield finding(
        "length",
        "score if the longer answer always won",
        rate_of(taken),
        "",
        lambda e: f"for comparison: by the judge it is {raw.value:.1f}" if raw else "",
    )
    found = length_controlled(compared)
    if found is None:
        return
    spread = found.spread
    if found.slope is not None:
        yield finding(
            "length",
            f"log odds of winning for {spread:.0f} words more",
            found.slope,
            "about 0",
            lambda e: (
                (
                    "look here",
                    "longer answers win more often: they may be better, or the judge likes length (see the probes)",
                )
                if e.low > 0
                else "longer answers win less often"
                if e.high < 0
                else "length makes no clear difference"
            ),
            places=2,
        )
    name, should = "win score at equal length", "near the score itself"
    if found.rate is None:
        n, owners = len(compared), len(set(clusters))
        yield Finding("length", name, None, None, None, n, owners, False, should, "look here", str(found.why))
        return

    def says(e: Estimate) -> Judged:
        away = e.value - raw.value if raw else 0.0
        clear = found.slope is not None and (found.slope.low > 0 or found.slope.high < 0)
        edge = "; hardly any pair has that order of lengths, so this is extrapolated" if found.edge else ""
        if abs(away) > _CLEAR and clear:
            return "look here", f"{away:+.1f} from the score: part of it goes with length{edge}"
        unclear = ", but length makes no clear difference" if abs(away) > _CLEAR else ""
        verdict: Verdict = "look here" if found.edge else "unclear" if unclear else "fine"
        return verdict, f"{away:+.1f} from the score{unclear}{edge}" + (f" ({found.why})" if found.why else "")

    yield finding("length", name, found.rate, should, says)


def _position(audited: Sequence[Record]) -> Iterator[Finding]:
    swapped, lost = _of(audited, "swapped")
    pairs = [(r, r["variants"].get("answer", {}), v) for r, v in swapped]
    both = [(r, own, v) for r, own, v in pairs if own.get("verdict") is not None]
    lost += len(pairs) - len(both)
    if not both and not lost:
        return
    flips = rate_of([Score(cluster_of(r), float(own["verdict"] != v["verdict"])) for r, own, v in both])
    yield finding(
        "position",
        "verdicts that change when the sides are swapped, %",
        flips,
        "below 20",
        lambda e: said(
            at_most(20, e),
            "the verdict mostly does not depend on the side",
            "which side an answer stands on decides too much: use --both-orders",
        ),
        left_out=lost,
    )
    sides = [
        Score(cluster_of(r), float((one["verdict"] == "win") == (one["answer_is"] == "A")))
        for r, own, v in both
        for one in (own, v)
        if one["verdict"] != "tie"
    ]
    if sides:
        yield finding(
            "position",
            "side A chosen, over both orders, %",
            rate_of(sides),
            "about 50",
            lambda e: (
                about(50, _CLEAR, e),
                "no clear lean to a side"
                if e.low <= 50 <= e.high
                else f"a lean to side {'A' if e.value > 50 else 'B'}",
            ),
            left_out=lost,
        )


def _probed(audited: Sequence[Record]) -> Probed:
    def alone(name: str) -> tuple[list[Score], int]:
        found, lost = _of(audited, name)
        return [Score(cluster_of(r), v["score"]) for r, v in found], lost

    return Probed(
        what="answer",
        both=partial(_both, audited),
        alone=alone,
        mean=rate_of,
        scale=100,
        reach=100,
        clear=_CLEAR,
        low=10,
        should_fail="near 0",
    )


def _second_judge(audited: Sequence[Record]) -> Iterator[Finding]:
    for kind, types in _KINDS.items():
        seconds, lost = _of(audited, "second", types)
        pairs = [(r, r["variants"].get("answer", {}), v) for r, v in seconds]
        both = [(cluster_of(r), own, v) for r, own, v in pairs if own.get("verdict") is not None]
        lost += len(pairs) - len(both)
        if both or lost:
            yield from _two_judges(kind, both, lost)


def _two_judges(kind: str, both: Sequence[tuple[str, Any, Any]], lost: int) -> Iterator[Finding]:
    made = partial(finding, "second-judge", left_out=lost)
    of = "comparisons" if kind == "compared" else "schedules"
    same = rate_of([Score(c, float(own["verdict"] == v["verdict"])) for c, own, v in both])
    yield made(f"same verdict on {of}, %", same, "", lambda e: "of two judges on the same answers")
    if not both:
        return
    first, second = [own["verdict"] for _, own, _ in both], [v["verdict"] for _, _, v in both]
    labels = [label for label in _LABELS if label in {*first, *second}]
    clusters = [c for c, _, _ in both]
    kappa = with_intervals(count_by_cluster(first, second, clusters, labels), {"kappa": cohen_kappa})["kappa"]
    if kappa is not None:
        yield made(
            f"Cohen's kappa on {of}",
            kappa,
            "0.6 or more (a published proxy has 0.70 to 0.75 with GPT-4o)",
            lambda e: said(at_least(0.6, e), "the judges agree", "the judges do not agree"),
            places=2,
        )
    rows = [(c, own["score"], v["score"]) for c, own, v in both]
    ranks = rank_correlation(rows)
    if ranks is not None and kind == "compared":
        yield made(
            f"rank correlation of scores on {of}",
            ranks,
            "0.6 or more",
            lambda e: said(at_least(0.6, e), "they order answers alike", "they do not order answers alike"),
            places=2,
        )
    yield made(
        f"score on {of}, the second judge's less the first's",
        paired(rows),
        "about 0; a shift that is the same for all models keeps their order",
        lambda d: said(about(0, _CLEAR, d), "neither is shown to be stricter", "one judge is stricter"),
    )


def _dragged_in(audited: Sequence[Record]) -> Iterator[Finding]:
    names = {
        "schedule": "schedule answers that drag in a persona, %",
        "persona": "persona answers that drag in another persona, %",
    }
    for kind, name in names.items():
        found, lost = _of(audited, "overpersonalization", (kind,))
        if found or lost:
            yield finding(
                "overpersonalization",
                name,
                rate_of([Score(cluster_of(r), float(v["verdict"] == "yes")) for r, v in found]),
                "near 0",
                lambda e: said(
                    at_most(10, e),
                    "the model mostly keeps to what the question is about",
                    "the model brings up what has no bearing on the question",
                ),
                left_out=lost,
            )


_TREATED = {
    "respected": "steered clear of, and said",
    "mentioned": "brought up, neither avoided nor recommended",
    "omitted": "nothing of it in the answer: known or not, it cannot be told",
    "violated": "recommended, or taken for liked",
}


def _dislikes(audited: Sequence[Record]) -> Iterator[Finding]:
    found, lost = _of(audited, "dislikes")
    if not found and not lost:
        return
    for treatment in TREATMENTS:
        rate = rate_of([Score(cluster_of(r), float(v["verdict"] == treatment)) for r, v in found])
        should = {"respected": "high", "violated": "near 0"}.get(treatment, "")

        def says(e: Estimate, treatment: str = treatment) -> Judged | str:
            what = _TREATED[treatment]
            return (at_most(10, e), what) if treatment == "violated" else what

        yield finding("dislikes", f"dislikes {treatment}, %", rate, should, says, left_out=lost)
