"""HiCUPID: a user's questions behind their history, judged against the gold answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.benchmarks.benchmark import Known, Planned, check_sampling
from bowstring.datasets import HicupidSet
from bowstring.errors import UsageError
from bowstring.history import View, parse_view, select
from bowstring.judging import builtin, verdicts
from bowstring.metrics.intervals import Means, Score, estimate
from bowstring.models.interface import RequestFailed
from bowstring.models.tokens import TokenCounter, embedded_counter
from bowstring.prompts import PromptFolder
from bowstring.records import (
    QUESTION_TYPES,
    Completion,
    Dialogue,
    History,
    Message,
    Prompt,
    Question,
    Sampling,
    Trunk,
)
from bowstring.runs.asking import Asker
from bowstring.runs.runner import Record, Work

JUDGE_SAMPLING = Sampling(max_tokens=512, temperature=0.0)
_JUDGE_NEEDS = {
    "persona": frozenset({"relation", "entity", "question", "answer_a", "answer_b"}),
    "profile": frozenset({"relation", "entity", "question", "answer_a", "answer_b", "age", "occupation"}),
    "schedule": frozenset({"datetime", "event", "question", "answer"}),
}
_PERSONA = frozenset({"category", "relation", "entity", "sentiment"})
_PROFILE = frozenset({"age", "gender", "personality", "occupation", "income_range"})
_JUDGE_MAY = {"persona": _PERSONA, "profile": _PERSONA | _PROFILE, "schedule": frozenset[str]()}
_AXES = ("type", "split", "sentiment", "category")


@dataclass(frozen=True, slots=True)
class HicupidSettings:
    """What changes a result; defaults as published."""

    splits: tuple[str, ...] = ()
    types: tuple[str, ...] = QUESTION_TYPES
    history: str = "full"
    max_tokens: int = 200
    temperature: float = 0.6
    top_k: int | None = 50
    seed: int = 0

    def __post_init__(self) -> None:
        check_sampling(self.max_tokens, self.temperature, self.seed)
        self.view()
        for kind in self.types:
            if kind not in QUESTION_TYPES:
                raise UsageError(f"--type {kind}: expected {', '.join(QUESTION_TYPES)}")

    def view(self) -> View:
        return parse_view(self.history, kinds=("full", "gold", "none", "last"))


class HicupidEvaluation:
    """The items of a run, how one becomes a record, and what the records come to."""

    def __init__(self, data: HicupidSet, settings: HicupidSettings, prompts: PromptFolder) -> None:
        self.data = data
        self.settings = settings
        self.items = [q for q in data.questions() if q.type in settings.types]
        if not self.items:
            raise UsageError(f"{data.name} has no {' or '.join(settings.types)} questions in {', '.join(data.splits)}")
        self._instruction = prompts.get("hicupid/ask").system_text()
        self._judges = {
            t: prompts.get(f"hicupid/judge_{t}", needs=_JUDGE_NEEDS[t], may=_JUDGE_MAY[t]) for t in settings.types
        }
        self._judge_trunks: dict[str, Trunk] = {}
        self._view = settings.view()
        # All questions of a user see the same history, unless it is chosen by question.
        self._shared = self._view.kind != "gold"
        self._counter: TokenCounter | None = None

    def groups(self, limit: int | None) -> list[list[Question]]:
        """Questions of a user that stand together; they share a trunk where the history view allows it."""
        return [list(group) for _, group in groupby(self.items[:limit], key=lambda q: (q.split, q.user_id))]

    def prompts(self, group: Sequence[Question]) -> Iterator[Prompt]:
        """The prompts of a group, in order."""
        history = self.data.history(group[0].user_id)
        trunk: Trunk | None = None
        for question in group:
            if trunk is None or not self._shared:
                seen = select(self._view, history, question.evidence, question.question, self._tokens)
                branches = len(group) if self._shared else 1
                trunk = Trunk((Message("system", (self._instruction,)), *_messages(seen)), branches=branches)
            yield Prompt(trunk, (Message("user", (question.question,)),))

    def _tokens(self, dialogue: Dialogue) -> int:
        if self._counter is None:
            self._counter = embedded_counter()
        return sum(self._counter.count(message.text for message in dialogue.messages))

    def plan(self, group: Sequence[Question], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        for question, prompt in zip(group, self.prompts(group), strict=True):
            sampling = self.sampling(question)
            yield Planned("model", prompt, sampling, min(self.settings.max_tokens, 60))
            if "judge" in roles:
                answer = known("model", prompt, sampling)
                judged = self.judge_prompt(question, "word " * 48 if answer is None else answer)
                yield Planned("judge", judged, JUDGE_SAMPLING, 90, estimated=answer is None)

    def notes(self) -> list[str]:
        return []

    def sampling(self, question: Question) -> Sampling:
        s = self.settings
        return Sampling(s.max_tokens, s.temperature, s.top_k, seed=_number(s.seed, "answer", question) % 2**31)

    def judge_prompt(self, question: Question, answer: str) -> Prompt:
        fixed, rest = self._judges[question.type].user_parts(**self._values(question, answer))
        trunk = self._judge_trunks.setdefault(
            question.type, Trunk((Message("user", (fixed,)),) if fixed else (), branches=len(self.items))
        )
        return Prompt(trunk, (Message("user", (rest,)),))

    def open_group(self, group: Sequence[Question], askers: Mapping[str, Asker]) -> Work[Question]:
        model, judge = askers["model"], askers.get("judge")
        prompts = {q.key: p for q, p in zip(group, self.prompts(group), strict=True)}

        async def work(question: Question) -> Record:
            return await self._record(question, prompts[question.key], model, judge)

        return work

    async def _record(self, question: Question, prompt: Prompt, model: Asker, judge: Asker | None) -> Record:
        record = _about(question)
        try:
            completion = await model.ask(prompt, self.sampling(question))
        except RequestFailed as failed:
            return record | {"failure": {"stage": "answer", "kind": failed.kind, "reason": failed.reason}}
        record |= {"answer": completion.text, "finish": completion.finish, "answer_is": self.side(question)}
        try:
            said = await self._judgement(question, completion, judge)
        except RequestFailed as failed:
            return record | {"failure": {"stage": "judge", "kind": failed.kind, "reason": failed.reason}}
        return record | {"judgement": said} | self._scored(question, said)

    async def _judgement(self, question: Question, completion: Completion, judge: Asker | None) -> str:
        if judge is not None:
            answer = await judge.ask(self.judge_prompt(question, completion.text), JUDGE_SAMPLING)
            return answer.text
        if question.type == "schedule" and question.schedule:
            return builtin.satisfaction(completion.text, question.schedule.event)
        return builtin.pairwise(
            completion.text, question.personalized_answer, question.general_answer, answer_is=self.side(question)
        )

    def _scored(self, question: Question, said: str) -> Record:
        """The verdict and its score; both None where it could not be read."""
        if question.type == "schedule":
            satisfied = verdicts.read_satisfaction(said)
            verdict = None if satisfied is None else "yes" if satisfied else "no"
            return {"verdict": verdict, "score": None if satisfied is None else float(satisfied)}
        choice = verdicts.read_pairwise(said)
        if choice is None:
            return {"verdict": None, "score": None}
        verdict = "tie" if choice == "tie" else "win" if choice == self.side(question) else "lose"
        return {"verdict": verdict, "score": {"win": 1.0, "tie": 0.5, "lose": 0.0}[verdict]}

    def side(self, question: Question) -> str:
        """Which side the model's answer takes: half of them each way, the same on every machine."""
        return "AB"[_number(self.settings.seed, "side", question) % 2]

    def _values(self, question: Question, answer: str) -> dict[str, str]:
        values = {"question": question.question, "answer": answer}
        for known in (question.persona, question.profile, question.schedule):
            if known is not None:
                values |= asdict(known)
        first = self.side(question) == "A"
        values["answer_a"], values["answer_b"] = (
            (answer, question.personalized_answer) if first else (question.personalized_answer, answer)
        )
        return values

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        return summarize(records)


def _number(seed: int, purpose: str, question: Question) -> int:
    text = f"{seed}/{purpose}/{question.user_id}/{question.question_id}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _messages(history: History) -> tuple[Message, ...]:
    return tuple(message for dialogue in history for message in dialogue.messages)


def _about(question: Question) -> Record:
    known = {
        "persona": asdict(question.persona) if question.persona else None,
        "profile": asdict(question.profile) if question.profile else None,
        "schedule": asdict(question.schedule) if question.schedule else None,
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


def _total(mean: Means) -> npt.NDArray[np.float64]:
    """As published: 25 persona, 5 profile and 10 schedule questions, the last at half weight."""
    return 100 * (25 * mean["persona"] + 5 * mean["profile"] + 5 * mean["schedule"]) / 40


def summarize(records: Sequence[Record]) -> dict[str, Any]:
    """Metrics of all records, and by every axis they have."""
    groups: dict[str, dict[str, Any]] = {}
    for axis in _AXES:
        values = sorted({v for r in records if (v := _group_of(r, axis)) is not None})
        if len(values) > 1:
            groups[axis] = {v: _metrics([r for r in records if _group_of(r, axis) == v]) for v in values}
    return {
        "n": len(records),
        "unparsed": sum("judgement" in r and r["score"] is None for r in records),
        "failed": sum("failure" in r for r in records),
        "truncated": sum(r.get("finish") == "length" for r in records),
        "answer_is_a": _share([r["answer_is"] == "A" for r in records if r.get("answer_is")]),
        "metrics": _metrics(records),
        "groups": groups,
    }


def _metrics(records: Sequence[Record]) -> dict[str, Any]:
    scores: dict[str, list[Score]] = {
        t: [Score(str(r["user"]), r["score"]) for r in records if r["type"] == t and r.get("score") is not None]
        for t in QUESTION_TYPES
    }
    found = {"score.total": estimate(scores, _total)}
    for kind in QUESTION_TYPES:
        found[f"score.{kind}"] = estimate({"x": scores[kind]}, lambda mean: 100 * mean["x"])
    for outcome in ("win", "tie", "lose"):
        pairwise = [
            Score(str(r["user"]), float(r["verdict"] == outcome))
            for r in records
            if r["type"] != "schedule" and r.get("verdict")
        ]
        found[outcome] = estimate({"x": pairwise}, lambda mean: 100 * mean["x"])
    return {name: e.as_json() for name, e in found.items() if e is not None}


def _group_of(record: Mapping[str, Any], axis: str) -> str | None:
    if axis in ("sentiment", "category"):
        return record["persona"][axis] if record["type"] == "persona" else None
    return str(record[axis])


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None
