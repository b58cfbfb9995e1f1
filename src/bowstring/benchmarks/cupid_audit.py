"""An audit of a CUPID run.

The gold preference, and one that would please anybody, as if a model had inferred them; another judge on the same
responses and checklists; and whether long responses are scored higher. What it comes to is in `cupid_findings`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bowstring.benchmarks.baselines import VAGUE
from bowstring.benchmarks.benchmark import Known, Planned, gather_in_order
from bowstring.benchmarks.cupid_findings import findings_of
from bowstring.benchmarks.cupid_judging import JUDGE_SAMPLING, CupidJudging
from bowstring.benchmarks.cupid_prompts import CupidPrompts
from bowstring.benchmarks.hicupid_audit import drawn
from bowstring.judging.sections import read_rating
from bowstring.judging.structured import Unreadable
from bowstring.models.interface import RequestFailed
from bowstring.prompts import PromptFolder
from bowstring.records import Instance
from bowstring.runs.asking import Asker
from bowstring.runs.runner import Record, Work

CHECKS = ("gold", "vague", "length", "second-judge")
_SAID = {"gold": None, "vague": VAGUE}  # None: the instance's own preference


class CupidAudit:
    data = None

    def __init__(
        self,
        records: Sequence[Record],
        prompts: PromptFolder,
        *,
        checks: Sequence[str],
        sample: int,
        matchers: Mapping[str, str | None],
        skipped: Mapping[str, str],
    ) -> None:
        self.records = records
        self.checks = [check for check in checks if check not in skipped]
        self.skipped = dict(skipped)
        self.items = drawn(records, sample)
        self._prompts = {
            role: CupidPrompts(prompts, oracle=False, matcher=matcher) for role, matcher in matchers.items()
        }

    def groups(self, limit: int | None) -> list[list[Record]]:
        return [[record] for record in self.items[:limit] if self._asked(record)]

    def notes(self) -> list[str]:
        return []

    def texts(self) -> Iterator[str]:
        return iter(())

    def _asked(self, record: Record) -> list[str]:
        """The variants of a record."""
        inference, generation = record.get("inference", {}), record.get("generation", {})
        found = [name for name in _SAID if name in self.checks and "inference" in record]
        if "second-judge" in self.checks:
            found += ["second-rate"] if generation.get("score") is not None else []
            found += ["second-coverage"] if "recall" in inference else []
        return found

    def plan(self, group: Sequence[Record], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        for record in group:
            instance = _instance_of(record)
            for name in self._asked(record):
                role = "second" if name.startswith("second") else "judge"
                if role not in roles:
                    continue
                prompts = self._prompts[role]
                if name == "second-rate":
                    yield Planned(role, prompts.judge(instance, record["generation"]["response"]), JUDGE_SAMPLING, 200)
                    continue
                matcher = "matcher" if role == "judge" and "matcher" in roles else role
                said = _SAID.get(name) or instance.preference
                items, estimated = list(instance.checklist), False
                if name == "second-coverage":
                    said, items = record["inference"]["preference"], record["inference"]["checklist"]
                else:
                    prompt = prompts.decompose(said)
                    yield Planned(role, prompt, JUDGE_SAMPLING, 80)
                    estimated = known(role, prompt, JUDGE_SAMPLING) is None
                for listed, preference in ((items, instance.preference), (instance.checklist, said)):
                    yield Planned(matcher, prompts.match(listed, preference), JUDGE_SAMPLING, 120, estimated)

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
        judging = CupidJudging(self._prompts[role], judge, matcher)
        try:
            if name == "second-rate":
                said = await judging.judgement(instance, record["generation"]["response"])
                score = read_rating(said)
                return {"judgement": said, "score": score} | ({} if score is not None else {"unparsed": "score"})
            if name == "second-coverage":
                inferred, items = record["inference"]["preference"], tuple(record["inference"]["checklist"])
            else:
                inferred = _SAID[name] or instance.preference
                items = await judging.decompose(inferred)
            (covered, _), (found, _) = await gather_in_order(
                judging.match(items, instance.preference), judging.match(instance.checklist, inferred)
            )
        except RequestFailed as failed:
            return {"failure": {"stage": "judge", "kind": failed.kind, "reason": failed.reason}}
        except Unreadable as unreadable:
            return {"unparsed": "match", "why": str(unreadable)}
        return {"checklist": list(items), "precision": list(covered), "recall": list(found)}

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        read = [one for record in records for one in record["variants"].values()]
        return {
            "n": len(records),
            "failed": sum("failure" in record for record in records),
            "unparsed": sum("unparsed" in one for one in read),
            "findings": [one.as_json() for one in findings_of(self.checks, self.records, records)],
            "skipped": self.skipped,
        }


def _instance_of(record: Record) -> Instance:
    """As much of an instance as judges are shown."""
    return Instance(
        persona_id=record["persona"],
        type=record["type"],
        request=record["request"],
        context_factor=record["context_factor"],
        preference=record["preference"],
        checklist=tuple(record["checklist"]),
        sessions=(),
    )
