"""Models that answer many requests in one batch: requests that arrive together are collected and answered on a thread.

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

_QUIET = 0.02  # seconds without a new request before a batch starts


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    prompt: Prompt
    sampling: Sampling
    answer: asyncio.Future[Completion]


class GatheringModel(ABC):
    at_once = True  # all branches of a trunk should arrive together

    def __init__(self) -> None:
        self._waiting: list[Request] = []
        self._working: asyncio.Task[None] | None = None
        self._last = 0.0
        self._stopped = False

    @abstractmethod
    def _batch(self, waiting: Sequence[Request]) -> list[Request]:
        """Select the next requests to answer, at least one, from the waiting ones in order of arrival."""

    @abstractmethod
    def _answer(self, batch: Sequence[Request]) -> list[Completion | Exception]:
        """Return a completion for each request, or an error. Called on a thread, one batch at a time."""

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
        """Answer waiting requests, one batch at a time, until none is left."""
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
            except Exception as error:  # passed on to every waiting request
                # Ctrl-C also reaches an engine's child processes: errors from then on are not the request's.
                made = [NotYet() if self._stopped else error] * len(batch)
            for request, answer in zip(batch, made, strict=True):
                if request.answer.done():
                    continue
                if isinstance(answer, Completion):
                    request.answer.set_result(answer)
                else:
                    request.answer.set_exception(answer)
