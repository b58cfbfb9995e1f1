"""HiCUPID: a user's questions behind their history, judged against the gold answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, get_args

from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.judging import JUDGE_SAMPLING, SCORES, HicupidJudging, verdict_of
from bowstring.benchmarks.hicupid.prompts import SHOTS, HicupidPrompts, Instruction
from bowstring.benchmarks.hicupid.scores import recall_of, summarize
from bowstring.benchmarks.hicupid.truth import NAME as TRUTH_NAME
from bowstring.benchmarks.hicupid.truth import NOTE as TRUTH_NOTE
from bowstring.benchmarks.hicupid.truth import Truth, load_truth
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Profile, Question
from bowstring.benchmarks.interface import Context, Opener
from bowstring.concurrency import gather_in_order
from bowstring.errors import UsageError, check_choice
from bowstring.history import Reader, View, parse_view
from bowstring.history.bm25 import TOKENS
from bowstring.history.dense import VECTORS_NAME, DenseSearch
from bowstring.history.views import Kind
from bowstring.metrics.text import bleu, rouge_l
from bowstring.models.embedder import Embedder
from bowstring.models.interface import RequestFailed
from bowstring.models.tokens import TokenCounter, embedded_counter
from bowstring.prompts import PromptFolder
from bowstring.records import History, Prompt, Sampling, check_sampling, fields_of
from bowstring.runs.asking import Asker
from bowstring.runs.items import Known, Planned
from bowstring.runs.runner import Record, Work
from bowstring.seeding import seeded_number

SUMMARY_SAMPLING = Sampling(max_tokens=120, temperature=0.0)
UNITS = ("utterance", "dialogue")
_READERS = 32  # histories whose indexes are kept at a time


@dataclass(frozen=True, slots=True)
class HicupidSettings:
    """What changes a result; defaults as published."""

    splits: tuple[str, ...] = ()
    types: tuple[str, ...] = QUESTION_TYPES
    history: str = "full"
    shots: int = 0
    instruction: Instruction = "system"
    both_orders: bool = False
    retrieval_only: bool = False
    bm25_tokens: str = "stems"
    retriever: str = "facebook/contriever"
    max_tokens: int = 200
    temperature: float = 0.6
    top_k: int | None = 50
    seed: int = 0

    def __post_init__(self) -> None:
        check_sampling(self.max_tokens, self.temperature, self.seed)
        view = self.view()
        for kind in self.types:
            check_choice("type", kind, QUESTION_TYPES)
        check_choice("shots", self.shots, SHOTS)
        check_choice("instruction", self.instruction, get_args(Instruction))
        check_choice("bm25-tokens", self.bm25_tokens, tuple(TOKENS))
        if self.retrieval_only and not view.searches:
            raise UsageError(f"--retrieval-only --history {self.history}: expected a search, such as bm25/utterance/5")
        if self.retrieval_only and (self.shots or self.both_orders or self.instruction != "system"):
            raise UsageError("--retrieval-only asks nothing: leave out --shots, --instruction and --both-orders")

    def view(self) -> View:
        return parse_view(self.history, kinds=get_args(Kind), units=UNITS)

    def sampling(self, question: Question) -> Sampling:
        return Sampling(self.max_tokens, self.temperature, self.top_k, seed=self.number("answer", question) % 2**31)

    def number(self, purpose: str, question: Question) -> int:
        return seeded_number(self.seed, purpose, str(question.user_id), str(question.question_id))

    def configuration(self) -> dict[str, Any]:
        """The settings that bear on this run: another retriever makes no difference where nothing is retrieved."""
        settings = asdict(self)
        kind = self.view().kind
        if kind != "bm25":
            del settings["bm25_tokens"]
        if kind != "dense":
            del settings["retriever"]
        if self.retrieval_only:
            for name in ("shots", "instruction", "both_orders", "max_tokens", "temperature", "top_k", "seed"):
                del settings[name]
        return settings


class HicupidReaders:
    """Readers of users' histories; evaluations of one set share them, so that nothing is indexed twice."""

    def __init__(self, data: HicupidSet, *, tokens: str = "stems") -> None:
        self.of: Callable[[int], Reader] = lru_cache(maxsize=_READERS)(
            lambda user: Reader(data.history(user), self._count, tokens=tokens)
        )
        self._counter: TokenCounter | None = None

    def _count(self, texts: Sequence[str]) -> list[int]:
        if self._counter is None:
            self._counter = embedded_counter()
        return self._counter.count(texts)


class HicupidEvaluation:
    """The items of a run, how one becomes a record, and what the records come to."""

    def __init__(
        self,
        data: HicupidSet,
        settings: HicupidSettings,
        prompts: PromptFolder,
        *,
        readers: HicupidReaders | None = None,
        search: DenseSearch | None = None,
        judge: str | None = None,
        truth: Truth | None = None,
    ) -> None:
        self.data = data
        self.settings = settings
        self.items = [q for q in data.questions() if q.type in settings.types]
        if not self.items:
            raise UsageError(f"{data.name} has no {' or '.join(settings.types)} questions in {', '.join(data.splits)}")
        self._view = settings.view()
        self._prompts = HicupidPrompts(
            prompts,
            types=() if settings.retrieval_only else settings.types,
            shots=settings.shots,
            instruction=settings.instruction,
            summaries=self._view.kind == "summary",
            branches=len(self.items),
        )
        self._readers = readers or HicupidReaders(data, tokens=settings.bm25_tokens)
        self._search = search
        self._judge = judge
        self._truth = truth
        self._judging = HicupidJudging(self._prompts, truth)
        self._profiles: dict[int, Profile] = {q.user_id: q.profile for q in data.questions() if q.profile}

    def groups(self, limit: int | None) -> list[list[Question]]:
        """Questions of a user that stand together; they share a trunk where the history view allows it."""
        return [list(group) for _, group in groupby(self.items[:limit], key=lambda q: (q.split, q.user_id))]

    def notes(self) -> list[str]:
        notes = [TRUTH_NOTE] if self._truth is not None else []
        if self.settings.retrieval_only:
            notes.append("retrieval alone: no model was asked")
        if not self.settings.splits and self.data.splits == ("train",):
            notes.append("the set has no other split than train: its questions may be those a model was trained on")
        if self._judge is not None and "hicupid" in self._judge.lower() and not self._prompts.judge_is_imported:
            notes.append(
                "the judge is fine-tuned, and ran on other words than it was trained on: import them (--prompts)"
            )
        return notes

    def side(self, question: Question) -> str:
        """Which side the model's answer takes: half of them each way, the same on every machine."""
        return "AB"[self.settings.number("side", question) % 2]

    def sides(self, question: Question) -> str:
        """The sides that the model's answer takes, one after the other."""
        side = self.side(question)
        return "AB" if side == "A" else "BA"

    def judgements(self, question: Question) -> str:
        """On which sides the answer is judged: one, or both; satisfaction knows no sides."""
        twice = self.settings.both_orders and question.type != "schedule"
        return self.sides(question) if twice else self.side(question)

    def plan(self, group: Sequence[Question], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        if self.settings.retrieval_only:
            return
        summaries: list[str] | None = None
        guessed = self._view.kind == "dense"  # what will be found is not known: keywords find as much
        if self._view.kind == "summary":
            asked = [self._prompts.summary(d) for d in self._readers.of(group[0].user_id).history]
            yield from (Planned("model", prompt, SUMMARY_SAMPLING, 40) for prompt in asked)
            found = [known("model", prompt, SUMMARY_SAMPLING) for prompt in asked]
            guessed = None in found
            summaries = ["word " * 30 if text is None else text.strip() for text in found]
        view = View("bm25", self._view.number, unit=self._view.unit) if guessed and not summaries else self._view
        reader = self._readers.of(group[0].user_id)
        for question, (prompt, _) in zip(group, self._asked(group, reader, view, summaries), strict=True):
            sampling = self.settings.sampling(question)
            yield Planned("model", prompt, sampling, min(self.settings.max_tokens, 60), guessed)
            if "judge" in roles:
                answer = None if guessed else known("model", prompt, sampling)
                for side in self.judgements(question):
                    judged = self._prompts.judge(question, "word " * 48 if answer is None else answer, answer_is=side)
                    yield Planned("judge", judged, JUDGE_SAMPLING, 90, estimated=answer is None)

    def _asked(
        self, group: Sequence[Question], reader: Reader, view: View, summaries: Sequence[str] | None
    ) -> list[tuple[Prompt, History]]:
        """The prompts of a group, in order, and the part of the history in each."""
        if summaries is not None:
            return [(p, ()) for p in self._prompts.together(group, (), self._prompts.notes(summaries))]
        if view.by_question:
            seen = [reader.show(view, evidence=q.evidence, query=q.question) for q in group]
            return [(self._prompts.alone(q, history), history) for q, history in zip(group, seen, strict=True)]
        history = reader.show(view, evidence=(), query="")
        return [(prompt, history) for prompt in self._prompts.together(group, history)]

    def open_group(self, group: Sequence[Question], askers: Mapping[str, Asker]) -> Work[Question]:
        ready = asyncio.ensure_future(self._prepared(group, askers))

        async def work(question: Question) -> Record:
            record = self._about(question)
            try:
                prompt, seen = (await asyncio.shield(ready))[question.key]
            except RequestFailed as failed:
                return record | _failure("summary", failed)
            record |= seen
            if self.settings.retrieval_only:
                return record
            return await self._answered(record, question, prompt, askers)

        return work

    async def _prepared(
        self, group: Sequence[Question], askers: Mapping[str, Asker]
    ) -> dict[str, tuple[Prompt, Record]]:
        """Each question's prompt, and what there is to say of the history in it."""
        summaries: list[str] | None = None
        reader = self._readers.of(group[0].user_id)
        if self._view.kind == "summary":
            asked = (askers["model"].ask(self._prompts.summary(d), SUMMARY_SAMPLING) for d in reader.history)
            summaries = [completion.text.strip() for completion in await gather_in_order(*asked)]
        if self._view.kind == "dense" and self._search is not None:
            await self._search.rank(reader, self._view.unit, [q.question for q in group])
        kinds = {dialogue.id: dialogue.kind for dialogue in reader.history}
        prepared, context = {}, None
        for question, (prompt, history) in zip(group, self._asked(group, reader, self._view, summaries), strict=True):
            if summaries is not None:
                context = {"turns": 0, "characters": len(self._prompts.notes(summaries))}
            elif context is None or self._view.by_question:
                context = _size(history)
            prepared[question.key] = (prompt, {"shown": context} | self._found(question, history, kinds))
        return prepared

    def _found(self, question: Question, history: History, kinds: Mapping[int, str]) -> Record:
        """Whether what the answer needs is in the part of the history that is shown, where that is in doubt."""
        seen: Record = {}
        if self._view.searches or self._view.kind == "last":
            found = [dialogue.id for dialogue in history]
            seen["recall"] = recall_of(question, found, kinds)
            if self._view.searches:
                seen["retrieved"] = found
        return seen

    async def _answered(
        self, record: Record, question: Question, prompt: Prompt, askers: Mapping[str, Asker]
    ) -> Record:
        try:
            completion = await askers["model"].ask(prompt, self.settings.sampling(question))
        except RequestFailed as failed:
            return record | _failure("answer", failed)
        record |= {
            "answer": completion.text,
            "finish": completion.finish,
            "bleu": bleu(completion.text, question.personalized_answer),
            "rouge_l": rouge_l(completion.text, question.personalized_answer),
            "answer_is": self.side(question),
        }
        sides = self.judgements(question)
        try:
            said = await gather_in_order(
                *(self._judging.judgement(question, completion.text, side, askers.get("judge")) for side in sides)
            )
        except RequestFailed as failed:
            return record | _failure("judge", failed)
        found = [verdict_of(question, text, side) for text, side in zip(said, sides, strict=True)]
        record |= {"judgement": said[0], "verdict": found[0]}
        if len(found) > 1:
            record |= {"swapped_judgement": said[1], "swapped_verdict": found[1]}
        scores = [SCORES[verdict] for verdict in found if verdict is not None]
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
        return {"retriever": self._search.embedder.identity} if self._search and self._view.kind == "dense" else {}

    def texts(self) -> Iterator[str]:
        users = dict.fromkeys(question.user_id for question in self.items)
        return (m.text for user in users for d in self._readers.of(user).history for m in d.messages)

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        return summarize(records)


def _size(history: History) -> dict[str, int]:
    messages = [message for dialogue in history for message in dialogue.messages]
    return {
        "turns": sum(message.role == "user" for message in messages),
        "characters": sum(len(message.text) for message in messages),
    }


def _failure(stage: str, failed: RequestFailed) -> Record:
    return {"failure": {"stage": stage, "kind": failed.kind, "reason": failed.reason}}


def opener(data: HicupidSet, settings: Sequence[HicupidSettings], context: Context) -> Opener:
    """Evaluations of one set share the readers of its histories and a dense search."""
    readers = HicupidReaders(data, tokens=settings[0].bm25_tokens)
    dense = next((one for one in settings if one.view().kind == "dense"), None)
    vectors = context.store.with_name(VECTORS_NAME)
    search = DenseSearch(Embedder(dense.retriever, context.tell), vectors) if dense else None
    truth = load_truth(context.data) if context.judge == TRUTH_NAME else None
    judge = context.models.get("judge")
    return lambda one, prompts: HicupidEvaluation(
        data, one, prompts, readers=readers, search=search, judge=judge, truth=truth
    )
