"""Send requests to one model: from the store if the answer is there, otherwise by schedule; all requests are
counted."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bowstring.errors import ModelError
from bowstring.files.escaping import replace_surrogates
from bowstring.models.interface import Model, Moved, NotYet, Place, RequestFailed
from bowstring.models.prices import Price
from bowstring.models.rates import RateLimiter
from bowstring.models.scores import CANNOT_SCORE, Scores, options_of, scoring
from bowstring.records import STAGE_ROLE, Completion, Prompt, Sampling, Usage, request_key, text_digest
from bowstring.runs.budget import Budget, estimated_tokens, estimated_usage
from bowstring.runs.cut_answers import CutAnswers
from bowstring.runs.remarks import Remarks
from bowstring.runs.schedule import Schedule, Turn
from bowstring.runs.store import Response, Store

_LOOK = 0.5  # seconds after which a request that another process has sent is looked at again
_sources: ContextVar[list[dict[str, Any]] | None] = ContextVar("sources", default=None)


@contextmanager
def collecting_sources() -> Iterator[list[dict[str, Any]]]:
    """Collect where the answers came from that are asked for in this context."""
    found: list[dict[str, Any]] = []
    token = _sources.set(found)
    try:
        yield found
    finally:
        _sources.reset(token)


def note_source(role: str, completion: Completion) -> None:
    found = _sources.get()
    # A stage may be asked for one item and used for others: which one depends on timing.
    if found is not None and role != STAGE_ROLE:
        found.append({**completion.provenance.as_record(), "role": role, "text": text_digest(completion.text)})


class Stopped(Exception):
    """The run is ending: this request was not sent."""


class NotStored(Stopped):
    """The answer is not in the store, and nothing may be sent."""


@dataclass(slots=True)
class ServerTally:
    """Counts of the requests that one server of a model has answered."""

    asked: int = 0
    usage: Usage = field(default_factory=Usage)
    shareable: float = 0.0


@dataclass(slots=True)
class Tally:
    """Counts of the requests to one model so far, with this process and earlier ones separate."""

    asked: int = 0
    stored: int = 0
    failed: int = 0
    replaced: int = 0  # stored responses that --fresh replaced
    usage: Usage = field(default_factory=Usage)  # of requests made by this process
    shareable: float = 0.0  # prompt tokens after a warm trunk, which could have been served from cache
    stored_usage: Usage = field(default_factory=Usage)  # of requests made by earlier processes
    estimated: int = 0  # requests made by this process whose tokens are estimated
    cost: float | None = None
    servers: defaultdict[str, ServerTally] = field(default_factory=lambda: defaultdict(ServerTally))  # by address


class Asker:
    """All requests to one model go through here. Identical concurrent requests are sent once."""

    def __init__(
        self,
        model: Model,
        store: Store,
        *,
        beside: Asker | None = None,
        concurrency: int | None = None,
        price: Price | None = None,
        budget: Budget | None = None,
        limiter: RateLimiter | None = None,
        fresh_since: float | None = None,
        may_send: bool = True,
        role: str = "",
        vary: Callable[[Sampling], Sampling] = lambda sampling: sampling,
    ) -> None:
        """`vary` completes the settings of a request, such as with the number of a further answer. Responses that were
        stored before `fresh_since` are replaced; others are shared with runs that replace the same ones. Unless it
        `may_send`, what is not stored is only noted in `missing`."""
        self.model = model
        self._role = role
        self._vary = vary
        self.tally = Tally(cost=0.0 if price else None)
        self.waiting = 0  # requests that another process is sending
        self.remarks = Remarks()
        self.cut = CutAnswers()
        self.missing: set[str] = set()  # keys of requests that are not stored and may not be sent
        self._may_send = may_send
        self._stopping = False
        self._store = store
        per_server = concurrency or model.concurrency
        self.places = per_server * len(getattr(model, "addresses", ("",)))
        # Askers of one model share its concurrency limit and its requests in flight.
        leads = not getattr(model, "at_once", False)
        self._schedule: Schedule = beside._schedule if beside else Schedule(per_server, leads=leads)
        self._place_of: Callable[[Prompt], Place] = getattr(model, "place_of", lambda prompt: Place())
        if (watch := getattr(model, "when_servers_change", None)) is not None:
            watch(self._schedule.rearrange)
        self._in_flight: dict[str, asyncio.Future[Completion]] = beside._in_flight if beside else {}
        self._answered: set[str] = beside._answered if beside else set()
        self._price = price
        self._budget = budget
        self._limiter: RateLimiter | None = beside._limiter if beside else limiter
        if self._limiter is not None and (before_retry := getattr(model, "before_retry", None)) is not None:
            before_retry(self._limiter.take)
        self._fresh_since = fresh_since

    def stop(self) -> None:
        """Send nothing more. Requests in flight may finish."""
        self._stopping = True
        if self._limiter is not None:
            self._limiter.stop()
        if (stop := getattr(self.model, "stop", None)) is not None:
            stop()

    @property
    def cost_in_all(self) -> float | None:
        """The cost of all responses, also of those that were in the store already; None if the price is unknown."""
        return None if self._price is None else (self.tally.cost or 0.0) + self._price.of(self.tally.stored_usage)

    @property
    def takes_schema(self) -> bool:
        """Whether requests may have the JSON schema of an answer."""
        return bool(getattr(self.model, "takes_schema", False))

    def has(self, prompt: Prompt, sampling: Sampling) -> bool:
        """Return whether the answer is in the store, and may be used."""
        key = request_key(self.model.identity, prompt, self._vary(sampling))
        return self._usable(key) is not None

    async def ask(self, prompt: Prompt, sampling: Sampling, *, purpose: str = "") -> Completion:
        """Return the model's answer. Raises RequestFailed if there is none, Stopped if the run is ending.

        `purpose` says what a judge is asked for, such as a score, if it is asked for several things: answers that were
        cut are counted by it."""
        sampling = self._vary(sampling)
        completion = await self._answer(prompt, sampling)
        self.remarks.add(self._role, sampling, completion)
        self.cut.add(sampling, completion, purpose)
        note_source(self._role, completion)
        return completion

    async def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """Return how probable the model finds each option as its answer. Raises as `ask` does."""
        return Scores.of_completion(await self.ask(prompt, scoring(options)))

    async def _answer(self, prompt: Prompt, sampling: Sampling) -> Completion:
        key = request_key(self.model.identity, prompt, sampling)
        if (same := self._in_flight.get(key)) is not None:
            return await asyncio.shield(same)
        if (known := self._known(key, prompt, sampling)) is not None:
            return known
        if not self._may_send:
            self.missing.add(key)
            raise NotStored
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = future
        try:
            completion = await self._ask_model(key, prompt, sampling)
            future.set_result(completion)
            return completion
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else Stopped())
            future.exception()  # mark as retrieved: there may be no other waiter
            raise
        finally:
            del self._in_flight[key]

    def _usable(self, key: str) -> Completion | None:
        found = self._store.get(key)
        if found is None or self._fresh_since is None or key in self._answered:
            return found
        # What seems to come from the future was stored by another clock.
        return found if self._fresh_since <= found.provenance.stored_at <= time.time() else None

    def _known(self, key: str, prompt: Prompt, sampling: Sampling) -> Completion | None:
        """Return a stored answer that may be used, and count it."""
        known = self._usable(key)
        if known is not None and key not in self._answered:
            self.tally.stored += 1
            self.tally.stored_usage += self._usage(prompt, sampling, known)[0]
        return known

    async def _ask_model(self, key: str, prompt: Prompt, sampling: Sampling) -> Completion:
        while True:
            async with self._schedule.turn(prompt.trunk, partial(self._place_of, prompt)) as turn:
                if self._stopping:
                    raise Stopped
                # Another process may be asking: only one sends a request, and nobody uses an answer that is not stored.
                if self._store.leases.take(key):
                    try:
                        if (known := self._known(key, prompt, sampling)) is not None:
                            return known
                        return await self._send(key, prompt, sampling, turn)
                    except Moved:
                        continue
                    finally:
                        self._store.leases.free(key)
            self.waiting += 1
            try:
                while not await self._store.leases.wait(key, _LOOK):
                    if self._stopping:
                        raise Stopped
            finally:
                self.waiting -= 1

    async def _send(self, key: str, prompt: Prompt, sampling: Sampling, turn: Turn) -> Completion:
        reserved: float | None = None
        try:
            if self._budget and self._price:
                reserved = await self._budget.reserve(self._price, prompt, sampling)
            completion = await self._complete(prompt, sampling, turn)
            turn.free()  # while the response is written; it is not used before it is on disk
            replaces = self._fresh_since is not None
            response = Response(key, self.model.identity, prompt, sampling, completion, self._role, replaces)
            self.tally.replaced += replaces and self._store.get(key) is not None
            stored = await self._store.put(response)
            self._answered.add(key)
            self._count(prompt, sampling, completion, follows=turn.follows)
        finally:
            # Only after its cost is counted: an amount neither spent nor reserved could be spent twice.
            if reserved is not None and self._budget:
                self._budget.release(reserved)
        return stored

    async def _complete(self, prompt: Prompt, sampling: Sampling, turn: Turn) -> Completion:
        expected = await self._wait(prompt, sampling)
        used = 0
        try:
            if self._place_of(prompt) != turn.place:  # while it waited
                raise Moved
            completion = await self._completed(prompt, sampling)
            used = completion.usage.prompt + completion.usage.completion or expected
        except NotYet as pending:
            raise Stopped from pending
        except RequestFailed as failed:
            self.tally.failed += 1
            # A trunk that is too long for one branch is too long for all: let them fail at once.
            turn.warms = failed.kind == "context"
            raise
        finally:
            if self._limiter is not None:
                self._limiter.correct(expected, used)
            self._count_wasted()
        turn.warms = True
        # What is used must equal what is stored, and files cannot hold lone surrogates.
        text = replace_surrogates(completion.text)
        reasoning = replace_surrogates(completion.reasoning) if completion.reasoning is not None else None
        as_it_is = text == completion.text and reasoning == completion.reasoning
        return completion if as_it_is else replace(completion, text=text, reasoning=reasoning)

    async def _completed(self, prompt: Prompt, sampling: Sampling) -> Completion:
        if sampling.options is None:
            return await self.model.complete(prompt, sampling)
        score = getattr(self.model, "score", None)
        if score is None:
            raise ModelError(f"{self.model.name} {CANNOT_SCORE}")
        scores: Scores = await score(prompt, options_of(sampling), sampling)
        return scores.as_completion()

    async def _wait(self, prompt: Prompt, sampling: Sampling) -> int:
        """Wait until the rate limits let a request through; return its expected tokens."""
        if self._limiter is None:
            return 0
        expected = estimated_tokens(prompt.messages) + sampling.max_tokens
        await self._limiter.take(expected)
        if self._stopping:
            raise Stopped
        return expected

    def _usage(self, prompt: Prompt, sampling: Sampling, completion: Completion) -> tuple[Usage, bool]:
        """Return the usage of a request, and whether it is estimated: where tokens cost something, they must count."""
        costs = self._price is not None and self._price.of(Usage(1, 0, 1)) > 0
        estimate = estimated_usage(prompt, sampling, completion) if costs else None
        self.remarks.estimated |= estimate is not None
        return estimate or completion.usage, estimate is not None

    def _count_wasted(self) -> None:
        """Count what failed attempts have used, whoever waited for them."""
        taken = getattr(self.model, "take_wasted", None)
        if taken is None or not (wasted := taken()) or wasted == Usage():
            return
        self.tally.usage += wasted
        if self._price and self.tally.cost is not None:
            cost = self._price.of(wasted)
            self.tally.cost += cost
            if self._budget:
                self._budget.spent += cost

    def _count(self, prompt: Prompt, sampling: Sampling, completion: Completion, *, follows: bool) -> None:
        usage, estimated = self._usage(prompt, sampling, completion)
        self.tally.asked += 1
        self.tally.usage += usage
        self.tally.estimated += estimated
        # The trunk's share is an estimate; tokens actually served from cache always count.
        estimate = usage.prompt * trunk_share(prompt) if follows else 0.0
        shareable = max(estimate, usage.cached)
        self.tally.shareable += shareable
        server = self.tally.servers[completion.provenance.address]
        server.asked += 1
        server.usage += usage
        server.shareable += shareable
        if self._price and self.tally.cost is not None:
            cost = self._price.of(usage)
            self.tally.cost += cost
            if self._budget:
                self._budget.spend(self._price, cost, prompt, usage)


def trunk_share(prompt: Prompt) -> float:
    """Return the trunk's share of a prompt, by characters, with a constant per message for the template."""
    around = 16
    trunk = prompt.trunk.characters + around * len(prompt.trunk.messages)
    branch = sum(len(m.text) + around for m in prompt.branch)
    return trunk / (trunk + branch) if trunk else 0.0
