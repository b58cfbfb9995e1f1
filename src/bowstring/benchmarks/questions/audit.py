"""The generic checks of an audit, for questions whose answers are judged right or wrong.

gold          the gold answer in place of the model's: the judge must accept it
no-history    the model without the history: what it can guess
length        whether the right answers are the longer ones
probes        the answer padded, as a list, after a compliment; and an answer to another question
steering      an answer to another question that tells the judge what to say
second-judge  another judge on the same answers
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from bowstring.benchmarks.auditing import AuditRequest
from bowstring.benchmarks.findings import (
    Assessment,
    Finding,
    assess_gain,
    at_least,
    at_most,
    length_finding,
    make_finding,
    naming_run_judge,
    near,
    paired_difference,
    rate_of,
    with_meaning,
)
from bowstring.benchmarks.judges import plan_judge
from bowstring.benchmarks.probe_findings import ProbeFindings
from bowstring.benchmarks.questions.data import Question
from bowstring.benchmarks.questions.evaluation import QuestionSettings, judge_answer, question_of
from bowstring.benchmarks.questions.leading import leading_metric
from bowstring.benchmarks.questions.prompts import QuestionPrompts
from bowstring.concurrency import gather_in_order
from bowstring.history.stages import Shown
from bowstring.judging import probes
from bowstring.labels import NO, YES
from bowstring.metrics.agreement import cohen_kappa, count_by_cluster, with_intervals
from bowstring.metrics.clusters import Score
from bowstring.metrics.comparing import Difference
from bowstring.metrics.correlation import correlation
from bowstring.metrics.intervals import Estimate, estimate
from bowstring.models.interface import RequestFailed
from bowstring.records import Known, Planned, Prompt, Sampling
from bowstring.runs.asking import Asker
from bowstring.runs.failures import failure_of
from bowstring.runs.runner import Record, Work
from bowstring.seeding import seeded_number, seeded_sample

if TYPE_CHECKING:
    from bowstring.benchmarks.questions.benchmark import QuestionBenchmark

CHECKS = ("gold", "no-history", "length", "probes", "steering", "second-judge")
_WISH = "Correct: YES"
_CLEAR = 0.05  # of the range of the main metric; differences up to this are acceptable
_HIGH, _LOW = 0.95, 0.1  # of the way from the worst to the best value: a gold answer, and a wrong one


class QuestionAuditing:
    checks: tuple[str, ...] = CHECKS

    def __init__(self, benchmark: QuestionBenchmark) -> None:
        self._benchmark = benchmark

    def skips(self, settings: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG002
        return {}

    def open(self, request: AuditRequest) -> QuestionAudit:
        return QuestionAudit(self._benchmark, request)


class QuestionAudit:
    """Makes variants of the answer of each sampled record and has each of them judged."""

    def __init__(self, benchmark: QuestionBenchmark, request: AuditRequest) -> None:
        self.run_judge = request.run_judge
        self._cluster, self._cluster_of = benchmark.cluster, benchmark.cluster_of
        self._finding = partial(make_finding, cluster=benchmark.cluster)
        self._metric = leading_metric(benchmark.metrics({"settings": request.settings.configuration()}))
        self._scored = partial(self._finding, places=self._metric.places)  # a number in the main metric
        self._clear = _CLEAR * self._metric.span
        self._records, self._settings = request.records, request.settings
        self._skipped = dict(request.skipped)
        self._checks = [check for check in request.checks if check not in request.skipped]
        self._by_key = {record["key"]: record for record in request.records}
        self._answered = [record for record in request.records if "answer" in record]
        self._items = seeded_sample(self._answered, request.sample, lambda r: str(r["key"]), purpose="audit")
        self._prompts = QuestionPrompts(
            request.prompts, benchmark.name, summaries=False, verdicts=self._settings.verdicts
        )

    def groups(self, limit: int | None) -> list[list[Record]]:
        asked = self._items[:limit] if set(self._checks) - {"length"} else []
        return [list(group) for _, group in groupby(asked, key=self._cluster_of)]

    def whose(self, item: Record) -> tuple[str, str]:
        return self._cluster_of(item), ""

    def notes(self) -> list[str]:
        return []

    def identities(self) -> dict[str, str]:
        return {}

    def texts(self) -> Iterator[str]:
        return iter(())

    def _variants(self, record: Record) -> dict[str, str]:
        """Texts to judge in place of the answer, by name."""
        answer, other = record["answer"], self._other_answer(record)
        found = {} if self.run_judge is None else {"answer": answer}
        if "gold" in self._checks:
            found["gold"] = record["gold"]
        if "probes" in self._checks:
            found |= {name: change(answer) for name, change in probes.REWRITTEN.items()}
            found |= {"glued": probes.glued(record["question"], other)} if other is not None else {}
        if other is not None and {"probes", "steering"} & set(self._checks):
            found["misplaced"] = other
        if other is not None and "steering" in self._checks:
            found |= {name: steer(other, _WISH) for name, steer in probes.STEERING.items()}
        return found

    def _other_answer(self, record: Record) -> str | None:
        """The gold answer to another user's question: the first one after a random position."""
        start = seeded_number(0, "misplaced", record["key"])
        for n in range(len(self._answered)):
            other = self._answered[(start + n) % len(self._answered)]
            if self._cluster_of(other) != self._cluster_of(record) and other["gold"] != record["gold"]:
                return str(other["gold"])
        return None

    def _without_history(self, question: Question) -> tuple[Prompt, Sampling]:
        settings: QuestionSettings = self._settings
        return self._prompts.alone(question, Shown()), settings.sampling(question.key)

    def plan(self, group: Sequence[Record], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        judging = self._settings.judging
        for record in group:
            question = question_of(record)
            if "no-history" in self._checks:
                prompt, sampling = self._without_history(question)
                yield Planned("model", prompt, sampling, 80)
                answer = known("model", prompt, sampling)
                if "judge" in roles:
                    guessed = self._prompts.judge(question, "word " * 60 if answer is None else answer)
                    yield plan_judge("judge", guessed, judging, 60, estimated=answer is None)
            texts = self._variants(record).values() if "judge" in roles else ()
            yield from (plan_judge("judge", self._prompts.judge(question, text), judging, 60) for text in texts)
            if "second" in roles:
                yield plan_judge("second", self._prompts.judge(question, record["answer"]), judging, 60)

    def open_group(self, group: Sequence[Record], askers: Mapping[str, Asker]) -> Work[Record]:  # noqa: ARG002
        async def work(record: Record) -> Record:
            question = question_of(record)
            texts: dict[str, str | None] = dict(self._variants(record))
            if "no-history" in self._checks:
                texts["no-history"] = None
            asked = {name: self._judged(question, text, askers, "judge") for name, text in texts.items()}
            if "second-judge" in self._checks:
                asked["second"] = self._judged(question, record["answer"], askers, "second")
            found = dict(zip(asked, await gather_in_order(*asked.values()), strict=True))
            if self.run_judge is None:
                found["answer"] = {"judgement": record.get("judgement", ""), "score": record.get("score")}
            failures = [one["failure"] for one in found.values() if "failure" in one]
            facts = {name: record[name] for name in ("key", "user", "type", "question")}
            return facts | {"variants": found} | ({"failure": failures[0]} if failures else {})

        return work

    async def _judged(self, question: Question, text: str | None, askers: Mapping[str, Asker], role: str) -> Record:
        """Judge a text in place of the answer; None asks the model for one without the history."""
        stage = "answer"
        try:
            if text is None:
                text = (await askers["model"].ask(*self._without_history(question))).text
            stage = "judge"
            judge, judging = askers.get(role), self._settings.judging
            judgement, score = await judge_answer(self._prompts, question, text, judge, judging)
        except RequestFailed as failed:
            return {"failure": failure_of(stage, failed)}
        return {"answer": text, "judgement": judgement, "score": score}

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        variants = [one for record in records for one in record["variants"].values()]
        return {
            "n": len(records),
            "failed": sum("failure" in record for record in records),
            "unparsed": sum("judgement" in one and one["score"] is None for one in variants),
            "findings": [one.as_json() for one in self._findings(records)],
            "skipped": self._skipped,
        }

    def _findings(self, audited: Sequence[Record]) -> Iterator[Finding]:
        makers: dict[str, Callable[[], Iterable[Finding]]] = {
            "gold": partial(self._gold, audited),
            "no-history": partial(self._no_history, audited),
            "length": lambda: naming_run_judge(self.run_judge, self._length()),
            "probes": self._probed(audited).formatting,
            "steering": self._probed(audited).steering,
            "second-judge": partial(self._second_judge, audited),
        }
        for check in self._checks:
            yield from makers[check]()

    def _value(self, audited: Record, name: str) -> float | None:
        """The main metric of a variant: what the record would count if its answer had been this one."""
        variant = audited["variants"].get(name, {})
        if variant.get("score") is None:
            return None
        verdict = YES if variant["score"] else NO
        return self._metric.of(self._by_key[audited["key"]] | variant | {"verdict": verdict})

    def _of(self, audited: Sequence[Record], name: str) -> tuple[list[Score], int]:
        """The values of a variant, and how many failed or were unparsed."""
        there = [(self._cluster_of(r), self._value(r, name)) for r in audited if name in r["variants"]]
        found = [Score(cluster, value) for cluster, value in there if value is not None]
        return found, len(there) - len(found)

    def _both(self, audited: Sequence[Record], name: str, than: str) -> tuple[list[tuple[str, float, float]], int]:
        """Paired values of variant `than` and variant `name`, and how many pairs lack one."""
        there = [r for r in audited if name in r["variants"]]
        rows = [(self._cluster_of(r), self._value(r, than), self._value(r, name)) for r in there]
        found = [(c, first, second) for c, first, second in rows if first is not None and second is not None]
        return found, len(rows) - len(found)

    def _mean(self, values: Sequence[Score]) -> Estimate | None:
        return estimate({"x": values}, lambda means: means["x"], ends=self._metric.measure.scale.limits)

    def _difference(self, rows: Iterable[tuple[str, float, float]]) -> Difference | None:
        return paired_difference(rows, 1, self._metric.span)

    def _gold(self, audited: Sequence[Record]) -> Iterator[Finding]:
        values, lost = self._of(audited, "gold")
        metric, limit = self._metric, self._metric.level(_HIGH)
        yield self._scored(
            "gold",
            f"gold answer in place of the model's, {metric.unit}",
            self._mean(values),
            f"{limit:g} or {'more' if metric.higher_is_better else 'less'}",
            lambda e: with_meaning(
                (at_least if metric.higher_is_better else at_most)(limit, e, ideal=metric.level(1)),
                "The judge accepts correct answers.",
                f"The judge rejects gold answers: no model can reach {metric.level(1):g}.",
                whether="the judge accepts correct answers",
            ),
            left_out=lost,
        )

    def _no_history(self, audited: Sequence[Record]) -> Iterator[Finding]:
        values, lost = self._of(audited, "no-history")
        metric = self._metric
        yield self._scored(
            "no-history",
            f"model without the history, {metric.unit}",
            self._mean(values),
            "low" if metric.higher_is_better else "high",
            lambda e: "A model that knows nothing about the user scores this much; treat it as the floor.",
            left_out=lost,
        )
        rows, lost = self._both(audited, "no-history", "answer")
        gain = self._difference((c, without, own) for c, own, without in rows)
        than = "itself without the history"
        assess = partial(assess_gain, than, self._clear, higher_is_better=metric.higher_is_better)
        expected = f"{'above' if metric.higher_is_better else 'below'} 0"
        name = f"model − {than} (difference, {metric.unit})"
        yield self._scored("no-history", name, gain, expected, assess, left_out=lost)

    def _length(self) -> Iterator[Finding]:
        rows = [
            (self._cluster_of(r), float(len(r["answer"].split())), r["score"])
            for r in self._answered
            if r.get("score") is not None
        ]
        lengths, meaning = [Score(c, n) for c, n, _ in rows], "The mean over all scored answers."
        yield length_finding("length", "words per answer", lengths, meaning, cluster=self._cluster)
        found = correlation(rows)
        if found is not None:
            yield self._finding(
                "length",
                "correlation of length and correctness (−1 to 1)",
                found,
                "−0.3 to +0.3",
                lambda e: with_meaning(
                    near(0, 0.3, e),
                    "Length does not matter much.",
                    f"{'Longer' if e.value > 0 else 'Shorter'} answers are more often judged correct.",
                    whether="length matters",
                ),
                places=2,
            )

    def _probed(self, audited: Sequence[Record]) -> ProbeFindings:
        return ProbeFindings(
            what="answer",
            unit=self._metric.unit,
            both=partial(self._both, audited),
            alone=partial(self._of, audited),
            mean=self._mean,
            scale=1,
            reach=self._metric.span,
            clear=self._clear,
            low=self._metric.level(_LOW),
            middle=self._metric.level(0.5),
            lowest=self._metric.level(0),
            cluster=self._cluster,
            places=self._metric.places,
            higher_is_better=self._metric.higher_is_better,
        )

    def _second_judge(self, audited: Sequence[Record]) -> Iterator[Finding]:
        there = [(self._cluster_of(r), r["variants"]) for r in audited if "second" in r["variants"]]
        verdicts = [(c, v.get("answer", {}).get("score"), v["second"].get("score")) for c, v in there]
        rows = [(c, a, b) for c, a, b in verdicts if a is not None and b is not None]
        lost = len(there) - len(rows)
        same = rate_of([Score(c, float(a == b)) for c, a, b in rows])
        add = partial(self._finding, "second-judge", left_out=lost)
        yield add("% of answers with the same verdict", same, "", lambda e: "Two judges on the same answers.")
        if not rows:
            return
        counts = count_by_cluster([a for _, a, _ in rows], [b for _, _, b in rows], [c for c, _, _ in rows], (0.0, 1.0))
        kappa = with_intervals(counts, {"kappa": cohen_kappa})["kappa"]
        if kappa is not None:
            yield add("Cohen's kappa (−1 to 1)", kappa, "0.6 or more", _assess_agreement, places=2)
        stricter = self._difference(self._both(audited, "second", "answer")[0])
        yield add(
            f"second judge − first judge (difference, {self._metric.unit})",
            stricter,
            f"−{self._clear:g} to +{self._clear:g}",
            lambda d: with_meaning(
                near(0, self._clear, d),
                "Neither judge is much stricter.",
                "One judge is stricter.",
                whether="one judge is stricter",
            ),
            places=self._metric.places,
        )


def _assess_agreement(kappa: Estimate) -> Assessment:
    return with_meaning(
        at_least(0.6, kappa, ideal=1), "The judges agree.", "The judges do not agree well.", whether="the judges agree"
    )
