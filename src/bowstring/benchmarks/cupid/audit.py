"""Audit of a CUPID run.

It judges the gold preference and a vague preference in place of the inferred one; responses that are reformatted, that
belong to another request, or that instruct the judge; and the same responses with another judge. It also checks whether
long responses score higher. `findings` computes the findings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bowstring.benchmarks.auditing import AuditRequest
from bowstring.benchmarks.baselines import VAGUE
from bowstring.benchmarks.cupid.evaluation import CupidSettings
from bowstring.benchmarks.cupid.findings import findings_of
from bowstring.benchmarks.cupid.judging import CupidJudging, decomposer_sampling, judge_sampling
from bowstring.benchmarks.cupid.prompts import CupidPrompts
from bowstring.benchmarks.cupid.published_prompts import PublishedPrompts
from bowstring.benchmarks.cupid.scores import cluster_of
from bowstring.benchmarks.cupid.truth import NAME as TRUTH_NAME
from bowstring.benchmarks.cupid.truth import Truth, load_truth
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.judges import known_verdict, plan_judge
from bowstring.concurrency import gather_in_order
from bowstring.judging import probes
from bowstring.judging.sections import read_preference, read_rating
from bowstring.judging.structured import Unreadable
from bowstring.models.interface import RequestFailed
from bowstring.prompts import PromptFolder
from bowstring.records import Known, Planned, Prompt, Sampling
from bowstring.runs.asking import Asker
from bowstring.runs.failures import failure_of
from bowstring.runs.runner import Record, Work
from bowstring.seeding import seeded_number, seeded_sample

CHECKS = ("gold", "vague", "no-history", "length", "probes", "steering", "second-judge")
_WISH = "### Evaluation Score\n10"
_SAID = {"gold": None, "vague": VAGUE}  # None: the gold preference of the instance


class CupidAuditing:
    checks: tuple[str, ...] = CHECKS

    def skips(self, settings: Mapping[str, Any]) -> dict[str, str]:
        return {"no-history": "the gold preference was given to the model"} if settings.get("oracle_preference") else {}

    def open(self, request: AuditRequest) -> CupidAudit:
        return CupidAudit(
            request.records,
            request.settings,
            request.prompts,
            checks=request.checks,
            sample=request.sample,
            run_judge=request.run_judge,
            matchers={"judge": request.matcher, "second": None},
            openai=request.openai,
            skipped=request.skipped,
            truths={role: load_truth(request.data) for role, name in request.judges.items() if name == TRUTH_NAME},
        )


class CupidAudit:
    """`run_judge` is the judge of the run, if it differs from the audit's judge, matcher and prompts: then the run is
    judged again; otherwise its judgements are used."""

    def __init__(
        self,
        records: Sequence[Record],
        settings: CupidSettings,
        prompts: PromptFolder,
        *,
        checks: Sequence[str],
        sample: int,
        run_judge: str | None,
        matchers: Mapping[str, str | None],
        openai: Collection[str],
        skipped: Mapping[str, str],
        truths: Mapping[str, Truth],
    ) -> None:
        self._truths = truths
        self.records = records
        self.settings = settings
        self.checks = [check for check in checks if check not in skipped]
        self.skipped = dict(skipped)
        self.run_judge = run_judge
        self.items = seeded_sample(records, sample, lambda record: str(record["key"]), purpose="audit")
        self._responses = [(r["persona"], r["generation"]["response"]) for r in records if _is_answered(r)]
        of_second = ("judge",) if "second" in openai else ()
        self._prompts = {
            role: PublishedPrompts(prompts, matcher=matcher, openai=openai if role == "judge" else of_second)
            if settings.protocol == "published"
            else CupidPrompts(prompts, oracle=False, matcher=matcher, verdicts=settings.verdicts)
            for role, matcher in matchers.items()
        }

    def groups(self, limit: int | None) -> list[list[Record]]:
        return [[record] for record in self.items[:limit] if self._asked(record)]

    def whose(self, item: Record) -> tuple[str, str]:
        return cluster_of(item), ""

    def notes(self) -> list[str]:
        return []

    def identities(self) -> dict[str, str]:
        return {}

    def texts(self) -> Iterator[str]:
        return iter(())

    def _asked(self, record: Record) -> list[str]:
        """The variants of a record."""
        inference = record.get("inference", {})
        found = [name for name in _SAID if name in self.checks and "inference" in record]
        if "no-history" in self.checks:
            found += [f"no-history {task}" for task in ("inference", "generation") if task in record]
        if _is_answered(record):
            found += [f"{name} generation" for name in self._responses_of(record)]
        if self.run_judge is not None:
            needs = {
                "inference": ("preference" in inference, {"vague", "no-history"}),
                "coverage": ("recall" in inference, {"second-judge"}),
                "generation": (_is_answered(record), {"no-history", "probes", "second-judge"}),
            }
            found += [f"again {task}" for task, (there, by) in needs.items() if there and by & set(self.checks)]
        if "second-judge" in self.checks:
            found += ["second-rate"] if _is_answered(record) else []
            found += ["second-coverage"] if "recall" in inference else []
        return found

    def _responses_of(self, record: Record) -> dict[str, str]:
        """Variants of the response of a record: rewritten, and replaced by another response."""
        own, found = record["generation"]["response"], dict[str, str]()
        other = self._other_response(record) if {"probes", "steering"} & set(self.checks) else None
        if "probes" in self.checks:
            found |= {name: change(own) for name, change in probes.REWRITTEN.items()}
            found |= {"glued": probes.glued(record["preference"], other)} if other is not None else {}
        if other is not None:
            found["misplaced"] = other
        if "steering" in self.checks and other is not None:
            found |= {name: steer(other, _WISH) for name, steer in probes.STEERING.items()}
        return found

    def _other_response(self, record: Record) -> str | None:
        """The response to another persona's request: the first one after a random position."""
        start = seeded_number(0, "glued", record["key"])
        for n in range(len(self._responses)):
            persona, response = self._responses[(start + n) % len(self._responses)]
            if persona != record["persona"]:
                return str(response)
        return None

    def plan(self, group: Sequence[Record], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        judging, listing = (make(self.settings.judge_tokens) for make in (judge_sampling, decomposer_sampling))
        for record in group:
            instance = _instance_of(record)
            for name in self._asked(record):
                role = "second" if name.startswith("second") else "judge"
                if role not in roles:
                    continue
                prompts = self._prompts[role]
                if name.startswith("no-history"):
                    yield from self._plan_without_history(name.partition(" ")[2], instance, roles, known)
                    continue
                if name == "second-rate" or name.endswith(" generation"):
                    response = self._response_of(name, record)
                    yield plan_judge(role, prompts.judge(instance, response), judging, 200)
                    continue
                matcher = "matcher" if role == "judge" and "matcher" in roles else role
                said = self._stated(name, record)
                items, estimated = list(instance.checklist), False
                if name.endswith("coverage"):
                    items = record["inference"]["checklist"]
                else:
                    request = prompts.decompose(said)
                    yield plan_judge(role, request, listing, 80)
                    estimated = known_verdict(role, request, listing, known) is None
                for listed, preference in ((items, instance.preference), (instance.checklist, said)):
                    match = prompts.match(listed, preference)
                    yield plan_judge(matcher, match, judging, 120, estimated=estimated)

    def _response_of(self, name: str, record: Record) -> str:
        """The response of a variant."""
        return str(self._responses_of(record).get(name.partition(" ")[0], record["generation"]["response"]))

    def _stated(self, name: str, record: Record) -> str:
        """The inferred preference of a variant."""
        return str(_SAID[name] or record["preference"] if name in _SAID else record["inference"]["preference"])

    def _plan_without_history(
        self, task: str, instance: Instance, roles: Sequence[str], known: Known
    ) -> Iterator[Planned]:
        prompts, (prompt, sampling) = self._prompts["judge"], self._without_history(task, instance)
        judging = judge_sampling(self.settings.judge_tokens)
        yield Planned("model", prompt, sampling, 300 if task == "inference" else 400)
        answer = known("model", prompt, sampling)
        if task == "generation":
            judged = prompts.judge(instance, "word " * 300 if answer is None else answer)
            yield plan_judge("judge", judged, judging, 200, estimated=answer is None)
            return
        inferred = read_preference(answer) if answer is not None else instance.preference
        if inferred is None:
            return  # unparsed: there is nothing to match
        listing = decomposer_sampling(self.settings.judge_tokens)
        yield plan_judge("judge", prompts.decompose(inferred), listing, 80, estimated=answer is None)
        for listed in (instance.checklist, instance.checklist):
            match = prompts.match(listed, inferred)
            yield plan_judge("matcher" if "matcher" in roles else "judge", match, judging, 120, estimated=True)

    def _without_history(self, task: str, instance: Instance) -> tuple[Prompt, Sampling]:
        """The prompt of `--history none`."""
        prompts = self._prompts["judge"].tasks(instance, [], self.settings.tasks)
        return prompts[task], self.settings.sampling(instance, task)

    def open_group(self, group: Sequence[Record], askers: Mapping[str, Asker]) -> Work[Record]:  # noqa: ARG002
        async def work(record: Record) -> Record:
            names = self._asked(record)
            done = await gather_in_order(*(self._variant(name, record, askers) for name in names))
            found = dict(zip(names, done, strict=True))
            failures = [one["failure"] for one in found.values() if "failure" in one]
            about = {name: record[name] for name in ("key", "persona", "type", "checklist")}
            return about | {"variants": found} | ({"failure": failures[0]} if failures else {})

        return work

    async def _variant(self, name: str, record: Record, askers: Mapping[str, Asker]) -> Record:
        instance = _instance_of(record)
        role = "second" if name.startswith("second") else "judge"
        judge = askers.get(role)
        matcher = judge if role == "second" else askers.get("matcher", judge)
        judging = CupidJudging(self._prompts[role], judge, matcher, self.settings.judge_tokens, self._truths.get(role))
        stage, task = "judge", name.partition(" ")[2]
        try:
            response = None
            if name.startswith("no-history"):
                stage = "answer"
                response = (await askers["model"].ask(*self._without_history(task, instance))).text
                stage = "judge"
            if name == "second-rate" or task == "generation":
                answer = self._response_of(name, record) if response is None else response
                said = await judging.judgement(instance, answer)
                score = read_rating(said)
                return {"judgement": said, "score": score} | ({} if score is not None else {"unparsed": "score"})
            inferred = self._stated(name, record) if response is None else read_preference(response)
            if inferred is None:
                return {"response": response, "unparsed": "preference"}
            items = (
                tuple(record["inference"]["checklist"])
                if name.endswith("coverage")
                else await judging.decompose(inferred, [])
            )
            covered, found = await gather_in_order(
                judging.match(items, instance.preference, []), judging.match(instance.checklist, inferred, [])
            )
        except RequestFailed as failed:
            return {"failure": failure_of(stage, failed)}
        except Unreadable as unreadable:
            return {"unparsed": "match", "why": str(unreadable)}
        return {"preference": inferred, "checklist": list(items), "precision": list(covered), "recall": list(found)}

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        read = [one for record in records for one in record["variants"].values()]
        return {
            "n": len(records),
            "failed": sum("failure" in record for record in records),
            "unparsed": sum("unparsed" in one for one in read),
            "findings": [one.as_json() for one in findings_of(self.checks, self.records, records, self.run_judge)],
            "skipped": self.skipped,
        }


def _is_answered(record: Record) -> bool:
    return "response" in record.get("generation", {})


def _instance_of(record: Record) -> Instance:
    """The parts of an instance that judges see."""
    return Instance(
        persona_id=record["persona"],
        type=record["type"],
        request=record["request"],
        context_factor=record["context_factor"],
        preference=record["preference"],
        checklist=tuple(record["checklist"]),
        sessions=(),
    )
