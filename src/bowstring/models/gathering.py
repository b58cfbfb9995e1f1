"""Models that answer many requests together: what comes within a moment is gathered, and answered on a thread.

class Choir(GatheringModel):
    name = identity = "choir"
    concurrency = 64

    def _batch(self, waiting):
        return list(waiting)

    def _answer(self, batch):
        return [Completion(request.prompt.messages[-1].text) for request in batch]
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from bowstring.models.interface import NotYet
from bowstring.records import Completion, Prompt, Sampling

_QUIET = 0.02  # seconds without a new request, after which those that came are answered


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    prompt: Prompt
    sampling: Sampling
    answer: asyncio.Future[Completion]


class GatheringModel(ABC):
    at_once = True  # all branches of a trunk are wanted together

    def __init__(self) -> None:
        self._waiting: list[Request] = []
        self._working: asyncio.Task[None] | None = None
        self._last = 0.0
        self._stopped = False

    @abstractmethod
    def _batch(self, waiting: Sequence[Request]) -> list[Request]:
        """Which of those that wait are answered next, at least one; they are in the order in which they came."""

    @abstractmethod
    def _answer(self, batch: Sequence[Request]) -> list[Completion | Exception]:
        """A completion for each, or why there is none. Called on a thread, one batch at a time."""

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        if self._stopped:
            raise NotYet
        loop = asyncio.get_running_loop()
        request = Request(prompt, sampling, loop.create_future())
        self._waiting.append(request)
        self._last = loop.time()
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await request.answer

    def stop(self) -> None:
        self._stopped = True

    async def close(self) -> None:
        if self._working is not None:
            self._stopped = True
            await asyncio.gather(self._working, return_exceptions=True)

    async def _work(self) -> None:
        """Answer what waits, a batch at a time, until nothing does."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            while (wait := self._last + _QUIET - loop.time()) > 0:
                await asyncio.sleep(wait)
            batch = self._batch(self._waiting)
            taken = set(batch)
            self._waiting = [request for request in self._waiting if request not in taken]
            try:
                if self._stopped:
                    raise NotYet
                made = await asyncio.to_thread(self._answer, batch)
            except Exception as error:  # whoever waits must hear of it
                # But a Ctrl-C reaches an engine's own processes too: what these die of then says nothing of a request.
                made = [NotYet() if self._stopped else error] * len(batch)
            for request, answer in zip(batch, made, strict=True):
                if request.answer.done():
                    continue
                if isinstance(answer, Completion):
                    request.answer.set_result(answer)
                else:
                    request.answer.set_exception(answer)
