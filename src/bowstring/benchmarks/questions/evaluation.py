"""Evaluation of questions after a history; answers are judged right or wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, get_args

from bowstring.benchmarks.judges import JUDGE_TOKENS_HELP, VERDICTS_HELP, ask_judge, plan_judge
from bowstring.benchmarks.questions.data import Question, QuestionSet
from bowstring.benchmarks.questions.prompts import QuestionPrompts
from bowstring.benchmarks.stages import stage_asker, stage_identities
from bowstring.errors import UsageError
from bowstring.history import View, parse_view
from bowstring.history.stages import Asked, Histories, Readers, Shown, StageWords
from bowstring.history.stages.dense import DenseSearch
from bowstring.history.stages.user_stage import UserStages
from bowstring.history.views import Kind, view_forms
from bowstring.judging import builtin
from bowstring.judging.forms import Verdicts
from bowstring.judging.verdicts import read_correct
from bowstring.models.interface import RequestFailed
from bowstring.prompts import PromptFolder
from bowstring.records import Known, Planned, Prompt, Sampling
from bowstring.runs.asking import Asker
from bowstring.runs.failures import failure_of
from bowstring.runs.runner import Record, Work
from bowstring.seeding import seeded_number
from bowstring.settings import check_settings, option

if TYPE_CHECKING:
    from bowstring.benchmarks.questions.benchmark import QuestionBenchmark

UNITS = ("utterance", "dialogue")


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """Everything that changes a result."""

    splits: tuple[str, ...] = field(default=(), metadata=option("Use only this split; repeatable.", name="--split"))
    types: tuple[str, ...] = field(
        default=(), metadata=option("Use only this question type; repeatable.", name="--type", shown_default="all")
    )
    history: str = field(
        default="full",
        metadata=option(
            f"What the model sees: {view_forms(get_args(Kind), UNITS)}. Repeat for a sweep.",
            axis=True,
        ),
    )
    bm25_tokens: Literal["stems", "words", "whitespace"] = field(
        default="stems", metadata=option("Tokenization of keyword search.")
    )
    retriever: str = field(
        default="facebook/contriever", metadata=option("Embedding model for dense search: a hub id or a folder.")
    )
    max_tokens: int = field(default=300, metadata=option("Maximum length of an answer, in tokens.", min=1))
    temperature: float = field(default=0.0, metadata=option("Temperature of the evaluated model.", min=0, max=2))
    seed: int = field(default=0, metadata=option("Seed of the sampling."))
    verdicts: Verdicts = field(default="json", metadata=option(VERDICTS_HELP))
    judge_tokens: int = field(default=512, metadata=option(JUDGE_TOKENS_HELP, min=1))

    def __post_init__(self) -> None:
        check_settings(self)
        self.view()

    def view(self) -> View:
        return parse_view(self.history, kinds=get_args(Kind), units=UNITS)

    def sampling(self, key: str) -> Sampling:
        return Sampling(self.max_tokens, self.temperature, seed=seeded_number(self.seed, "answer", key) % 2**31)

    @property
    def judging(self) -> Sampling:
        return Sampling(self.judge_tokens, temperature=0.0)

    def configuration(self) -> dict[str, Any]:
        """The settings that affect this run."""
        settings = asdict(self)
        for name, kind in (("bm25_tokens", "bm25"), ("retriever", "dense")):
            if self.view().kind != kind:
                del settings[name]
        return settings


class QuestionEvaluation:
    def __init__(
        self,
        benchmark: QuestionBenchmark,
        data: QuestionSet,
        settings: QuestionSettings,
        prompts: PromptFolder,
        *,
        readers: Readers,
        search: DenseSearch | None = None,
        own: UserStages | None = None,
    ) -> None:
        self._benchmark, self.data, self.settings = benchmark, data, settings
        wanted = [q for q in data.items() if not settings.splits or q.split in settings.splits]
        self.items = [q for q in wanted if not settings.types or q.type in settings.types]
        if not self.items:
            known = ", ".join(dict.fromkeys(q.type for q in data.items()))
            raise UsageError(f"{data.name} has no such questions; its types are {known}")
        self._view = settings.view()
        self._prompts = QuestionPrompts(
            prompts, benchmark.name, summaries=self._view.kind == "summary", verdicts=settings.verdicts
        )
        words = StageWords(self._prompts.summary, Sampling(max_tokens=300, temperature=0.0), summary_tokens=80)
        self._readers, self._search, self._own = readers, search, own
        self._histories = Histories(self._view, readers, words, dense=search, own=own)

    def groups(self, limit: int | None) -> list[list[Question]]:
        return [list(group) for _, group in groupby(self.items[:limit], key=lambda q: (q.split, q.user))]

    def whose(self, item: Question) -> tuple[str, str]:
        return item.user, item.split

    def notes(self) -> list[str]:
        return []

    def identities(self) -> dict[str, str]:
        return stage_identities(self._view, self._search, self._own)

    def texts(self) -> Iterator[str]:
        users = dict.fromkeys(question.user for question in self.items)
        return (m.text for user in users for d in self.data.history_named(user) for m in d.messages)

    def plan(self, group: Sequence[Question], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        planned, shown, guessed = self._histories.plan(group[0].user, _asked(group), known)
        yield from planned
        for question, prompt in zip(group, self._filled(group, shown), strict=True):
            sampling = self.settings.sampling(question.key)
            yield Planned("model", prompt, sampling, min(self.settings.max_tokens, 80), guessed)
            if "judge" in roles:
                answer = None if guessed else known("model", prompt, sampling)
                judged = self._prompts.judge(question, "word " * 60 if answer is None else answer)
                yield plan_judge("judge", judged, self.settings.judging, 60, estimated=answer is None)

    def _filled(self, group: Sequence[Question], shown: Sequence[Shown]) -> list[Prompt]:
        if self._histories.per_question:
            return [self._prompts.alone(question, one) for question, one in zip(group, shown, strict=True)]
        return self._prompts.together(group, shown[0])

    def open_group(self, group: Sequence[Question], askers: Mapping[str, Asker]) -> Work[Question]:
        ready = asyncio.ensure_future(self._prompts_by_key(group, askers))

        async def work(question: Question) -> Record:
            record = _about(question)
            try:
                prompt, seen = (await asyncio.shield(ready))[question.key]
            except RequestFailed as failed:
                return record | {"failure": failure_of(self._histories.stage_name, failed)}
            return await self._answered(record | seen, question, prompt, askers)

        return work

    async def _prompts_by_key(
        self, group: Sequence[Question], askers: Mapping[str, Asker]
    ) -> dict[str, tuple[Prompt, Record]]:
        """The prompt of each question, and facts about the history in it."""
        shown = await self._histories.show(group[0].user, _asked(group), stage_asker(askers))
        prompts = self._filled(group, shown)
        return {
            question.key: (prompt, self._history_facts(question, one))
            for question, one, prompt in zip(group, shown, prompts, strict=True)
        }

    def _history_facts(self, question: Question, shown: Shown) -> Record:
        size = {"turns": shown.turns, "characters": len(self._prompts.history(shown))}
        found: Record = {"shown": size}
        if shown.sources is not None and question.evidence and self._view.kind not in ("full", "gold", "none"):
            hits = sum(dialogue in shown.sources for dialogue in question.evidence)
            found |= {"recall": hits / len(question.evidence), "retrieved": list(shown.sources)}
        return found

    async def _answered(
        self, record: Record, question: Question, prompt: Prompt, askers: Mapping[str, Asker]
    ) -> Record:
        stage = "answer"
        try:
            completion = await askers["model"].ask(prompt, self.settings.sampling(question.key))
            record |= {"answer": completion.text, "finish": completion.finish}
            stage = "judge"
            judge, judging = askers.get("judge"), self.settings.judging
            said, score = await judge_answer(self._prompts, question, completion.text, judge, judging)
        except RequestFailed as failed:
            return record | {"failure": failure_of(stage, failed)}
        verdict = None if score is None else "yes" if score else "no"
        return record | {"judgement": said, "verdict": verdict, "score": score}

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        return self._benchmark.summarize(records, self.settings.configuration())


async def judge_answer(
    prompts: QuestionPrompts, question: Question, answer: str, judge: Asker | None, judging: Sampling
) -> tuple[str, float | None]:
    """The judgement of an answer, and its score 1 or 0; None if it is unparsed."""
    if judge is None:
        said = builtin.correctness(answer, question.gold)
    else:
        said = await ask_judge(judge, prompts.judge(question, answer), judging)
    right = read_correct(said)
    return said, None if right is None else float(right)


def _asked(group: Sequence[Question]) -> list[Asked]:
    return [Asked(question.question, question.evidence) for question in group]


def _about(question: Question) -> Record:
    return {
        "key": question.key,
        "user": question.user,
        "split": question.split,
        "type": question.type,
        "question": question.question,
        "gold": question.gold,
        "evidence": list(question.evidence),
    }


def question_of(record: Record) -> Question:
    """The question of a record."""
    return Question(
        record["key"],
        record["user"],
        record["question"],
        record["gold"],
        record["type"],
        tuple(record["evidence"]),
        record["split"],
    )
