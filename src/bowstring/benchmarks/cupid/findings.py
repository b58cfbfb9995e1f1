"""What an audit of a CUPID run comes to: each check's numbers, what they should be, and what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from bowstring.benchmarks.cupid.scores import cluster_of, measures
from bowstring.benchmarks.cupid.validity import response_lengths
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
    mean_of,
    paired,
    rate_of,
    said,
)
from bowstring.benchmarks.probe_findings import Probed, Rows
from bowstring.metrics.agreement import cohen_kappa, count_by_cluster, with_intervals
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import difference
from bowstring.metrics.correlation import correlation, rank_correlation
from bowstring.runs.runner import Record

_F1 = measures("bowstring")["inference.f1"]
_LABELS = (0.0, 0.5, 1.0)
_CLEAR = 5.0  # points of F1 that can be lived with


def findings_of(
    checks: Sequence[str], whole: Sequence[Record], audited: Sequence[Record], run_judge: str | None = None
) -> list[Finding]:
    """`whole` are the run's records, `audited` those of the sample with their variants; `run_judge` is who judged the
    run, if another than the audit's."""
    by_key = {record["key"]: record for record in whole}
    again = by_key | {record["key"]: _judged_again(by_key[record["key"]], record) for record in audited}
    found: list[Finding] = []
    for check in checks:
        if check in ("gold", "vague"):
            found += _inferred(check, again, audited)
        elif check == "no-history":
            found += _no_history(again, audited)
        elif check == "probes":
            found += _probed(again, audited).dress()
        elif check == "steering":
            found += _probed(again, audited).steering()
        elif check == "length":
            found += by_the_runs(run_judge, _length(whole))
        elif check == "second-judge":
            found += _second_judge(again, audited)
    return found


def _judged_again(record: Record, audited: Record) -> Record:
    """A run's record with what the audit's judge says of it, where that is another judge."""
    for task in ("inference", "generation"):
        if (said := audited["variants"].get(f"again {task}")) is not None:
            record = record | {task: said}
    return record


def _probed(by_key: Mapping[str, Record], audited: Sequence[Record]) -> Probed:
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

    return Probed(
        what="response",
        both=both,
        alone=alone,
        mean=partial(mean_of, scale=1),
        scale=1,
        reach=9,
        clear=0.5,
        low=4,
        should_fail="low: 4 of 10 at most",
    )


def _inferred(check: str, by_key: Mapping[str, Record], audited: Sequence[Record]) -> Iterator[Finding]:
    """F1 of a preference that no model inferred, and how far the model is from it."""
    there = [(r, r["variants"][check]) for r in audited if check in r["variants"]]
    if not there:
        return
    read = [(r, {"inference": v}) for r, v in there if "recall" in v]
    lost = len(there) - len(read)
    f1 = _F1.estimate((cluster_of(r), v) for r, v in read)
    if check == "gold":
        yield finding(
            check,
            "F1 of the gold preference as if a model had inferred it",
            f1,
            "near 100: judge and matcher know it again",
            lambda e: said(
                at_least(90, e),
                "judge and matcher know a right preference again",
                "even the right preference is not matched: the scale ends here, not at 100",
            ),
            left_out=lost,
        )
        return
    yield finding(
        check,
        "F1 of a preference that would please anybody",
        f1,
        "low: below 20",
        lambda e: said(
            at_most(20, e),
            "nothing is to be had for vagueness",
            "vagueness is rewarded: a score says little below this",
        ),
        left_out=lost,
    )
    yield from _gain(check, by_key, read, len(there), "vagueness")


def _gain(
    check: str, by_key: Mapping[str, Record], read: Sequence[tuple[Record, Any]], asked: int, than: str
) -> Iterator[Finding]:
    """How much better the model infers than something that does not know the user."""
    own = [(r, v) for r, v in read if _F1.parts(by_key[r["key"]])]
    first = _F1.scores((cluster_of(r), v) for r, v in own)
    second = _F1.scores((cluster_of(r), by_key[r["key"]]) for r, _ in own)
    found = difference(first, second, _F1.statistic, items=len(own), ends=_F1.ends)
    says = partial(better, than, _CLEAR)
    yield finding(check, "F1 of the model less that", found, "clearly above 0", says, left_out=asked - len(own))


def _no_history(by_key: Mapping[str, Record], audited: Sequence[Record]) -> Iterator[Finding]:
    variants = {
        task: [(r, r["variants"][f"no-history {task}"]) for r in audited if f"no-history {task}" in r["variants"]]
        for task in ("inference", "generation")
    }
    there = variants["inference"]
    if there:
        read = [(r, {"inference": v}) for r, v in there if "recall" in v]
        yield finding(
            "no-history",
            "F1 of the model without the sessions",
            _F1.estimate((cluster_of(r), v) for r, v in read),
            "low: the request does not tell the preference",
            lambda e: "what can be guessed from the request alone",
            left_out=len(there) - len(read),
        )
        yield from _gain("no-history", by_key, read, len(there), "itself without the sessions")
    there = variants["generation"]
    if there:
        scored = [(r, v["score"], by_key[r["key"]]["generation"].get("score")) for r, v in there if "score" in v]
        rows = [(cluster_of(r), x, own) for r, x, own in scored if x is not None and own is not None]
        yield finding(
            "no-history",
            "score of responses less those without the sessions, of 10",
            paired(rows, 1, 9),
            "clearly above 0",
            partial(better, "itself without the sessions", 0.5),
            left_out=len(there) - len(rows),
            places=2,
        )


def _length(whole: Sequence[Record]) -> Iterator[Finding]:
    rows = response_lengths(whole, cluster_of)
    if not rows:
        return
    words = mean_of([Score(c, x) for c, x, _ in rows], 1)
    yield finding("length", "words a response", words, "", lambda e: "over all responses that were scored")
    found = correlation(rows)
    if found is None:
        why = "all scores, or all lengths, are the same: nothing goes with length"
        clusters = len({c for c, _, _ in rows})
        name, should = "correlation of score and length", "about 0"
        yield Finding("length", name, None, None, None, len(rows), clusters, False, should, "told", why)
        return

    def says(e: Any) -> Judged:
        if e.value > 0.3 and e.low > 0:
            return (
                "look here",
                "longer responses score higher: they do more of the checklist, or the judge likes length",
            )
        verdict: Verdict = "unclear" if e.high > 0.3 else "fine"
        return verdict, (
            "longer responses score lower" if e.high < 0 else "length is not shown to go with the score by much"
        )

    yield finding("length", "correlation of score and length", found, "below 0.3", says, places=2)


def _second_judge(by_key: Mapping[str, Record], audited: Sequence[Record]) -> Iterator[Finding]:
    yield from _two_ratings(by_key, audited)
    there = [(r, r["variants"]["second-coverage"]) for r in audited if "second-coverage" in r["variants"]]
    if not there:
        return
    owns = [(r, v, r["variants"].get("again coverage", by_key[r["key"]]["inference"])) for r, v in there]
    read = [(r, v, own) for r, v, own in owns if "recall" in v and "recall" in own]
    made = partial(finding, "second-judge", left_out=len(there) - len(read))
    pairs = [
        (cluster_of(r), a, b)
        for r, v, own in read
        for side in ("precision", "recall")
        for a, b in zip(own[side], v[side], strict=True)
    ]
    same = rate_of([Score(c, float(a == b)) for c, a, b in pairs])
    yield made("same coverage label, %", same, "", lambda e: "of two matchers on the same items")
    if not pairs:
        return
    first, second = [a for _, a, _ in pairs], [b for _, _, b in pairs]
    kappa = with_intervals(count_by_cluster(first, second, [c for c, _, _ in pairs], _LABELS), {"k": cohen_kappa})["k"]
    if kappa is not None:
        yield made(
            "Cohen's kappa of coverage labels",
            kappa,
            "0.6 or more",
            lambda e: said(at_least(0.6, e), "the matchers agree", "the matchers do not agree"),
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
    made = partial(finding, "second-judge", left_out=len(there) - len(rows))
    ranks = rank_correlation(rows)
    if ranks is not None:
        yield made(
            "rank correlation of scores",
            ranks,
            "0.6 or more",
            lambda e: said(at_least(0.6, e), "they order responses alike", "they do not order responses alike"),
            places=2,
        )
    yield made(
        "score by the second judge less the first's, of 10",
        paired(rows, 1, 9),
        "about 0",
        lambda d: said(about(0, 0.5, d), "neither is shown to be stricter", "one judge is stricter"),
        places=2,
    )
