"""Judging of CUPID answers: checklists, coverage and ratings, by models or by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bowstring.benchmarks.cupid.prompts import CupidPrompts
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.judges import ask_judge
from bowstring.judging import builtin
from bowstring.judging.structured import Unreadable, read_checklist, read_labels
from bowstring.records import Sampling
from bowstring.runs.asking import Asker

JUDGE_SAMPLING = Sampling(max_tokens=2048, temperature=0.0)


@dataclass(frozen=True, slots=True)
class CupidJudging:
    """Judge and matcher default to builtin. An unparsed reply is requested again once; then Unreadable is raised."""

    prompts: CupidPrompts
    judge: Asker | None
    matcher: Asker | None

    async def judgement(self, instance: Instance, answer: str) -> str:
        if self.judge is None:
            return builtin.rating(answer, instance.checklist)
        return await ask_judge(self.judge, self.prompts.judge(instance, answer), JUDGE_SAMPLING)

    async def decompose(self, preference: str) -> tuple[str, ...]:
        if self.judge is None:
            return read_checklist(builtin.decomposition(preference))
        request = self.prompts.decompose(preference)
        said = await ask_judge(self.judge, request, JUDGE_SAMPLING)
        try:
            return read_checklist(said)
        except Unreadable as error:
            again = self.prompts.repair(request, said, str(error))
            return read_checklist(await ask_judge(self.judge, again, JUDGE_SAMPLING))

    async def match(self, items: Sequence[str], preference: str) -> tuple[tuple[float, ...], str]:
        """The coverage of each item by the preference, and the text of the matcher."""
        if self.matcher is None:
            said = builtin.matching(items, preference)
            return read_labels(said, items), said
        request = self.prompts.match(items, preference)
        said = await ask_judge(self.matcher, request, JUDGE_SAMPLING)
        try:
            return read_labels(said, items), said
        except Unreadable as error:
            again = self.prompts.repair(request, said, str(error))
            said = await ask_judge(self.matcher, again, JUDGE_SAMPLING)
            return read_labels(said, items), said
