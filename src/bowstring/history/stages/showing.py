"""Every user's history on its way into prompts, by one view: `--history full`, `bm25/utterance/5`, `summary` …

histories = Histories(data, view, readers, words)
shown = await histories.show("3", [Asked("What should I cook?", evidence=(121,))], ask)
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
from bowstring.records import STAGE_ROLE, Completion, Dialogue, Known, Planned, Prompt, Sampling

_KEPT = 32  # users whose readers or stages are kept at a time
_WORDS_PER_TOKEN = 0.75
_WORD = "word "
_MARK = _WORD * 8  # what a prompt holds that was made of an answer which is not there yet


class Asked(NamedTuple):
    """A question, and the ids of the dialogues that hold what its answer needs; only the view `gold` looks at these."""

    text: str
    evidence: tuple[int, ...] = ()


def _no_summary(dialogue: Dialogue) -> Prompt:
    raise LookupError(f"no prompt for a summary of dialogue {dialogue.id}")


@dataclass(frozen=True, slots=True)
class StageWords:
    """A benchmark's own words and lengths for the stages that ask models."""

    summary_prompt: Callable[[Dialogue], Prompt] = field(default=_no_summary)
    summary_sampling: Sampling = field(default=Sampling(max_tokens=400, temperature=0.0))
    summary_tokens: int = 120  # of a summary, about


class Readers:
    """Readers of histories; evaluations of one data set share them, so that nothing is indexed twice."""

    def __init__(self, data: DataSet, *, tokens: str = "stems") -> None:
        self.of: Callable[[str], Reader] = lru_cache(maxsize=_KEPT)(
            lambda key: Reader(data.history_named(key), self._count, tokens=tokens)
        )
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
        """`dense` is the search of a dense view, `own` makes a user's own stage."""
        self.view = view
        self._readers, self._words, self._dense, self._own = readers, words or StageWords(), dense, own
        self._opened: OrderedDict[str, asyncio.Future[tuple[Stage, asyncio.Lock]]] = OrderedDict()

    @property
    def stage_name(self) -> str:
        """What a failure in a stage is called in records."""
        return "summary" if self.view.kind == "summary" else "history"

    @property
    def per_question(self) -> bool:
        """Whether two questions of a user may be shown different things."""
        return self.view.by_question

    async def show(self, key: str, asked: Sequence[Asked], ask: Ask) -> list[Shown]:
        """What each question is shown of the history `key`. Raises RequestFailed where a stage could not ask."""
        if not self.view.is_stage:
            return list(self._selected(key, asked, self.view))
        stage, turn = await self._stage(key, ask)
        async with turn:  # a stage has a state: one question at a time, in their order
            await stage.expect([one.text for one in asked])
            return [await stage.retrieve(one.text) for one in asked]

    def _selected(self, key: str, asked: Sequence[Asked], view: View) -> Iterator[Shown]:
        """What a view shows that needs no stage, made once where it is the same for all."""
        reader = self._readers.of(key)
        same: Shown | None = None
        for one in asked:
            if same is None or view.by_question:
                found = reader.show(view, evidence=one.evidence, query=one.text)
                same = Shown(found, sources=tuple(dialogue.id for dialogue in found))
            yield same

    async def _stage(self, key: str, ask: Ask) -> tuple[Stage, asyncio.Lock]:
        """The stage of a user, with their history taken in: once, whoever asks first."""
        if key not in self._opened:
            self._opened[key] = asyncio.ensure_future(self._open(key, ask))
            while len(self._opened) > _KEPT and next(iter(self._opened.values())).done():
                self._opened.popitem(last=False)
        opened = self._opened[key]
        try:
            return await asyncio.shield(opened)
        except BaseException:
            if opened.done() and self._opened.get(key) is opened:
                del self._opened[key]  # the next who asks may have better luck
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
            raise LookupError("no stage was given for a view of the user's own")
        return self._own(ask)

    def plan(self, key: str, asked: Sequence[Asked], known: Known) -> tuple[list[Planned], list[Shown], bool]:
        """What the stage of a user would ask, what each question would be shown, and whether that is a guess."""
        view = self.view
        if view.kind == "dense":  # keywords find about as much, and nothing need be embedded
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
    """Answers from the store, and else with words that stand for an answer: a stage runs, and nothing is asked."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.planned: list[Planned] = []
        self.guessed = False  # whether some answer is not there yet

    async def __call__(self, prompt: Prompt, sampling: Sampling, *, expect: int) -> Completion:
        unsure = any(_MARK in message.text for message in prompt.messages)
        self.planned.append(Planned(STAGE_ROLE, prompt, sampling, min(expect, sampling.max_tokens), unsure))
        text = None if unsure else self._known(STAGE_ROLE, prompt, sampling)
        if text is None:
            self.guessed = True
            text = _WORD * max(8, round(expect * _WORDS_PER_TOKEN))
        return Completion(text)
