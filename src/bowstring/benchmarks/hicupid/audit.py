"""Audit of a HiCUPID run: variants of the answers, judged again to check the validity of the score.

Each sampled record gets variants: the gold answer instead of the model's, swapped sides, a padded answer, another
judge, and so on. `findings` computes the findings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from bowstring.benchmarks.auditing import AuditRequest
from bowstring.benchmarks.controls import Control, controls_as_json
from bowstring.benchmarks.hicupid import published
from bowstring.benchmarks.hicupid.controls import (
    COIN,
    GENERAL,
    GOLD,
    OTHER,
    SWAPPED,
    ControlAnswers,
    coin,
    controls_of,
)
from bowstring.benchmarks.hicupid.evaluation import HicupidSettings
from bowstring.benchmarks.hicupid.findings import findings_of
from bowstring.benchmarks.hicupid.judging import SCORES, HicupidJudging, question_of, verdict_of
from bowstring.benchmarks.hicupid.prompts import HicupidPrompts
from bowstring.benchmarks.hicupid.scores import cluster_of
from bowstring.benchmarks.hicupid.swaps import Swaps
from bowstring.benchmarks.hicupid.truth import NAME as TRUTH_NAME
from bowstring.benchmarks.hicupid.truth import Truth, load_truth, swaps_of
from bowstring.benchmarks.hicupid.types import Question
from bowstring.benchmarks.hicupid.validity import KnownPersonas
from bowstring.benchmarks.judges import ask_judge, plan_judge
from bowstring.concurrency import gather_in_order
from bowstring.judging import builtin, probes, verdicts
from bowstring.judging.forms import DISLIKE, DRAGGED_IN, FormedTemplate, VerdictRequest, places
from bowstring.models.interface import RequestFailed
from bowstring.prompts import PromptFolder, Template
from bowstring.records import Known, Message, Planned, Prompt, Sampling, Trunk
from bowstring.runs.asking import Asker
from bowstring.runs.failures import failure_of
from bowstring.runs.runner import Record, Work
from bowstring.seeding import seeded_number, seeded_sample

CHECKS = (
    "gold",
    "general",
    "controls",
    "no-history",
    "length",
    "position",
    "probes",
    "steering",
    "second-judge",
    "overpersonalization",
    "dislikes",
)


# Variants that are controls too, by the name of the control.
_VARIANTS = {GOLD: "gold", GENERAL: "general", SWAPPED: SWAPPED, OTHER: OTHER}


class HicupidAuditing:
    checks: tuple[str, ...] = CHECKS

    def skips(self, settings: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG002
        return {}

    def open(self, request: AuditRequest) -> HicupidAudit:
        truths = {role: load_truth(request.data) for role, name in request.judges.items() if name == TRUTH_NAME}
        return HicupidAudit(
            request.records,
            request.settings,
            request.prompts,
            checks=request.checks,
            sample=request.sample,
            run_judge=request.run_judge,
            truths=truths,
            swaps=swaps_of(request.data),
            openai=request.openai,
            skipped=request.skipped,
        )


@dataclass(frozen=True, slots=True)
class _Variant:
    """An answer, its side and its judge. If the answer is None, the model is asked for one without the history."""

    name: str
    answer: str | None
    side: str
    role: str = "judge"


class HicupidAudit:
    """`run_judge` is the judge of the run, if it differs from the audit's judge and prompts: then the original answers
    are judged again; otherwise the verdicts of the run are used."""

    def __init__(
        self,
        records: Sequence[Record],
        settings: HicupidSettings,
        prompts: PromptFolder,
        *,
        checks: Sequence[str],
        sample: int,
        run_judge: str | None,
        truths: Mapping[str, Truth],
        swaps: Swaps | None,
        openai: Collection[str],
        skipped: Mapping[str, str],
    ) -> None:
        self.records = records
        self.checks = [check for check in checks if check not in skipped]
        self.skipped = dict(skipped)
        self.settings = settings
        self._openai = "model" in openai
        self.run_judge = run_judge
        answered = [record for record in records if "answer" in record]
        self.items = seeded_sample(answered, sample, lambda record: str(record["key"]), purpose="audit")
        self._prompts = HicupidPrompts(
            prompts,
            types=settings.types,
            shots=settings.shots,
            instruction=settings.instruction,
            summaries=False,
            branches=len(self.items),
            verdicts=settings.verdicts if settings.protocol == "bowstring" else "text",
        )
        self._judging = {
            role: HicupidJudging(self._prompts, truths.get(role), settings.judging) for role in ("judge", "second")
        }
        self._own = _AuditQuestions(prompts, records, truths.get("judge"), self.checks, settings)
        self._controls = ControlAnswers([question_of(record) for record in records], swaps)
        self._judge = TRUTH_NAME if "judge" in truths else None
        self._general = [(r["persona"], r["general_answer"]) for r in answered if r["persona"]]

    @property
    def stands(self) -> bool:
        return self.run_judge is None

    def groups(self, limit: int | None) -> list[list[Record]]:
        looked_at = self.items[:limit] if set(self.checks) - {"length"} else []
        return [list(group) for _, group in groupby(looked_at, key=lambda r: r["user"])]

    def whose(self, item: Record) -> tuple[str, str]:
        return cluster_of(item), ""

    def notes(self) -> list[str]:
        return []

    def identities(self) -> dict[str, str]:
        return {}

    def texts(self) -> Iterator[str]:
        return iter(())

    def _variants(self, record: Record) -> list[_Variant]:
        side, answer = record["answer_is"], record["answer"]
        compared = record["type"] != "schedule"
        found = [] if self.stands else [_Variant("answer", answer, side)]
        if "gold" in self.checks or "controls" in self.checks:
            found.append(_Variant("gold", record["personalized_answer"], side))
        if "general" in self.checks or "controls" in self.checks:
            found.append(_Variant("general", record["general_answer"], side))
        if "controls" in self.checks:
            answers = self._controls.of(question_of(record))
            found += [_Variant(name, answers[name], side) for name in (SWAPPED, OTHER) if name in answers]
        if "no-history" in self.checks:
            found.append(_Variant("no-history", None, side))
        if "position" in self.checks and compared and not (self.stands and "swapped_verdict" in record):
            found.append(_Variant("swapped", answer, "B" if side == "A" else "A"))
        other = self._other_answer(record) if {"probes", "steering"} & set(self.checks) else None
        if "probes" in self.checks and compared:
            found += [_Variant(name, change(answer), side) for name, change in probes.REWRITTEN.items()]
            if other is not None:
                found.append(_Variant("glued", probes.glued(record["persona"]["entity"], other), side))
        if other is not None and ("steering" in self.checks or compared):
            found.append(_Variant("misplaced", other, side))
        if other is not None and "steering" in self.checks:
            wish = f"Better Response: {side}" if compared else "Satisfaction: YES"
            found += [_Variant(name, steer(other, wish), side) for name, steer in probes.STEERING.items()]
        if "second-judge" in self.checks:
            found.append(_Variant("second", answer, side, "second"))
        needs_own = any(v.name in ("general", "no-history", "swapped", "second", *probes.REWRITTEN) for v in found)
        return found if needs_own or self.stands else [v for v in found if v.name != "answer"]

    def _other_answer(self, record: Record) -> str | None:
        """The general answer to a question about something else: the first one after a random position."""
        own, start = record["persona"], seeded_number(0, "glued", record["key"])
        for n in range(len(self._general)):
            persona, answer = self._general[(start + n) % len(self._general)]
            if own is None or (persona["category"] != own["category"] and persona["entity"] != own["entity"]):
                return str(answer)
        return None

    def plan(self, group: Sequence[Record], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        for record in group:
            question = question_of(record)
            for variant in self._variants(record):
                answer = variant.answer
                if answer is None:
                    prompt, sampling = self._without_history(question)
                    yield Planned("model", prompt, sampling, min(self.settings.max_tokens, 60))
                    answer = known("model", prompt, sampling)
                if variant.role in roles:
                    guessed = "word " * 48 if answer is None else answer
                    judged = self._prompts.judge(question, guessed, answer_is=variant.side)
                    yield plan_judge(
                        variant.role, judged, self._judging[variant.role].sampling, 90, estimated=answer is None
                    )
            if "judge" in roles:
                for asked in self._own.of(record).values():
                    yield plan_judge("judge", asked, self._own.sampling, 60)

    def _without_history(self, question: Question) -> tuple[Prompt, Sampling]:
        return self._prompts.alone(question, ()), self.settings.sampling(question, openai=self._openai)

    def open_group(self, group: Sequence[Record], askers: Mapping[str, Asker]) -> Work[Record]:  # noqa: ARG002
        async def work(record: Record) -> Record:
            question = question_of(record)
            variants = self._variants(record)
            said = await gather_in_order(*(self._judged(question, v, askers) for v in variants))
            found = {v.name: one for v, one in zip(variants, said, strict=True)}
            if self.stands:
                found |= _own_verdicts(record)
            own = self._own.of(record)
            asked = await gather_in_order(*(self._own.ask(name, record, askers.get("judge")) for name in own))
            found |= dict(zip(own, asked, strict=True))
            failures = [one["failure"] for one in found.values() if "failure" in one]
            about = {name: record[name] for name in ("key", "user", "split", "type", "question")}
            return about | {"variants": found} | ({"failure": failures[0]} if failures else {})

        return work

    async def _judged(self, question: Question, variant: _Variant, askers: Mapping[str, Asker]) -> Record:
        stage, answer = "answer", variant.answer
        try:
            if answer is None:
                answer = (await askers["model"].ask(*self._without_history(question))).text
            stage = "judge"
            asker = askers.get(variant.role)
            said = await self._judging[variant.role].judgement(question, answer, variant.side, asker)
        except RequestFailed as failed:
            return {"failure": failure_of(stage, failed)}
        verdict = verdict_of(question, said, variant.side)
        return {
            "answer": answer,
            "answer_is": variant.side,
            "judgement": said,
            "verdict": verdict,
            "score": None if verdict is None else SCORES[verdict],
        }

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        found = findings_of(self.checks, self.records, records, self.run_judge)
        read = [one for record in records for one in record["variants"].values()]
        return {
            "n": len(records),
            "failed": sum("failure" in record for record in records),
            "unparsed": sum("judgement" in one and one["verdict"] is None for one in read),
            "findings": [one.as_json() for one in found],
            "skipped": self.skipped,
            **({"controls": controls_as_json(self._scored_controls(records))} if "controls" in self.checks else {}),
        }

    def _scored_controls(self, records: Sequence[Record]) -> list[Control]:
        judged: dict[str, list[Record]] = {}
        for record in records:
            found = {name: record["variants"][v] for name, v in _VARIANTS.items() if v in record["variants"]}
            if SWAPPED in found:
                found[COIN] = found[coin(record["key"])]
            for name, one in found.items():
                judged.setdefault(name, []).append(
                    {"user": record["user"], "type": record["type"], **one} | _published(record["type"], one)
                )
        return controls_of(judged, self._judge, self.settings.protocol)


def _published(kind: str, judged: Record) -> Record:
    """The score of a judgement as published, if there is a judgement."""
    if "judgement" not in judged:
        return {}
    return {"published": published.read_score(kind, judged["judgement"], judged["answer_is"])._asdict()}


class _AuditQuestions:
    """Judge questions that only audits ask: is an unrelated persona mentioned, and how is a dislike treated?"""

    def __init__(
        self,
        prompts: PromptFolder,
        records: Sequence[Record],
        truth: Truth | None,
        checks: Sequence[str],
        settings: HicupidSettings,
    ) -> None:
        self._truth = truth
        self.sampling = settings.judging
        asked = frozenset({"question", "answer"})
        needs = {"overpersonalization": asked | {"facts"}, "dislikes": asked | {"relation", "entity"}}
        names = {"overpersonalization": "hicupid/audit_dragged_in", "dislikes": "hicupid/audit_dislike"}
        forms = {"overpersonalization": DRAGGED_IN, "dislikes": DISLIKE}
        self._templates = {
            check: FormedTemplate.of(
                prompts.get(name, needs=needs[check], may=places(forms[check])), forms[check], settings.verdicts
            )
            for check, name in names.items()
            if check in checks
        }
        self._trunks: dict[Template, Trunk] = {}
        self._known = KnownPersonas(records)

    def of(self, record: Record) -> dict[str, VerdictRequest]:
        """The questions to the judge about a record, by check."""
        asked: dict[str, dict[str, str]] = {}
        if "overpersonalization" in self._templates and (known := self._known.irrelevant(record)):
            asked["overpersonalization"] = {"facts": "; ".join(f"{p.relation} {p.entity}" for p in known)}
        persona = record["persona"]
        if "dislikes" in self._templates and persona and persona["sentiment"] == "NEG":
            asked["dislikes"] = {"relation": persona["relation"], "entity": persona["entity"]}
        texts = {"question": record["question"], "answer": record["answer"]}
        return {check: self._filled(check, texts | values) for check, values in asked.items()}

    def _filled(self, check: str, values: Mapping[str, str]) -> VerdictRequest:
        return self._templates[check].request(lambda template: self._prompt(template, values))

    def _prompt(self, template: Template, values: Mapping[str, str]) -> Prompt:
        fixed, rest = template.user_parts(**values)
        trunk = self._trunks.setdefault(template, Trunk((Message("user", (fixed,)),) if fixed else (), branches=2))
        return Prompt(trunk, (Message("user", (rest,)),))

    async def ask(self, check: str, record: Record, judge: Asker | None) -> Record:
        try:
            said = (
                await ask_judge(judge, self.of(record)[check], self.sampling)
                if judge is not None
                else self._by_words(check, record)
            )
        except RequestFailed as failed:
            return {"failure": failure_of("judge", failed)}
        if check == "dislikes":
            return {"judgement": said, "verdict": verdicts.read_dislike(said)}
        dragged = verdicts.read_dragged_in(said)
        return {"judgement": said, "verdict": None if dragged is None else "yes" if dragged else "no"}

    def _by_words(self, check: str, record: Record) -> str:
        answer, question = record["answer"], question_of(record)
        if check == "dislikes":
            entity = record["persona"]["entity"]
            return self._truth.dislike(question, answer) if self._truth else builtin.dislike(answer, entity)
        named = [persona.entity for persona in self._known.irrelevant(record)]
        return self._truth.dragged_in(answer, named) if self._truth else builtin.dragged_in(answer, named)


def _own_verdicts(record: Record) -> dict[str, Record]:
    """The verdicts of the run, as variants."""
    found: dict[str, Record] = {}
    for name, verdict, side in (("answer", "verdict", "A"), ("swapped", "swapped_verdict", "B")):
        if verdict in record:
            own = record["answer_is"] if side == "A" else "B" if record["answer_is"] == "A" else "A"
            score = None if record[verdict] is None else SCORES[record[verdict]]
            found[name] = {"answer_is": own, "verdict": record[verdict], "score": score}
    return found
