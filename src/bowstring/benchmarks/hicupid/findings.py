"""Findings of an audit of a HiCUPID run: the numbers of each check, their expected ranges and their meanings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bowstring.benchmarks.findings import (
    Assessment,
    Finding,
    Verdict,
    assess_gain,
    at_least,
    at_most,
    make_finding,
    naming_run_judge,
    near,
    paired_difference,
    rate_of,
    with_meaning,
)
from bowstring.benchmarks.hicupid.controls import OTHER, SWAPPED
from bowstring.benchmarks.hicupid.scores import cluster_of
from bowstring.benchmarks.hicupid.validity import compared_lengths
from bowstring.benchmarks.probe_findings import ProbeFindings
from bowstring.judging.verdicts import TREATMENTS
from bowstring.labels import COMPARED, TIE, WIN, YES_OR_NO
from bowstring.metrics.agreement import cohen_kappa, count_by_cluster, with_intervals
from bowstring.metrics.clusters import Score
from bowstring.metrics.correlation import rank_correlation
from bowstring.metrics.intervals import Estimate
from bowstring.metrics.length_control import length_controlled
from bowstring.runs.runner import Record

_CLEAR = 5.0  # points of score; differences up to this are acceptable
_KINDS = {"compared": ("persona", "profile"), "satisfied": ("schedule",)}
_LABELS = (*COMPARED, *YES_OR_NO)


def findings_of(
    checks: Sequence[str], whole: Sequence[Record], audited: Sequence[Record], run_judge: str | None = None
) -> list[Finding]:
    """`whole` are the run's records, `audited` the sampled records with their variants; `run_judge` is the run's judge
    if it is not the audit's."""
    makers: dict[str, Callable[[], Iterable[Finding]]] = {
        "gold": lambda: _baseline("gold", audited),
        "general": lambda: [*_baseline("general", audited), *_gain("general", audited)],
        "controls": lambda: [one for name in (SWAPPED, OTHER) for one in _baseline("controls", audited, name)],
        "no-history": lambda: [*_baseline("no-history", audited), *_gain("no-history", audited)],
        "length": lambda: naming_run_judge(run_judge, _length(whole)),
        "position": lambda: _position(audited),
        "probes": _probed(audited).formatting,
        "steering": _probed(audited).steering,
        "second-judge": lambda: _second_judge(audited),
        "overpersonalization": lambda: _overpersonalization(audited),
        "dislikes": lambda: _dislikes(audited),
    }
    return [one for check in checks for one in makers[check]()]


def _of(audited: Sequence[Record], name: str, kinds: Sequence[str] = ()) -> tuple[list[tuple[Record, Any]], int]:
    """Records with the judged variant of this name, and how many variants failed or were unparsed."""
    there = [(r, r["variants"][name]) for r in audited if name in r["variants"] and (not kinds or r["type"] in kinds)]
    read = [(r, v) for r, v in there if v.get("verdict") is not None]
    return read, len(there) - len(read)


def _both(audited: Sequence[Record], name: str, than: str = "answer") -> tuple[list[tuple[str, float, float]], int]:
    """Paired scores of variant `than` and variant `name`, and how many pairs lack a score."""
    variants, lost = _of(audited, name)
    rows = [(cluster_of(r), r["variants"].get(than, {}).get("score"), v["score"]) for r, v in variants]
    found = [row for row in rows if row[1] is not None]
    return found, lost + len(rows) - len(found)


_BASELINES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("gold", "compared"): ("gold answer against itself, score 0–100", "45 to 55 (the two are equal)"),
    ("gold", "satisfied"): ("gold answer, % of schedule questions satisfied", "95 or more (it notices every conflict)"),
    ("general", "compared"): (
        "general answer, score 0–100 (50 = as good as gold)",
        "25 or less (it is not personalized)",
    ),
    ("general", "satisfied"): (
        "general answer, % of schedule questions satisfied",
        "10 or less (it ignores the calendar)",
    ),
    (SWAPPED, "compared"): (
        "gold answer with the opposite stance, score 0–100 (50 = as good as gold)",
        "25 or less (it is for what the user dislikes, or against what the user likes)",
    ),
    (SWAPPED, "satisfied"): (
        "opposite of the gold answer, % of schedule questions satisfied",
        "10 or less (it books over the clash, or declines a free time)",
    ),
    (OTHER, "compared"): (
        "gold answer of another user, score 0–100 (50 = as good as gold)",
        "25 or less (it is for somebody else)",
    ),
    (OTHER, "satisfied"): (
        "gold answer of another user, % of schedule questions satisfied",
        "10 or less (it names another appointment)",
    ),
    ("no-history", "compared"): (
        "model without the history, score 0–100 (50 = as good as gold)",
        "25 or less (it knows nothing about the user)",
    ),
    ("no-history", "satisfied"): (
        "model without the history, % of schedule questions satisfied",
        "10 or less (it does not know the calendar)",
    ),
}


def _baseline(check: str, audited: Sequence[Record], variant: str = "") -> Iterator[Finding]:
    """The score of a variant, by default that with the name of the check."""
    of = variant or check
    for kind, types in _KINDS.items():
        found, lost = _of(audited, of, types)
        if not found and not lost:
            continue
        name, expected = _BASELINES[of, kind]
        scores = rate_of([Score(cluster_of(r), v["score"]) for r, v in found])
        yield make_finding(check, name, scores, expected, partial(_assess_baseline, of, kind), left_out=lost)


def _assess_baseline(check: str, kind: str, e: Estimate) -> Assessment:
    if check == "gold" and kind == "compared":
        return with_meaning(
            near(50, _CLEAR, e),
            "The judge treats two equal answers as equal.",
            "The judge prefers one of two equal answers: see the position check and the judge's prompt.",
            whether="the judge treats two equal answers as equal",
        )
    if check == "gold":
        return with_meaning(
            at_least(95, e),
            "The judge accepts correct answers.",
            "The judge or the gold answers miss conflicts.",
            whether="the judge accepts correct answers",
        )
    if check in (SWAPPED, OTHER):
        return with_meaning(
            at_most(25 if kind == "compared" else 10, e),
            "The judge sees that it is wrong for this user.",
            "An answer that is wrong for this user scores this much; treat it as the floor.",
            whether="the judge sees that it is wrong for this user",
        )
    if kind == "compared":
        return with_meaning(
            at_most(25, e),
            "The judge distinguishes it from a personalized answer.",
            "A model that knows nothing about the user scores this much; treat it as the floor.",
            whether="the judge distinguishes it from a personalized answer",
        )
    return with_meaning(
        at_most(10, e),
        "The judge is not satisfied by guesses.",
        "The judge is satisfied without a calendar: its prompt or the questions reveal the conflict.",
        whether="the judge is satisfied by guesses",
    )


def _gain(check: str, audited: Sequence[Record]) -> Iterator[Finding]:
    rows, lost = _both(audited, check)
    if rows or lost:
        than = "the general answers" if check == "general" else "itself without the history"
        found = paired_difference((c, variant, own) for c, own, variant in rows)
        title = f"model − {than} (difference, score 0–100)"
        yield make_finding(check, title, found, "above 0", partial(assess_gain, than, _CLEAR), left_out=lost)


def _length(whole: Sequence[Record]) -> Iterator[Finding]:
    compared = compared_lengths(whole, cluster_of)
    clusters = [c.cluster for c in compared]
    taken = [Score(c.cluster, 1.0 if c.longer > 0 else 0.0 if c.longer < 0 else 0.5) for c in compared]
    raw = rate_of([Score(c.cluster, c.outcome) for c in compared])
    yield make_finding(
        "length",
        "score 0–100 if the longer answer always won",
        rate_of(taken),
        "",
        lambda e: f"For comparison: the judge's score is {raw.value:.1f}." if raw else "",
    )
    found = length_controlled(compared)
    if found is None:
        return
    spread = found.spread
    if found.slope is not None:
        yield make_finding(
            "length",
            f"change in log odds of winning from equal length to {spread:.0f} extra words (one standard deviation)",
            found.slope,
            "about 0",
            lambda e: (
                (
                    "problem",
                    "Longer answers win more often: they may be better, or the judge prefers length (see the probes).",
                )
                if e.low > 0
                else "Longer answers win less often."
                if e.high < 0
                else "Length makes no clear difference."
            ),
            places=2,
        )
    name, expected = "length-controlled score 0–100", f"within {_CLEAR:g} of the score"
    if found.rate is None:
        n, owners = len(compared), len(set(clusters))
        yield Finding("length", name, None, None, None, n, owners, False, expected, "unclear", str(found.why))
        return

    def assess(e: Estimate) -> Assessment:
        away = e.value - raw.value if raw else 0.0
        clear = found.slope is not None and (found.slope.low > 0 or found.slope.high < 0)
        edge = "; almost no pair has that order of lengths, so this is extrapolated" if found.edge else ""
        if abs(away) > _CLEAR and clear:
            return "problem", f"{away:+.1f} from the score: part of the score depends on length{edge}."
        unclear = ", but length makes no clear difference" if abs(away) > _CLEAR else ""
        verdict: Verdict = "problem" if found.edge else "unclear" if unclear else "fine"
        return verdict, f"{away:+.1f} from the score{unclear}{edge}" + (f" ({found.why})." if found.why else ".")

    yield make_finding("length", name, found.rate, expected, assess)


def _position(audited: Sequence[Record]) -> Iterator[Finding]:
    swapped, lost = _of(audited, "swapped")
    pairs = [(r, r["variants"].get("answer", {}), v) for r, v in swapped]
    both = [(r, own, v) for r, own, v in pairs if own.get("verdict") is not None]
    lost += len(pairs) - len(both)
    if not both and not lost:
        return
    flips = rate_of([Score(cluster_of(r), float(own["verdict"] != v["verdict"])) for r, own, v in both])
    yield make_finding(
        "position",
        "% of verdicts that change when the two sides are swapped",
        flips,
        "20 or less",
        lambda e: with_meaning(
            at_most(20, e),
            "The verdict rarely depends on the side.",
            "The verdict depends too much on the side: use --both-orders.",
            whether="the verdict depends too much on the side",
        ),
        left_out=lost,
    )
    sides = [
        Score(cluster_of(r), float((one["verdict"] == WIN) == (one["answer_is"] == "A")))
        for r, own, v in both
        for one in (own, v)
        if one["verdict"] != TIE
    ]
    if sides:
        yield make_finding(
            "position",
            "% of verdicts for side A, over both orders",
            rate_of(sides),
            "45 to 55",
            lambda e: with_meaning(
                near(50, _CLEAR, e),
                "The judge does not prefer a side much.",
                f"The judge prefers side {'A' if e.value > 50 else 'B'}.",
                whether="the judge prefers a side",
            ),
            left_out=lost,
        )


def _probed(audited: Sequence[Record]) -> ProbeFindings:
    def alone(name: str) -> tuple[list[Score], int]:
        found, lost = _of(audited, name)
        return [Score(cluster_of(r), v["score"]) for r, v in found], lost

    return ProbeFindings(
        what="answer",
        unit="score 0–100",
        both=partial(_both, audited),
        alone=alone,
        mean=rate_of,
        scale=100,
        reach=100,
        clear=_CLEAR,
        low=10,
        middle=50,
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
    add = partial(make_finding, "second-judge", left_out=lost)
    of = "comparisons" if kind == "compared" else "schedule questions"
    same = rate_of([Score(c, float(own["verdict"] == v["verdict"])) for c, own, v in both])
    yield add(f"% of {of} with the same verdict", same, "", lambda e: "Two judges on the same answers.")
    if not both:
        return
    first, second = [own["verdict"] for _, own, _ in both], [v["verdict"] for _, _, v in both]
    labels = [label for label in _LABELS if label in {*first, *second}]
    clusters = [c for c, _, _ in both]
    kappa = with_intervals(count_by_cluster(first, second, clusters, labels), {"kappa": cohen_kappa})["kappa"]
    if kappa is not None:
        yield add(
            f"Cohen's kappa on {of} (−1 to 1)",
            kappa,
            "0.6 or more (a published proxy reaches 0.70 to 0.75 with GPT-4o)",
            lambda e: with_meaning(
                at_least(0.6, e, ideal=1),
                "The judges agree.",
                "The judges do not agree well.",
                whether="the judges agree",
            ),
            places=2,
        )
    rows = [(c, own["score"], v["score"]) for c, own, v in both]
    ranks = rank_correlation(rows)
    if ranks is not None and kind == "compared":
        yield add(
            f"rank correlation of scores on {of} (−1 to 1)",
            ranks,
            "0.6 or more",
            lambda e: with_meaning(
                at_least(0.6, e, ideal=1),
                "The judges rank answers alike.",
                "The judges rank answers differently.",
                whether="the judges rank answers alike",
            ),
            places=2,
        )
    yield add(
        f"second judge − first judge on {of} (difference, score 0–100)",
        paired_difference(rows),
        "−5 to +5; a shift that is equal for all models does not change their order",
        lambda d: with_meaning(
            near(0, _CLEAR, d),
            "Neither judge is much stricter.",
            "One judge is stricter.",
            whether="one judge is stricter",
        ),
    )


def _overpersonalization(audited: Sequence[Record]) -> Iterator[Finding]:
    names = {
        "schedule": "% of schedule answers that bring up a persona",
        "persona": "% of persona answers that bring up another persona",
    }
    for kind, name in names.items():
        found, lost = _of(audited, "overpersonalization", (kind,))
        if found or lost:
            yield make_finding(
                "overpersonalization",
                name,
                rate_of([Score(cluster_of(r), float(v["verdict"] == "yes")) for r, v in found]),
                "10 or less",
                lambda e: with_meaning(
                    at_most(10, e),
                    "The model mostly stays on the subject of the question.",
                    "The model brings up facts that are irrelevant to the question.",
                    whether="the model stays on the subject of the question",
                ),
                left_out=lost,
            )


_TREATED = {
    "respected": "Respected: the answer avoids what the user dislikes and says so.",
    "mentioned": "Mentioned: the answer mentions it, but neither avoids nor recommends it.",
    "omitted": "Omitted: the answer does not mention it; whether the model knew about it is unknown.",
    "violated": "Violated: the answer recommends it or treats it as liked.",
}


def _dislikes(audited: Sequence[Record]) -> Iterator[Finding]:
    found, lost = _of(audited, "dislikes")
    if not found and not lost:
        return
    for treatment in TREATMENTS:
        rate = rate_of([Score(cluster_of(r), float(v["verdict"] == treatment)) for r, v in found])
        expected = {"respected": "high", "violated": "10 or less"}.get(treatment, "")

        def assess(e: Estimate, treatment: str = treatment) -> Assessment | str:
            what = _TREATED[treatment]
            return (at_most(10, e), what) if treatment == "violated" else what

        yield make_finding("dislikes", f"% of dislikes {treatment}", rate, expected, assess, left_out=lost)
