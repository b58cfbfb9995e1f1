"""Evaluation of CUPID: which preference applies to a request, and does the answer follow it?

For each instance: (inference) the model states the preference, the judge splits it into a checklist, and the matcher
labels the checklist of each side against the preference of the other. (generation) the model answers, and the judge
scores the answer from 1 to 10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal, TypedDict, TypeVar, get_args

from bowstring.benchmarks.cupid import published
from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.judging import CupidJudging, decomposer_sampling, judge_sampling
from bowstring.benchmarks.cupid.prompts import CupidPrompts
from bowstring.benchmarks.cupid.published_prompts import PublishedPrompts
from bowstring.benchmarks.cupid.scores import summarize
from bowstring.benchmarks.cupid.truth import NAME as TRUTH_NAME
from bowstring.benchmarks.cupid.truth import NOTE as TRUTH_NOTE
from bowstring.benchmarks.cupid.truth import Truth, load_truth
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.interface import Context, Opener
from bowstring.benchmarks.judges import (
    JUDGE_TOKENS_HELP,
    PROTOCOL_HELP,
    VERDICTS_HELP,
    AsPublished,
    Protocol,
    known_verdict,
    plan_judge,
)
from bowstring.benchmarks.stages import dense_search, own_stages, stage_asker, stage_identities
from bowstring.concurrency import gather_in_order
from bowstring.errors import UsageError
from bowstring.history import View, parse_view
from bowstring.history.stages import Asked, Histories, Readers, Shown, StageWords
from bowstring.history.stages.dense import DenseSearch
from bowstring.history.stages.user_stage import UserStages
from bowstring.history.views import Kind
from bowstring.judging import builtin
from bowstring.judging.forms import VerdictRequest, Verdicts
from bowstring.judging.sections import read_preference, read_rating
from bowstring.judging.structured import Unreadable, read_checklist, read_labels
from bowstring.models.interface import RequestFailed
from bowstring.prompts import PromptFolder
from bowstring.records import Completion, Known, Planned, Prompt, Sampling
from bowstring.runs.asking import Asker
from bowstring.runs.failures import failure_of
from bowstring.runs.runner import Record, Work
from bowstring.seeding import seeded_number
from bowstring.settings import check_settings, option

T = TypeVar("T")
Task = Literal["inference", "generation", "both"]
SUMMARY_SAMPLING = Sampling(max_tokens=400, temperature=0.0)
_AS_PUBLISHED = AsPublished(fixed=("max_tokens", "temperature", "judge_tokens", "retriever"), histories=("full",))
WRONG = 0.5  # recall below this is a wrong inference, which gets an error analysis


class _FixedKeywords(TypedDict, total=False):
    task: Task
    max_tokens: int
    temperature: float
    oracle_preference: bool
    analyse: bool
    protocol: Protocol
    judge_tokens: int
    retriever: str
    seed: int
    verdicts: Verdicts


class CupidKeywords(_FixedKeywords, total=False):
    """The fields of `CupidSettings` as keywords of `bowstring.evaluate`."""

    history: str


class CupidSweepKeywords(_FixedKeywords, total=False):
    """The fields of `CupidSettings` as keywords of `bowstring.sweep`."""

    history: str | Sequence[str]


@dataclass(frozen=True, slots=True)
class CupidSettings:
    """Everything that changes a result; defaults as published."""

    task: Task = field(default="both", metadata=option("Task: infer the preference, answer the request, or both."))
    history: str = field(
        default="full",
        metadata=option(
            "What the model sees: full, gold, none, last:N (or last:4k), bm25/session/K, dense/session/K, summary, or "
            "python:module:Class. Repeat for a sweep.",
            axis=True,
        ),
    )
    max_tokens: int = field(default=8192, metadata=option("Maximum length of an answer, in tokens.", min=1))
    temperature: float = field(default=0.0, metadata=option("Temperature of the evaluated model.", min=0, max=2))
    oracle_preference: bool = field(
        default=False, metadata=option("Give the gold preference to the model, for an upper bound.")
    )
    analyse: bool = field(default=False, metadata=option("Let the judge classify the errors of wrong inferences."))
    protocol: Protocol = field(
        default="bowstring",
        metadata=option(PROTOCOL_HELP),
    )
    judge_tokens: int = field(
        default=8192, metadata=option(f"{JUDGE_TOKENS_HELP} The writer of checklists gets half of them.", min=1)
    )
    retriever: str = field(
        default="facebook/contriever", metadata=option("Embedding model for dense search: a hub id or a folder.")
    )
    seed: int = field(default=0, metadata=option("Seed of the sampling."))
    verdicts: Verdicts = field(default="json", metadata=option(VERDICTS_HELP))

    def __post_init__(self) -> None:
        check_settings(self)
        self.view()
        if self.oracle_preference and self.task == "inference":
            raise UsageError("--oracle-preference is only for generation: it reveals what inference asks for")
        if self.protocol == "published" and (self.oracle_preference or self.analyse):
            raise UsageError("--protocol published has no --oracle-preference and no --analyse")

    def view(self) -> View:
        return parse_view(self.history, kinds=get_args(Kind), units=("session",))

    def sampling(self, instance: Instance, task: str) -> Sampling:
        if self.protocol == "published":  # the authors send no seed
            return Sampling(self.max_tokens, self.temperature)
        return Sampling(self.max_tokens, self.temperature, seed=seeded_number(self.seed, task, instance.key) % 2**31)

    def configuration(self) -> dict[str, Any]:
        """The settings that affect this run; the retriever, for example, only if the run retrieves."""
        settings = asdict(self)
        if self.view().kind != "dense":
            del settings["retriever"]
        return settings

    @property
    def tasks(self) -> tuple[str, ...]:
        if self.oracle_preference:
            return ("generation",)
        return ("inference", "generation") if self.task == "both" else (self.task,)


class CupidEvaluation:
    def __init__(
        self,
        data: CupidSet,
        settings: CupidSettings,
        prompts: PromptFolder,
        *,
        readers: Readers | None = None,
        search: DenseSearch | None = None,
        own: UserStages | None = None,
        matcher: str | None = None,
        openai: Collection[str] = (),
        truth: Truth | None = None,
        judge_by_rule: str | None = None,
    ) -> None:
        """`judge_by_rule` is the name of a judge that is not a model."""
        self.data = data
        self._folder, self._judge_by_rule = prompts, judge_by_rule
        self.truth = truth
        self.settings = settings
        self._view = settings.view()
        self._prompts: CupidPrompts = (
            PublishedPrompts(prompts, matcher=matcher, openai=openai)
            if settings.protocol == "published"
            else CupidPrompts(prompts, oracle=settings.oracle_preference, matcher=matcher, verdicts=settings.verdicts)
        )
        tokens = settings.judge_tokens
        self._judging, self._listing = judge_sampling(tokens), decomposer_sampling(tokens)
        words = StageWords(self._prompts.summary, SUMMARY_SAMPLING, summary_tokens=120)
        self._histories = Histories(self._view, readers or Readers(data), words, dense=search, own=own)
        self._search, self._own = search, own

    def groups(self, limit: int | None) -> list[list[Instance]]:
        return [[instance] for instance in self.data.instances[:limit]]

    def whose(self, item: Instance) -> tuple[str, str]:
        return item.persona_id, ""

    def notes(self) -> list[str]:
        notes = [*self._prompts.notes(), *([TRUTH_NOTE] if self.truth is not None else [])]
        if self.settings.protocol == "published":
            usual = CupidSettings(history=self.settings.history, protocol="published").configuration()
            notes += _AS_PUBLISHED.notes(
                self.settings.configuration(),
                usual,
                judge_by_rule=self._judge_by_rule,
                changed_prompts=self._folder.changed_since_import(),
            )
        if self.settings.oracle_preference:
            notes.append("the gold preference was given to the model: an upper bound, not a result")
        return notes

    def open_group(self, group: Sequence[Instance], askers: Mapping[str, Asker]) -> Work[Instance]:  # noqa: ARG002
        return lambda instance: _InstanceRun(self, instance, askers).record()

    async def shown(self, instance: Instance, askers: Mapping[str, Asker]) -> Shown:
        """The sessions that an instance sees."""
        return (await self._histories.show(instance.key, [_asked(instance)], stage_asker(askers)))[0]

    def session_texts(self, shown: Shown) -> list[str]:
        """The sessions of a log as texts, or their summaries."""
        return list(shown.notes) if shown.notes is not None else [self._prompts.session(d) for d in shown.dialogues]

    def retrieved(self, instance: Instance, shown: Shown) -> Record:
        """Which sessions were shown, and what share of the evidence is among them, where a stage chose them."""
        if shown.sources is None or self._view.kind not in ("bm25", "dense", "python"):
            return {}
        found: Record = {"retrieved": list(shown.sources)}
        if instance.evidence:
            hits = sum(session in shown.sources for session in instance.evidence)
            found["evidence_recall"] = hits / len(instance.evidence)
        return found

    @property
    def stage_name(self) -> str:
        return self._histories.stage_name

    def task_prompts(self, instance: Instance, sessions: Sequence[str]) -> dict[str, Prompt]:
        """The prompts of the instance's tasks, with one trunk. `sessions` are texts, numbered from 1."""
        return self._prompts.tasks(instance, sessions, self.settings.tasks)

    def plan(self, group: Sequence[Instance], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        for instance in group:
            planned, shown, guessed = self._histories.plan(instance.key, [_asked(instance)], known)
            yield from planned
            sessions = self.session_texts(shown[0])
            for task, prompt in self.task_prompts(instance, sessions).items():
                sampling = self.settings.sampling(instance, task)
                yield Planned("model", prompt, sampling, 300 if task == "inference" else 400, guessed)
                answer = None if guessed else known("model", prompt, sampling)
                if "judge" in roles and task == "inference":
                    yield from self._plan_matching(instance, answer, roles, known)
                elif "judge" in roles:
                    judged = self._prompts.judge(instance, "word " * 300 if answer is None else answer)
                    yield plan_judge("judge", judged, self._judging, 200, estimated=answer is None)

    def _plan_matching(
        self, instance: Instance, answer: str | None, roles: Sequence[str], known: Known
    ) -> Iterator[Planned]:
        inferred = read_preference(answer) if answer is not None else None
        if answer is not None and inferred is None:
            return  # unparsed: there is nothing to match
        decompose = self._prompts.decompose(inferred or instance.preference)
        yield plan_judge("judge", decompose, self._listing, 80, estimated=inferred is None)
        items = None
        if inferred is not None:
            items = yield from self._plan_repair("judge", decompose, self._listing, read_checklist, known)
        matcher = "matcher" if "matcher" in roles else "judge"
        found: tuple[float, ...] | None = None
        for entries, preference in (
            (items or instance.checklist, instance.preference),
            (instance.checklist, inferred or instance.preference),
        ):
            match = self._prompts.match(entries, preference)
            yield plan_judge(matcher, match, self._judging, 120, estimated=items is None)
            if items is not None:
                found = yield from self._plan_repair(
                    matcher, match, self._judging, partial(read_labels, items=entries), known
                )
        if self.settings.analyse and (found is None or sum(found) / len(found) < WRONG):
            analysis = self._prompts.analysis(instance, inferred or instance.preference)
            yield Planned("judge", analysis, self._judging, 60, found is None)

    def _plan_repair(
        self, role: str, request: VerdictRequest, sampling: Sampling, read: Callable[[str], T], known: Known
    ) -> Generator[Planned, None, T | None]:
        """The parsed stored answer, if there is one; a needed repair request is planned, too."""
        said = known_verdict(role, request, sampling, known)
        if said is None:
            return None
        try:
            return read(said)
        except Unreadable as error:
            again = self._prompts.repair(request, said, str(error))
        if self.settings.protocol == "published":
            return None
        yield plan_judge(role, again, sampling, 120)
        repaired = known_verdict(role, again, sampling, known)
        try:
            return read(repaired) if repaired is not None else None
        except Unreadable:
            return None

    def identities(self) -> dict[str, str]:
        return stage_identities(self._view, self._search, self._own)

    def texts(self) -> Iterator[str]:
        return (m.text for instance in self.data.instances for d in instance.history for m in d.messages)

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        return summarize(records, protocol=self.settings.protocol, analysed=self.settings.analyse)


class _InstanceRun:
    """The evaluation of one instance."""

    def __init__(self, evaluation: CupidEvaluation, instance: Instance, askers: Mapping[str, Asker]) -> None:
        self.evaluation = evaluation
        self.settings = evaluation.settings
        self.prompts = evaluation._prompts
        self.instance = instance
        self.askers = askers
        self.model = askers["model"]
        self.judge = askers.get("judge")
        matcher = askers.get("matcher", self.judge)
        self.judging = CupidJudging(self.prompts, self.judge, matcher, self.settings.judge_tokens, evaluation.truth)

    async def record(self) -> Record:
        record = _about(self.instance)
        if self.evaluation.truth is not None:
            record["rules"] = "held-out" if self.evaluation.truth.is_held_out(self.instance) else "seen"
        try:
            shown = await self.evaluation.shown(self.instance, self.askers)
            sessions = self.evaluation.session_texts(shown)
            if not all(text.strip() for text in shown.notes or ()):
                stage = self.evaluation.stage_name
                raise Unreadable(
                    "a summary is empty" if stage == "summary" else f"a text of the stage {stage} is empty"
                )
            record["shown"] = {"sessions": len(sessions), "characters": sum(map(len, sessions))}
            record |= self.evaluation.retrieved(self.instance, shown)
            prompts = self.evaluation.task_prompts(self.instance, sessions)
        except RequestFailed as failed:
            failure = {"failure": failure_of(self.evaluation.stage_name, failed)}
            return record | {task: dict(failure) for task in self.settings.tasks}
        except Unreadable as unreadable:
            left_out = {"unparsed": self.evaluation.stage_name, "why": str(unreadable)}
            return record | {task: dict(left_out) for task in self.settings.tasks}
        if self.settings.protocol == "published":
            record |= await self._as_published(prompts)
        else:
            work = {"inference": self._infer, "generation": self._generate}
            done = await gather_in_order(*(work[task](prompt) for task, prompt in prompts.items()))
            record |= dict(zip(prompts, done, strict=True))
        return record | {"published": published.outcome(record, list(prompts), tuned=self.prompts.tuned).as_json()}

    async def _as_published(self, prompts: Mapping[str, Prompt]) -> Record:
        """The tasks in the authors' order: an inference without a result is the end of the instance."""
        found: Record = {}
        if "inference" in prompts:
            found["inference"] = result = Record()
            try:
                await self._infer_as_published(prompts["inference"], result)
            except published.Dropped as why:
                result.setdefault("unparsed", "preference" if "preference" not in result else "checklist")
                result.setdefault("why", str(why))
                if "generation" in prompts:
                    found["generation"] = {"unparsed": "inference", "why": "the instance has no inference"}
                return found
        if "generation" in prompts:
            found["generation"] = await self._generate(prompts["generation"])
        return found

    async def _infer_as_published(self, prompt: Prompt, result: Record) -> None:
        """Ask what the authors' code asks, and fill the result with what we read; raise Dropped where it has none."""
        stage = "answer"
        try:
            completion = await self._ask_model(prompt, "inference")
            result |= {"response": completion.text, "finish": completion.finish}
            result["preference"] = preference = published.read_preference(completion.text)
            stage = "decompose"
            result["decomposition"] = said = await self.judging.write_checklist(preference)
            items = [str(item) for item in published.read_checklist(said)]
            result["checklist"] = items
            if not all(map(published.can_be_sent, items)):
                raise Unreadable("an item of the checklist is not text that can be sent")
            stage = "match"
            texts = result["transcripts"] = Record()
            texts["precision"] = await self.judging.label(items, self.instance.preference)
            if published.read_results(texts["precision"], tuned=self.prompts.tuned) is published.UNREAD:
                raise Unreadable("the labels of the inferred items cannot be read")
            texts["recall"] = await self.judging.label(self.instance.checklist, preference)
            self._read_as_ours(result)
        except published.Ends as why:
            result |= {"unparsed": "checklist", "why": str(why)}
        except Unreadable as unreadable:
            result |= {"unparsed": "match", "why": str(unreadable)}
        except RequestFailed as failed:
            result["failure"] = failure_of(stage, failed)
            if stage != "match" and not published.is_too_long(failed.reason):
                raise published.Dropped(f"the request failed: {failed.reason}") from failed

    def _read_as_ours(self, result: Record) -> None:
        """Read labels by our rules, where these would have asked the same; raise Unreadable."""
        if read_preference(result["response"]) != result["preference"]:
            raise Unreadable("by our rules it is another preference")
        if list(read_checklist(result["decomposition"])) != result["checklist"]:
            raise Unreadable("by our rules it is another checklist")
        texts = result["transcripts"]
        covered = read_labels(texts["precision"], result["checklist"])
        found = read_labels(texts["recall"], self.instance.checklist)
        result |= {"precision": list(covered), "recall": list(found)}

    async def _infer(self, prompt: Prompt) -> Record:
        heard: dict[str, list[str]] = {"decomposition": [], "precision": [], "recall": []}
        return await self._inferred(prompt, heard) | _texts(heard)

    async def _inferred(self, prompt: Prompt, heard: dict[str, list[str]]) -> Record:
        result: Record = {}
        stage = "answer"
        try:
            completion = await self._ask_model(prompt, "inference")
            result |= {"response": completion.text, "finish": completion.finish}
            inferred = read_preference(completion.text)
            if inferred is None:
                return result | {"unparsed": "preference"}
            result["preference"] = inferred
            stage = "decompose"
            result["checklist"] = list(await self.judging.decompose(inferred, heard["decomposition"]))
            stage = "match"
            covered, found = await gather_in_order(
                self.judging.match(result["checklist"], self.instance.preference, heard["precision"]),
                self.judging.match(self.instance.checklist, inferred, heard["recall"]),
            )
            result |= {"precision": list(covered), "recall": list(found)}
            if self.settings.analyse and sum(found) / len(found) < WRONG:
                result["error"] = await self._analyse(inferred)
        except Unreadable as unreadable:
            result |= {"unparsed": {"decompose": "checklist"}.get(stage, stage), "why": str(unreadable)}
        except RequestFailed as failed:
            result["failure"] = failure_of(stage, failed)
        return result

    async def _generate(self, prompt: Prompt) -> Record:
        result: Record = {}
        stage = "answer"
        try:
            completion = await self._ask_model(prompt, "generation")
            result |= {"response": completion.text, "finish": completion.finish}
            stage = "judge"
            result["judgement"] = await self.judging.judgement(self.instance, completion.text)
            result["score"] = read_rating(result["judgement"])
            if result["score"] is None:
                result["unparsed"] = "score"
        except RequestFailed as failed:
            result["failure"] = failure_of(stage, failed)
        return result

    async def _ask_model(self, prompt: Prompt, task: str) -> Completion:
        return await self.model.ask(prompt, self.settings.sampling(self.instance, task))

    async def _analyse(self, inferred: str) -> Record:
        if self.judge is None:
            said = builtin.error_category(inferred, [s.preference for s in self.instance.sessions])
        else:
            try:
                sampling = judge_sampling(self.settings.judge_tokens)
                prompt = self.prompts.analysis(self.instance, inferred)
                said = (await self.judge.ask(prompt, sampling, purpose="error analyses")).text
            except RequestFailed as failed:  # the inference is valid without it
                return {"category": None, "failure": failure_of("analyse", failed)}
        return {"said": said, "category": self.prompts.read_category(said)}


def _texts(heard: Mapping[str, Sequence[str]]) -> Record:
    """What judge and matcher said: the texts that count, and the first ones where they were asked again."""
    if not heard["decomposition"]:
        return {}
    last = {name: texts[-1] for name, texts in heard.items() if texts}
    first = {name: texts[0] for name, texts in heard.items() if len(texts) > 1}
    found: Record = {"decomposition": last.pop("decomposition")}
    return found | ({"transcripts": last} if last else {}) | ({"first": first} if first else {})


def _asked(instance: Instance) -> Asked:
    return Asked(instance.request, instance.evidence)


def _about(instance: Instance) -> Record:
    evidence = instance.evidence
    return {
        "key": instance.key,
        "persona": instance.persona_id,
        "type": instance.type,
        "request": instance.request,
        "context_factor": instance.context_factor,
        "preference": instance.preference,
        "category": instance.category,
        "checklist": list(instance.checklist),
        "evidence": list(evidence),
        "distance": len(instance.sessions) - 1 - evidence[-1] if evidence else None,
    }


def opener(data: CupidSet, settings: Sequence[CupidSettings], context: Context) -> Opener:
    """An opener whose evaluations share the history readers and a dense search."""
    readers, search = Readers(data), dense_search(settings, context)
    matcher = context.models.get("matcher")
    truth = load_truth(context.data) if context.judge == TRUTH_NAME else None
    return lambda one, prompts: CupidEvaluation(
        data,
        one,
        prompts,
        readers=readers,
        search=search,
        own=own_stages(one.view()),
        matcher=matcher,
        openai=context.openai,
        truth=truth,
        judge_by_rule=None if "judge" in context.models else context.judge,
    )
