"""Judging of CUPID answers: checklists, coverage and ratings, by models, by a generator's ground truth, or by words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from bowstring.benchmarks.cupid.prompts import CupidPrompts
from bowstring.benchmarks.cupid.truth import Truth
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.judges import ask_judge
from bowstring.judging import builtin
from bowstring.judging.structured import Unreadable, read_checklist, read_labels
from bowstring.records import Sampling
from bowstring.runs.asking import Asker

# What judge and matcher are asked for: answers that were cut are counted by it.
_CHECKLISTS, _LABELS, _SCORES = "checklists", "labels", "scores"


def judge_sampling(tokens: int) -> Sampling:
    return Sampling(max_tokens=tokens, temperature=0.0)


def decomposer_sampling(tokens: int) -> Sampling:
    """A checklist is short: as published, its writer gets half as many tokens."""
    return judge_sampling(max(1, tokens // 2))


@dataclass(frozen=True, slots=True)
class CupidJudging:
    """Judge and matcher default to truth, if it is given, or to builtin. An unparsed reply is requested again once;
    then Unreadable is raised."""

    prompts: CupidPrompts
    judge: Asker | None
    matcher: Asker | None
    tokens: int  # of an answer of theirs, with its thoughts
    truth: Truth | None = None

    @property
    def _judging(self) -> Sampling:
        return judge_sampling(self.tokens)

    @property
    def _listing(self) -> Sampling:
        return decomposer_sampling(self.tokens)

    async def judgement(self, instance: Instance, answer: str) -> str:
        if self.judge is None and self.truth is not None:
            return self.truth.judgement(instance, answer)
        if self.judge is None:
            return builtin.rating(answer, instance.checklist)
        return await ask_judge(self.judge, self.prompts.judge(instance, answer), self._judging, purpose=_SCORES)

    async def write_checklist(self, preference: str) -> str:
        """The text of a checklist, as the judge writes it."""
        if self.judge is None and self.truth is not None:
            return json.dumps({"checklist": self.truth.items(preference)}, ensure_ascii=False)
        if self.judge is None:
            return builtin.decomposition(preference)
        return await ask_judge(self.judge, self.prompts.decompose(preference), self._listing, purpose=_CHECKLISTS)

    async def label(self, items: Sequence[str], preference: str) -> str:
        """The text of the labels, as the matcher writes it."""
        if self.matcher is None and self.truth is not None:
            return self.truth.labels(items, preference)
        if self.matcher is None:
            return builtin.matching(items, preference)
        return await ask_judge(self.matcher, self.prompts.match(items, preference), self._judging, purpose=_LABELS)

    async def decompose(self, preference: str, heard: list[str]) -> tuple[str, ...]:
        """The checklist of a preference. What the judge says is added to `heard`."""
        heard.append(said := await self.write_checklist(preference))
        if self.judge is None and self.truth is not None:  # a list of many rules is no checklist, but it is scored
            return self.truth.items(preference)
        try:
            return read_checklist(said)
        except Unreadable as error:
            if self.judge is None:
                raise
            again = self.prompts.repair(self.prompts.decompose(preference), said, str(error))
            heard.append(said := await ask_judge(self.judge, again, self._listing, purpose=_CHECKLISTS))
            return read_checklist(said)

    async def match(self, items: Sequence[str], preference: str, heard: list[str]) -> tuple[float, ...]:
        """The coverage of each item by the preference. What the matcher says is added to `heard`."""
        heard.append(said := await self.label(items, preference))
        try:
            return read_labels(said, items)
        except Unreadable as error:
            if self.matcher is None:
                raise
            again = self.prompts.repair(self.prompts.match(items, preference), said, str(error))
            heard.append(said := await ask_judge(self.matcher, again, self._judging, purpose=_LABELS))
            return read_labels(said, items)
