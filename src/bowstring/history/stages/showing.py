"""Prepare every user's history for prompts by one view: `--history full`, `bm25/utterance/5`, `summary` …

histories = Histories(data, view, readers, words)
shown = await histories.show("3", [Asked("What should I cook?", evidence=(121,))], ask)
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from bowstring.concurrency import run_anywhere
from bowstring.datasets.dataset import DataSet
from bowstring.history.reader import Reader
from bowstring.history.stages.dense import DenseSearch
from bowstring.history.stages.interface import Ask, Shown, Stage
from bowstring.history.views import View
from bowstring.models.interface import RequestFailed
from bowstring.models.tokens import TokenCounter, embedded_counter
from bowstring.records import STAGE_ROLE, Completion, Dialogue, History, Known, Planned, Prompt, Sampling

_CACHED = 32  # cached readers or stages (users)
_WORDS_PER_TOKEN = 0.75
_WORD = "word "
_MARK = _WORD * 8  # placeholder for an answer that does not exist yet


class Asked(NamedTuple):
    """A question, and the ids of the dialogues with its evidence; only the view `gold` uses these."""

    text: str
    evidence: tuple[int, ...] = ()


def _no_summary(dialogue: Dialogue) -> Prompt:
    raise LookupError(f"this benchmark has no summary prompt for dialogue {dialogue.id}")


@dataclass(frozen=True, slots=True)
class StageWords:
    """A benchmark's prompts and lengths for stages that call models."""

    summary_prompt: Callable[[Dialogue], Prompt] = field(default=_no_summary)
    summary_sampling: Sampling = field(default=Sampling(max_tokens=400, temperature=0.0))
    summary_tokens: int = 120  # approximate length of a summary


class Readers:
    """Readers of histories, shared by all evaluations of a data set so that nothing is indexed twice."""

    def __init__(
        self, data: DataSet, *, tokens: str = "stems", arranged: Callable[[History], History] | None = None
    ) -> None:
        """`arranged` puts the dialogues of a history in another order than that of the data set."""

        def reader(key: str) -> Reader:
            history = data.history_named(key)
            return Reader(history if arranged is None else arranged(history), self._count, tokens=tokens)

        self.of: Callable[[str], Reader] = lru_cache(maxsize=_CACHED)(reader)
        self._counter: TokenCounter | None = None

    def _count(self, texts: Sequence[str]) -> list[int]:
        if self._counter is None:
            self._counter = embedded_counter()
        return self._counter.count(texts)


class Histories:
    def __init__(
        self,
        view: View,
        readers: Readers,
        words: StageWords | None = None,
        *,
        dense: DenseSearch | None = None,
        own: Callable[[Ask], Stage] | None = None,
    ) -> None:
        """`dense` is the search of a dense view; `own` creates a user-supplied stage."""
        self.view = view
        self._readers, self._words, self._dense, self._own = readers, words or StageWords(), dense, own
        self._opened: OrderedDict[str, asyncio.Future[tuple[Stage, asyncio.Lock]]] = OrderedDict()

    @property
    def stage_name(self) -> str:
        """The name of the stage in failure records."""
        return "summary" if self.view.kind == "summary" else "history"

    @property
    def per_question(self) -> bool:
        """Whether what is shown may differ between questions of a user."""
        return self.view.by_question

    async def show(self, key: str, asked: Sequence[Asked], ask: Ask) -> list[Shown]:
        """Return what each question is shown of the history `key`. Raises RequestFailed if a stage's request fails."""
        if not self.view.is_stage:
            return list(self._selected(key, asked, self.view))
        stage, turn = await self._stage(key, ask)
        async with turn:  # stages are stateful: one question at a time, in order
            await stage.expect([one.text for one in asked])
            shown = [await stage.retrieve(one.text) for one in asked]
        if any(one.notes and one.sources is None for one in shown):  # then "nothing" has no known source either
            shown = [replace(one, sources=one.sources or None) for one in shown]
        return shown

    def _selected(self, key: str, asked: Sequence[Asked], view: View) -> Iterator[Shown]:
        """Yield what a view without a stage shows, computed once if it is the same for all questions."""
        reader = self._readers.of(key)
        same: Shown | None = None
        for one in asked:
            if same is None or view.by_question:
                found = reader.show(view, evidence=one.evidence, query=one.text)
                same = Shown(found, sources=tuple(dialogue.id for dialogue in found))
            yield same

    async def _stage(self, key: str, ask: Ask) -> tuple[Stage, asyncio.Lock]:
        """Return a user's stage with the history ingested; this happens once, on first use."""
        if key not in self._opened:
            self._opened[key] = asyncio.ensure_future(self._open(key, ask))
            while len(self._opened) > _CACHED and next(iter(self._opened.values())).done():
                self._opened.popitem(last=False)
        opened = self._opened[key]
        try:
            return await asyncio.shield(opened)
        except BaseException:
            if opened.done() and self._opened.get(key) is opened:
                del self._opened[key]  # the next caller retries
            raise

    async def _open(self, key: str, ask: Ask) -> tuple[Stage, asyncio.Lock]:
        stage = self._make(ask)
        await stage.open(key)
        for dialogue in self._readers.of(key).history:
            await stage.ingest(dialogue)
        return stage, asyncio.Lock()

    def _make(self, ask: Ask) -> Stage:
        from bowstring.history.stages.search import Search
        from bowstring.history.stages.summary import Summary

        if self.view.searches:
            return Search(self.view, self._readers.of, self._dense)
        if self.view.kind == "summary":
            return Summary(ask, self._words)
        if self._own is None:
            raise LookupError("no user-supplied stage was given for this view")
        return self._own(ask)

    def plan(self, key: str, asked: Sequence[Asked], known: Known) -> tuple[list[Planned], list[Shown], bool]:
        """Return what a user's stage would request, what each question would be shown, and whether that is an
        estimate."""
        view = self.view
        if view.kind == "dense":  # keyword search finds about as much, without embedding anything
            return [], list(self._selected(key, asked, View("bm25", view.number, unit=view.unit))), True
        if not view.asks:
            return [], list(self._selected(key, asked, view)), False
        planning = PlannedAsk(known)

        async def run() -> list[Shown]:
            stage, _ = await self._open(key, planning)
            await stage.expect([one.text for one in asked])
            return [await stage.retrieve(one.text) for one in asked]

        try:
            return planning.planned, run_anywhere(run), planning.guessed
        except RequestFailed:
            if not planning.guessed:
                raise
            # A stage that reads its answers cannot read a placeholder: the rest of its requests is unknown.
            return planning.planned, list(self._selected(key, asked, View("full"))), True


class PlannedAsk:
    """Answers from the store, or else with placeholder text, so that a stage runs without sending requests."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.planned: list[Planned] = []
        self.guessed = False  # whether any answer was a placeholder

    async def __call__(self, prompt: Prompt, sampling: Sampling, *, expect: int) -> Completion:
        unsure = any(_MARK in message.text for message in prompt.messages)
        self.planned.append(Planned(STAGE_ROLE, prompt, sampling, min(expect, sampling.max_tokens), unsure))
        text = None if unsure else self._known(STAGE_ROLE, prompt, sampling)
        if text is None:
            self.guessed = True
            text = _WORD * max(8, round(expect * _WORDS_PER_TOKEN))
        return Completion(text)
