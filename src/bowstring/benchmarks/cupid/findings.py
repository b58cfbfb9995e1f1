"""Findings of an audit of a CUPID run: the numbers of each check, their expected ranges and their meanings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bowstring.benchmarks.cupid.scores import CLUSTER, cluster_of, measures
from bowstring.benchmarks.cupid.validity import response_lengths
from bowstring.benchmarks.findings import (
    Assessment,
    Decision,
    Finding,
    Verdict,
    assess_gain,
    at_least,
    at_most,
    length_finding,
    make_finding,
    mean_of,
    naming_run_judge,
    near,
    paired_difference,
    rate_of,
    with_meaning,
)
from bowstring.benchmarks.probe_findings import ProbeFindings, Rows
from bowstring.metrics.agreement import cohen_kappa, count_by_cluster, with_intervals
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import difference
from bowstring.metrics.correlation import correlation, rank_correlation
from bowstring.runs.runner import Record

_F1 = measures("bowstring")["inference.f1"]
_LABELS = (0.0, 0.5, 1.0)
_finding = partial(make_finding, cluster=CLUSTER)
_CORRELATION = "correlation of score and length (−1 to 1)"
_CLEAR = 5.0  # points of F1; differences up to this are acceptable


def findings_of(
    checks: Sequence[str], whole: Sequence[Record], audited: Sequence[Record], run_judge: str | None = None
) -> list[Finding]:
    """`whole` are the run's records, `audited` the sampled records with their variants; `run_judge` is the run's judge
    if it is not the audit's."""
    by_key = {record["key"]: record for record in whole}
    again = by_key | {record["key"]: _judged_again(by_key[record["key"]], record) for record in audited}
    found: list[Finding] = []
    for check in checks:
        if check in ("gold", "vague"):
            found += _inferred(check, again, audited)
        elif check == "no-history":
            found += _no_history(again, audited)
        elif check == "probes":
            found += _probed(again, audited).formatting()
        elif check == "steering":
            found += _probed(again, audited).steering()
        elif check == "length":
            found += naming_run_judge(run_judge, _length(whole))
        elif check == "second-judge":
            found += _second_judge(again, audited)
    return found


def _judged_again(record: Record, audited: Record) -> Record:
    """A run's record with the verdicts of the audit's judge, if that is another judge."""
    for task in ("inference", "generation"):
        if (judged := audited["variants"].get(f"again {task}")) is not None:
            record = record | {task: judged}
    return record


def _probed(by_key: Mapping[str, Record], audited: Sequence[Record]) -> ProbeFindings:
    def scores(name: str) -> list[tuple[Record, float | None]]:
        if name == "answer":
            return [(r, by_key[r["key"]].get("generation", {}).get("score")) for r in audited]
        there = [(r, r["variants"][f"{name} generation"]) for r in audited if f"{name} generation" in r["variants"]]
        return [(r, v.get("score")) for r, v in there]

    def both(name: str, than: str) -> tuple[Rows, int]:
        before = {r["key"]: x for r, x in scores(than)}
        after = scores(name)
        rows = [(cluster_of(r), x, y) for r, y in after if y is not None and (x := before.get(r["key"])) is not None]
        return rows, len(after) - len(rows)

    def alone(name: str) -> tuple[list[Score], int]:
        there = scores(name)
        found = [Score(cluster_of(r), x) for r, x in there if x is not None]
        return found, len(there) - len(found)

    return ProbeFindings(
        what="response",
        unit="score 1–10",
        both=both,
        alone=alone,
        mean=partial(mean_of, ends=(1.0, 10.0)),
        scale=1,
        reach=9,
        clear=0.5,
        low=4,
        middle=4.5,
        lowest=1,
        cluster=CLUSTER,
        places=2,
    )


def _inferred(check: str, by_key: Mapping[str, Record], audited: Sequence[Record]) -> Iterator[Finding]:
    """F1 of a preference that no model inferred, and the model's difference from it."""
    there = [(r, r["variants"][check]) for r in audited if check in r["variants"]]
    if not there:
        return
    read = [(r, {"inference": v}) for r, v in there if "recall" in v]
    lost = len(there) - len(read)
    f1 = _F1.estimate((cluster_of(r), v) for r, v in read)
    if check == "gold":
        yield _finding(
            check,
            "gold preference in place of an inferred one, F1 0–100",
            f1,
            "90 or more",
            lambda e: with_meaning(
                at_least(90, e),
                "The judge and the matcher recognize the correct preference.",
                "Even the correct preference is not fully matched: treat this value, not 100, as the ceiling.",
                whether="the judge and the matcher recognize the correct preference",
            ),
            left_out=lost,
        )
        return
    yield _finding(
        check,
        "vague preference that fits any user, F1 0–100",
        f1,
        "20 or less",
        lambda e: with_meaning(
            at_most(20, e),
            "A vague preference scores low.",
            "A vague preference scores this much; treat it as the floor.",
            whether="a vague preference scores low",
        ),
        left_out=lost,
    )
    yield from _gain(check, by_key, read, len(there), "a vague preference")


def _gain(
    check: str, by_key: Mapping[str, Record], read: Sequence[tuple[Record, Any]], asked: int, than: str
) -> Iterator[Finding]:
    """The model's F1 − the F1 of a baseline that does not know the user."""
    own = [(r, v) for r, v in read if _F1.parts(by_key[r["key"]])]
    first = _F1.scores((cluster_of(r), v) for r, v in own)
    second = _F1.scores((cluster_of(r), by_key[r["key"]]) for r, _ in own)
    found = difference(first, second, _F1.statistic, items=len(own), ends=_F1.ends)
    name, assess = f"model − {than} (difference, F1 0–100)", partial(assess_gain, than, _CLEAR)
    yield _finding(check, name, found, "above 0", assess, left_out=asked - len(own))


def _no_history(by_key: Mapping[str, Record], audited: Sequence[Record]) -> Iterator[Finding]:
    variants = {
        task: [(r, r["variants"][f"no-history {task}"]) for r in audited if f"no-history {task}" in r["variants"]]
        for task in ("inference", "generation")
    }
    there = variants["inference"]
    if there:
        read = [(r, {"inference": v}) for r, v in there if "recall" in v]
        yield _finding(
            "no-history",
            "model without the sessions, F1 0–100",
            _F1.estimate((cluster_of(r), v) for r, v in read),
            "low (the request does not reveal the preference)",
            lambda e: "A model that knows nothing about the user scores this much; treat it as the floor.",
            left_out=len(there) - len(read),
        )
        yield from _gain("no-history", by_key, read, len(there), "itself without the sessions")
    there = variants["generation"]
    if there:
        scored = [(r, v["score"], by_key[r["key"]]["generation"].get("score")) for r, v in there if "score" in v]
        rows = [(cluster_of(r), x, own) for r, x, own in scored if x is not None and own is not None]
        yield _finding(
            "no-history",
            "model − itself without the sessions (difference, score 1–10)",
            paired_difference(rows, 1, 9),
            "above 0",
            partial(assess_gain, "itself without the sessions", 0.5),
            left_out=len(there) - len(rows),
            places=2,
        )


def _length(whole: Sequence[Record]) -> Iterator[Finding]:
    rows = response_lengths(whole, cluster_of)
    if not rows:
        return
    lengths, meaning = [Score(c, x) for c, x, _ in rows], "The mean over all scored responses."
    yield length_finding("length", "words per response", lengths, meaning, cluster=CLUSTER)
    found = correlation(rows)
    if found is None:
        why = "All scores or all lengths are equal, so there is no correlation."
        clusters = len({c for c, _, _ in rows})
        yield Finding("length", _CORRELATION, None, None, None, len(rows), clusters, False, "0.3 or less", "info", why)
        return

    def assess(e: Any) -> Assessment:
        verdict: Verdict = "problem" if e.value > 0.3 and e.low > 0 else "unclear" if e.high > 0.3 else "fine"
        return with_meaning(
            Decision(verdict, 0.3),
            "Longer responses score lower." if e.high < 0 else "Length does not affect the score much.",
            "Longer responses score higher: they may cover more of the checklist, or the judge prefers length.",
            whether="longer responses score higher",
        )

    yield _finding("length", _CORRELATION, found, "0.3 or less", assess, places=2)


def _second_judge(by_key: Mapping[str, Record], audited: Sequence[Record]) -> Iterator[Finding]:
    yield from _two_ratings(by_key, audited)
    there = [(r, r["variants"]["second-coverage"]) for r in audited if "second-coverage" in r["variants"]]
    if not there:
        return
    owns = [(r, v, r["variants"].get("again coverage", by_key[r["key"]]["inference"])) for r, v in there]
    read = [(r, v, own) for r, v, own in owns if "recall" in v and "recall" in own]
    add = partial(_finding, "second-judge", left_out=len(there) - len(read))
    pairs = [
        (cluster_of(r), a, b)
        for r, v, own in read
        for side in ("precision", "recall")
        for a, b in zip(own[side], v[side], strict=True)
    ]
    same = rate_of([Score(c, float(a == b)) for c, a, b in pairs])
    yield add(
        "% of checklist items with the same coverage label", same, "", lambda e: "Two matchers on the same items."
    )
    if not pairs:
        return
    first, second = [a for _, a, _ in pairs], [b for _, _, b in pairs]
    kappa = with_intervals(count_by_cluster(first, second, [c for c, _, _ in pairs], _LABELS), {"k": cohen_kappa})["k"]
    if kappa is not None:
        yield add(
            "Cohen's kappa of coverage labels (−1 to 1)",
            kappa,
            "0.6 or more",
            lambda e: with_meaning(
                at_least(0.6, e, ideal=1),
                "The matchers agree.",
                "The matchers do not agree well.",
                whether="the matchers agree",
            ),
            places=2,
        )


def _two_ratings(by_key: Mapping[str, Record], audited: Sequence[Record]) -> Iterator[Finding]:
    there = [(r, r["variants"]["second-rate"]) for r in audited if "second-rate" in r["variants"]]
    if not there:
        return
    rows = [
        (cluster_of(r), own, v["score"])
        for r, v in there
        if v.get("score") is not None and (own := by_key[r["key"]]["generation"].get("score")) is not None
    ]
    add = partial(_finding, "second-judge", left_out=len(there) - len(rows))
    ranks = rank_correlation(rows)
    if ranks is not None:
        yield add(
            "rank correlation of scores (−1 to 1)",
            ranks,
            "0.6 or more",
            lambda e: with_meaning(
                at_least(0.6, e, ideal=1),
                "The judges rank responses alike.",
                "The judges rank responses differently.",
                whether="the judges rank responses alike",
            ),
            places=2,
        )
    yield add(
        "second judge − first judge (difference, score 1–10)",
        paired_difference(rows, 1, 9),
        "−0.5 to +0.5",
        lambda d: with_meaning(
            near(0, 0.5, d),
            "Neither judge is much stricter.",
            "One judge is stricter.",
            whether="one judge is stricter",
        ),
        places=2,
    )
