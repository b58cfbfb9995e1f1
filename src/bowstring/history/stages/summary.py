"""Summaries as a stage: a model summarizes each dialogue, and all questions see all summaries."""

from __future__ import annotations

from collections.abc import Sequence

from bowstring.concurrency import gather_in_order
from bowstring.history.stages.interface import Ask, Shown
from bowstring.history.stages.showing import StageWords
from bowstring.records import Dialogue


class Summary:
    name = "summary"

    def __init__(self, ask: Ask, words: StageWords) -> None:
        self._ask, self._words = ask, words

    async def open(self, user: str) -> None:  # noqa: ARG002
        self._dialogues: list[Dialogue] = []

    async def ingest(self, dialogue: Dialogue) -> None:
        """Do nothing yet: summaries are independent and are requested all at once."""
        self._dialogues.append(dialogue)

    async def expect(self, questions: Sequence[str]) -> None:  # noqa: ARG002
        w = self._words
        asked = (self._ask(w.summary_prompt(d), w.summary_sampling, expect=w.summary_tokens) for d in self._dialogues)
        self._notes = tuple(completion.text.strip() for completion in await gather_in_order(*asked))

    async def retrieve(self, question: str) -> Shown:  # noqa: ARG002
        return Shown(notes=self._notes)
