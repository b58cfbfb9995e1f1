"""Search as a stage: the units of a history that keyword or dense search finds for a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bowstring.history.reader import Reader
from bowstring.history.stages.dense import DenseSearch
from bowstring.history.stages.interface import Shown
from bowstring.history.views import View
from bowstring.records import Dialogue


class Search:
    """The reader of a user's history builds its index once, for all evaluations that share it."""

    name = "search"

    def __init__(self, view: View, reader_of: Callable[[str], Reader], dense: DenseSearch | None) -> None:
        self._view, self._reader_of, self._dense = view, reader_of, dense

    async def open(self, user: str) -> None:
        self._reader = self._reader_of(user)

    async def ingest(self, dialogue: Dialogue) -> None:
        """Do nothing: the reader has the history."""

    async def expect(self, questions: Sequence[str]) -> None:
        if self._dense is not None:
            await self._dense.rank(self._reader, self._view.unit, questions)

    async def retrieve(self, question: str) -> Shown:
        found = self._reader.show(self._view, evidence=(), query=question)
        return Shown(found, sources=tuple(dialogue.id for dialogue in found))
