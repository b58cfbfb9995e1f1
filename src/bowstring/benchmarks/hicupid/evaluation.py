"""Evaluation of HiCUPID: questions of a user after a history, judged against gold answers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Literal, TypedDict, get_args

from bowstring.benchmarks.controls import Control, code_fingerprint
from bowstring.benchmarks.hicupid import published
from bowstring.benchmarks.hicupid.choosing.asking import By
from bowstring.benchmarks.hicupid.choosing.choices import Choices, open_choices
from bowstring.benchmarks.hicupid.controls import ControlAnswers, controls_by_rule
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.judging import SCORES, HicupidJudging, verdict_of
from bowstring.benchmarks.hicupid.prompts import HicupidPrompts, Instruction
from bowstring.benchmarks.hicupid.scores import recall_of, summarize
from bowstring.benchmarks.hicupid.swaps import Swaps
from bowstring.benchmarks.hicupid.truth import NAME as TRUTH_NAME
from bowstring.benchmarks.hicupid.truth import NOTE as TRUTH_NOTE
from bowstring.benchmarks.hicupid.truth import Truth, load_truth, swaps_of
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Profile, Question, QuestionType
from bowstring.benchmarks.interface import Context, Opener
from bowstring.benchmarks.judges import (
    JUDGE_TOKENS_HELP,
    PROTOCOL_HELP,
    VERDICTS_HELP,
    AsPublished,
    Protocol,
    plan_judge,
    text_as_published,
)
from bowstring.benchmarks.stages import dense_search, own_stages, stage_asker, stage_identities
from bowstring.concurrency import gather_in_order
from bowstring.errors import UsageError
from bowstring.history import View, parse_view
from bowstring.history.stages import Asked, Histories, Readers, Shown, StageWords
from bowstring.history.stages.dense import DenseSearch
from bowstring.history.stages.user_stage import UserStages
from bowstring.history.views import Kind
from bowstring.judging.forms import Verdicts
from bowstring.metrics.text import bleu, rouge_l
from bowstring.models.interface import RequestFailed
from bowstring.prompts import PromptFolder
from bowstring.records import Known, Planned, Prompt, Sampling, fields_of, is_repeated
from bowstring.runs.asking import Asker
from bowstring.runs.failures import failure_of
from bowstring.runs.runner import Record, Work
from bowstring.seeding import seeded_number
from bowstring.settings import check_settings, option

Task = Literal["answer", "choose"]
SUMMARY_SAMPLING = Sampling(max_tokens=120, temperature=0.0)
UNITS = ("utterance", "dialogue")
# The published keyword searches: the default of --retrieval-only.
PUBLISHED_SEARCHES = (
    *(f"bm25/utterance/{k}" for k in (5, 15, 25)),
    *(f"bm25/dialogue/{k}" for k in (1, 3, 5)),
)
_AS_PUBLISHED = AsPublished(
    fixed=("max_tokens", "temperature", "top_k", "top_p", "seed", "judge_tokens", "bm25_tokens", "retriever"),
    histories=("full", "gold", *PUBLISHED_SEARCHES, *(s.replace("bm25", "dense") for s in PUBLISHED_SEARCHES)),
)


class _FixedKeywords(TypedDict, total=False):
    splits: Sequence[str]
    types: Sequence[QuestionType]
    both_orders: bool
    retrieval_only: bool
    bm25_tokens: Literal["stems", "words", "whitespace"]
    retriever: str
    max_tokens: int
    temperature: float
    top_k: int | None
    seed: int
    verdicts: Verdicts
    protocol: Protocol
    top_p: float | None
    judge_tokens: int
    task: Task
    by: By


class HicupidKeywords(_FixedKeywords, total=False):
    """The fields of `HicupidSettings` as keywords of `bowstring.evaluate`."""

    history: str
    shots: Literal[0, 1, 3, 5]
    instruction: Instruction


class HicupidSweepKeywords(_FixedKeywords, total=False):
    """The fields of `HicupidSettings` as keywords of `bowstring.sweep`."""

    history: str | Sequence[str]
    shots: Literal[0, 1, 3, 5] | Sequence[Literal[0, 1, 3, 5]]
    instruction: Instruction | Sequence[Instruction]


@dataclass(frozen=True, slots=True)
class HicupidSettings:
    """Everything that changes a result; defaults as published."""

    splits: tuple[str, ...] = field(
        default=(), metadata=option("Use only this split; repeatable.", name="--split", shown_default="all but train")
    )
    types: tuple[QuestionType, ...] = field(
        default=QUESTION_TYPES,
        metadata=option("Use only this question type; repeatable.", name="--type", shown_default="all"),
    )
    history: str = field(
        default="full",
        metadata=option(
            "What the model sees: full, gold, none, last:4k (or last:N dialogues), bm25/utterance/K, bm25/dialogue/K, "
            "dense/utterance/K, dense/dialogue/K, summary, or python:module:Class. Repeat for a sweep.",
            axis=True,
        ),
    )
    shots: Literal[0, 1, 3, 5] = field(
        default=0, metadata=option("Number of examples per question type. Repeat for a sweep.", axis=True)
    )
    instruction: Instruction = field(
        default="system",
        metadata=option(
            "Position of the instruction: in a system message, or in a user turn after the history. Repeat for a "
            "sweep.",
            axis=True,
        ),
    )
    both_orders: bool = field(default=False, metadata=option("Judge each comparison twice, with the sides swapped."))
    retrieval_only: bool = field(
        default=False, metadata=option("Measure only the recall of a search, without a model.")
    )
    bm25_tokens: Literal["stems", "words", "whitespace"] = field(
        default="stems",
        metadata=option(
            "Tokenization of keyword search; whitespace is that of the authors.",
            shown_default="stems, or whitespace with --protocol published",
        ),
    )
    retriever: str = field(
        default="facebook/contriever", metadata=option("Embedding model for dense search: a hub id or a folder.")
    )
    max_tokens: int = field(default=200, metadata=option("Maximum length of an answer, in tokens.", min=1))
    temperature: float = field(default=0.6, metadata=option("Temperature of the evaluated model.", min=0, max=2))
    top_k: int | None = 50
    seed: int = field(default=0, metadata=option("Seed of the sampling and of the sides of answers."))
    verdicts: Verdicts = field(default="json", metadata=option(VERDICTS_HELP))
    protocol: Protocol = field(default="bowstring", metadata=option(PROTOCOL_HELP))
    top_p: float | None = field(
        default=None, metadata=option("Top-p of the evaluated model; the published one is 1.", min=0, max=1)
    )
    judge_tokens: int = field(default=512, metadata=option(JUDGE_TOKENS_HELP, min=1))
    task: Task = field(
        default="answer",
        metadata=option("Task: answer freely, which a judge scores, or choose among given answers, scored exactly."),
    )
    by: By = field(
        default="letter",
        metadata=option(
            "How a model chooses: it answers with a letter, or the answer that it finds most probable counts.",
            shown_default="likelihood for hf/… and embedded, else letter",
        ),
    )

    def __post_init__(self) -> None:
        check_settings(self)
        view = self.view()
        if self.retrieval_only and not view.searches:
            raise UsageError(f"--retrieval-only --history {self.history}: expected a search, such as bm25/utterance/5")
        if self.retrieval_only and (self.shots or self.both_orders or self.instruction != "system"):
            raise UsageError("--retrieval-only uses no model; leave out --shots, --instruction and --both-orders")
        if self.protocol == "published" and self.both_orders:
            raise UsageError("--protocol published judges in one order; leave out --both-orders")
        if self.protocol == "published" and self.retrieval_only:
            raise UsageError(
                "--retrieval-only asks no model and no judge, so it has no protocol; leave out --protocol published "
                "(--bm25-tokens whitespace searches as the authors do)"
            )
        if self.task == "choose" and (self.both_orders or self.retrieval_only or self.protocol == "published"):
            raise UsageError(
                "--task choose asks no judge; leave out --both-orders, --retrieval-only and --protocol published"
            )
        if self.task == "answer" and self.by != "letter":
            raise UsageError(f"--by {self.by} is only for --task choose")

    def view(self) -> View:
        return parse_view(self.history, kinds=get_args(Kind), units=UNITS)

    def sampling(self, question: Question, *, openai: bool) -> Sampling:
        """`openai` says that the evaluated model is asked as OpenAI's API is: as published, with fewer settings."""
        if self.protocol != "published":
            seed = self.number("answer", question) % 2**31
            return Sampling(self.max_tokens, self.temperature, self.top_k, self.top_p, seed)
        if openai:
            return Sampling(self.max_tokens, self.temperature, top_p=self.top_p, seed=self.published_seed)
        top_p = 1.0 if self.top_p is None else self.top_p
        return Sampling(self.max_tokens, self.temperature, self.top_k, top_p, self.published_seed)

    @property
    def judging(self) -> Sampling:
        seed = self.published_seed if self.protocol == "published" else None
        return Sampling(self.judge_tokens, temperature=0.0, seed=seed)

    def fixed_by_the_authors(self) -> dict[str, Any]:
        """The settings of this run with what is sent where they are not given."""
        return self.configuration() | {"seed": self.published_seed, "top_p": 1.0 if self.top_p is None else self.top_p}

    @property
    def published_seed(self) -> int:
        return self.seed or published.SEED

    def number(self, purpose: str, question: Question) -> int:
        return seeded_number(self.seed, purpose, str(question.user_id), str(question.question_id))

    def configuration(self) -> dict[str, Any]:
        """The settings that affect this run; the retriever, for example, only if the run retrieves."""
        settings = asdict(self)
        kind = self.view().kind
        if kind != "bm25":
            del settings["bm25_tokens"]
        if kind != "dense":
            del settings["retriever"]
        for name in self._without_effect():
            del settings[name]
        return settings

    def _without_effect(self) -> tuple[str, ...]:
        of_answers = ("max_tokens", "temperature", "top_k", "top_p", "verdicts")
        if self.retrieval_only:
            return (
                "shots",
                "instruction",
                "both_orders",
                *of_answers,
                "seed",
                "protocol",
                "judge_tokens",
                "task",
                "by",
            )
        if self.task == "answer":
            return ("task", "by")
        return (
            "both_orders",
            "retrieval_only",
            "protocol",
            "judge_tokens",
            *(of_answers if self.by == "likelihood" else ()),
        )


class HicupidEvaluation:
    """The items of a run, their evaluation, and the summary of the records."""

    def __init__(
        self,
        data: HicupidSet,
        settings: HicupidSettings,
        prompts: PromptFolder,
        *,
        readers: Readers | None = None,
        search: DenseSearch | None = None,
        own: UserStages | None = None,
        judge: str | None = None,
        judge_by_rule: str | None = None,
        openai: Collection[str] = (),
        truth: Truth | None = None,
        swaps: Swaps | None = None,
        choices: Choices | None = None,
    ) -> None:
        """`judge` is the name of a model, `judge_by_rule` that of a judge that is not a model."""
        self.data = data
        self.settings = settings
        self._folder = prompts
        self.items = [q for q in data.questions() if q.type in settings.types]
        if not self.items:
            raise UsageError(f"{data.name} has no {' or '.join(settings.types)} questions in {', '.join(data.splits)}")
        self._view = settings.view()
        self._prompts = HicupidPrompts(
            prompts,
            types=() if settings.retrieval_only or settings.task == "choose" else settings.types,
            shots=settings.shots,
            instruction=settings.instruction,
            summaries=self._view.kind == "summary",
            branches=len(self.items),
            verdicts=settings.verdicts if settings.protocol == "bowstring" else "text",
        )
        if settings.protocol == "published":
            self._prompts.check_imported()
        self._sides = published.shuffled_sides([q.key for q in self.items], settings.published_seed)
        readers = readers or _readers(data, settings)
        words = StageWords(self._prompts.summary, SUMMARY_SAMPLING, summary_tokens=40)
        self._histories = Histories(self._view, readers, words, dense=search, own=own)
        self._readers, self._search, self._own = readers, search, own
        self._judge, self._judge_by_rule = judge, judge_by_rule
        self._truth = truth
        self._swaps = swaps
        self._openai = "model" in openai
        self._choices = choices
        self._choosing = (
            None if choices is None else choices.opened(settings.seed, settings.by, prompts, settings.verdicts)
        )
        self._judging = HicupidJudging(self._prompts, truth, settings.judging, settings.protocol == "published")
        self._profiles: dict[int, Profile] = {q.user_id: q.profile for q in data.questions() if q.profile}

    def groups(self, limit: int | None) -> list[list[Question]]:
        """The questions grouped by user; a group shares a trunk if the history view allows it."""
        return [list(group) for _, group in groupby(self.items[:limit], key=lambda q: (q.split, q.user_id))]

    def whose(self, item: Question) -> tuple[str, str]:
        return str(item.user_id), item.split

    def notes(self) -> list[str]:
        notes = [TRUTH_NOTE] if self._truth is not None else []
        if self._choices is not None:
            notes += self._choices.notes(self.settings.types)
        if self.settings.protocol == "published":
            usual = HicupidSettings(history=self.settings.history, protocol="published", bm25_tokens="whitespace")
            notes += _AS_PUBLISHED.notes(
                self.settings.fixed_by_the_authors(),
                usual.fixed_by_the_authors(),
                judge_by_rule=self._judge_by_rule,
                changed_prompts=self._folder.changed_since_import(),
            )
        if self.settings.retrieval_only:
            notes.append("retrieval only: no model was used")
        if not self.settings.splits and self.data.splits == ("train",):
            notes.append("the set has only a train split: a model may have been trained on its questions")
        if self._judge is not None and "hicupid" in self._judge.lower() and not self._prompts.judge_is_imported:
            notes.append(
                "the judge is fine-tuned, but was used with other prompts than in its training; import those "
                "prompts (--prompts)"
            )
        return notes

    def side(self, question: Question) -> str:
        """The side of the model's answer: random, half of them each, reproducible."""
        if self.settings.protocol == "published":
            return self._sides[question.key]
        return "AB"[self.settings.number("side", question) % 2]

    def sides(self, question: Question) -> str:
        """The sides of the model's answer, in order."""
        side = self.side(question)
        return "AB" if side == "A" else "BA"

    def judgements(self, question: Question) -> str:
        """The sides on which the answer is judged: one or both; satisfaction has none."""
        twice = self.settings.both_orders and question.type != "schedule"
        return self.sides(question) if twice else self.side(question)

    def plan(self, group: Sequence[Question], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        if self.settings.retrieval_only:
            return
        planned, shown, guessed = self._histories.plan(str(group[0].user_id), _asked(group), known)
        yield from planned
        for question, prompt in zip(group, self._filled(group, shown), strict=True):
            sampling = self.settings.sampling(question, openai=self._openai)
            if self._choosing is not None:
                yield from self._choosing.plan(question, prompt, sampling, estimated=guessed)
                continue
            yield Planned("model", prompt, sampling, min(self.settings.max_tokens, 60), guessed)
            if "judge" in roles:
                answer = None if guessed else known("model", prompt, sampling)
                for side in self.judgements(question):
                    judged = self._prompts.judge(question, "word " * 48 if answer is None else answer, answer_is=side)
                    yield plan_judge("judge", judged, self._judging.sampling, 90, estimated=answer is None)

    def _filled(self, group: Sequence[Question], shown: Sequence[Shown]) -> list[Prompt]:
        """The prompts of a group, in order."""
        if self._histories.per_question:
            return [
                self._prompts.alone(q, one.dialogues, self._notes(one)) for q, one in zip(group, shown, strict=True)
            ]
        return self._prompts.together(group, shown[0].dialogues, self._notes(shown[0]))

    def _notes(self, shown: Shown) -> str | None:
        """The text that replaces dialogues, if there is one."""
        return None if shown.notes is None else self._prompts.notes(shown.notes)

    def open_group(self, group: Sequence[Question], askers: Mapping[str, Asker]) -> Work[Question]:
        ready = asyncio.ensure_future(self._prompts_by_key(group, askers))

        async def work(question: Question) -> Record:
            record = self._about(question)
            if self._choosing is not None:
                record |= self._choosing.about(question)
            try:
                prompt, seen = (await asyncio.shield(ready))[question.key]
            except RequestFailed as failed:
                return record | {"failure": failure_of(self._histories.stage_name, failed)}
            record |= seen
            if self.settings.retrieval_only:
                return record
            return await self._answered(record, question, prompt, askers)

        return work

    async def _prompts_by_key(
        self, group: Sequence[Question], askers: Mapping[str, Asker]
    ) -> dict[str, tuple[Prompt, Record]]:
        """The prompt of each question, and facts about the history in it."""
        key = str(group[0].user_id)
        shown = await self._histories.show(key, _asked(group), stage_asker(askers))
        kinds = {dialogue.id: dialogue.kind for dialogue in self._readers.of(key).history}
        prepared: dict[str, tuple[Prompt, Record]] = {}
        before: Shown | None = None
        context: dict[str, int] = {}
        for question, one, prompt in zip(group, shown, self._filled(group, shown), strict=True):
            if one is not before:
                before, context = one, self._size(one)
            prepared[question.key] = (prompt, {"shown": context} | self._recall(question, one, kinds))
        return prepared

    def _size(self, shown: Shown) -> dict[str, int]:
        notes = self._notes(shown)
        return {"turns": shown.turns, "characters": shown.characters + len(notes or "")}

    def _recall(self, question: Question, shown: Shown, kinds: Mapping[int, str]) -> Record:
        """The recall of evidence in the shown part of the history, unless it is certain."""
        if shown.sources is None or self._view.kind not in ("last", "bm25", "dense", "python"):
            return {}
        seen: Record = {"recall": recall_of(question, shown.sources, kinds)}
        return seen if self._view.kind == "last" else seen | {"retrieved": list(shown.sources)}

    async def _answered(
        self, record: Record, question: Question, prompt: Prompt, askers: Mapping[str, Asker]
    ) -> Record:
        sampling = self.settings.sampling(question, openai=self._openai)
        try:
            if self._choosing is not None:
                return record | await self._choosing.record(question, prompt, sampling, askers["model"])
            completion = await askers["model"].ask(prompt, sampling)
        except RequestFailed as failed:
            return record | {"failure": failure_of("answer", failed)}
        record |= {
            "answer": completion.text,
            "finish": completion.finish,
            "bleu": bleu(completion.text, question.personalized_answer),
            "rouge_l": rouge_l(completion.text, question.personalized_answer),
            "answer_is": self.side(question),
        }
        sides = self.judgements(question)
        judged = text_as_published(completion) if self.settings.protocol == "published" else completion.text
        try:
            said = await gather_in_order(
                *(self._judging.judgement(question, judged, side, askers.get("judge")) for side in sides)
            )
        except RequestFailed as failed:
            return record | {"failure": failure_of("judge", failed)}
        found = [verdict_of(question, text, side) for text, side in zip(said, sides, strict=True)]
        record |= {"judgement": said[0], "verdict": found[0]}
        if len(found) > 1:
            record |= {"swapped_judgement": said[1], "swapped_verdict": found[1]}
        scores = [SCORES[verdict] for verdict in found if verdict is not None]
        record["published"] = published.read_score(question.type, said[0], sides[0])._asdict()
        return record | {"score": sum(scores) / len(scores) if len(scores) == len(found) else None}

    def _about(self, question: Question) -> Record:
        user = self._profiles.get(question.user_id)
        known = {
            "persona": fields_of(question.persona) if question.persona else None,
            "profile": fields_of(question.profile) if question.profile else None,
            "schedule": fields_of(question.schedule) if question.schedule else None,
            "user_profile": fields_of(user) if user else None,
        }
        return {
            "key": question.key,
            "user": question.user_id,
            "split": question.split,
            "type": question.type,
            "question": question.question,
            "personalized_answer": question.personalized_answer,
            "general_answer": question.general_answer,
            "evidence": list(question.evidence),
            **known,
        }

    def identities(self) -> dict[str, str]:
        chosen_from = {} if self._choices is None else {"options": self._choices.fingerprint}
        return stage_identities(self._view, self._search, self._own) | chosen_from

    def texts(self) -> Iterator[str]:
        users = dict.fromkeys(str(question.user_id) for question in self.items)
        return (m.text for user in users for d in self._readers.of(user).history for m in d.messages)

    def controls(self, records: Sequence[Record]) -> list[Control]:
        """Controls on the items of these records; none if nothing is judged, or by a model: an audit has those."""
        if not self._judges_by_rule:
            return []
        keys = {record["key"] for record in records if not is_repeated(record)}
        questions = [question for question in self.items if question.key in keys]
        answers = ControlAnswers(self.items, self._swaps)
        return controls_by_rule(questions, answers, self._judging, self._judge_name, self.settings.protocol)

    def controls_basis(self, records: Sequence[Record]) -> dict[str, Any] | None:
        """What the controls depend on."""
        if not self._judges_by_rule:
            return None
        return {
            "code": code_fingerprint("bowstring.benchmarks.hicupid"),
            "data": self.data.fingerprint,
            "judge": self._judge_name,
            "protocol": self.settings.protocol,
            "others": [self.settings.splits, self.settings.types],
            "items": [record["key"] for record in records if not is_repeated(record)],
        }

    @property
    def _judges_by_rule(self) -> bool:
        return self._judge is None and self._choices is None and not self.settings.retrieval_only

    @property
    def _judge_name(self) -> str | None:
        return self._judge if self._truth is None else TRUTH_NAME

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        if self._choices is not None:
            return self._choices.summarize(records, self.settings.types)
        return summarize(records, self._judge_name, protocol=self.settings.protocol)


def _asked(group: Sequence[Question]) -> list[Asked]:
    return [Asked(question.question, question.evidence) for question in group]


def _readers(data: HicupidSet, settings: HicupidSettings) -> Readers:
    arranged = published.arranged if settings.protocol == "published" else None
    return Readers(data, tokens=settings.bm25_tokens, arranged=arranged)


def opener(data: HicupidSet, settings: Sequence[HicupidSettings], context: Context) -> Opener:
    """An opener whose evaluations share the history readers and a dense search."""
    readers = _readers(data, settings[0])
    search = dense_search(settings, context)
    truth = load_truth(context.data) if context.judge == TRUTH_NAME else None
    swaps = swaps_of(context.data)
    judge = context.models.get("judge")
    choices = open_choices(data, settings, context)
    return lambda one, prompts: HicupidEvaluation(
        data,
        one,
        prompts,
        readers=readers,
        search=search,
        own=own_stages(one.view()),
        judge=judge,
        judge_by_rule=None if judge is not None else context.judge,
        openai=context.openai,
        truth=truth,
        swaps=swaps,
        choices=choices,
    )
