"""Several servers with the same model, used as one: openai/NAME@URL1,URL2,… --served-as NAME.

A trunk belongs to one server, by rendezvous hashing of its digest, so that prefix caches stay warm. A server that fails
is taken out: each of its trunks goes to the next server in the order of that trunk, and returns when the server does.
The order depends on the set of addresses alone, not on how they are listed.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from bowstring.errors import ModelError
from bowstring.files.redaction import without_credentials
from bowstring.models.addresses import public_url
from bowstring.models.endpoint import Endpoint
from bowstring.models.interface import Moved, Place, RequestFailed
from bowstring.models.listing import Listing, difference, mismatch, read_listing
from bowstring.models.transport import CONNECT_ATTEMPTS, Passing, Patience
from bowstring.records import Completion, Prompt, Sampling, Usage, request_key

_FAULTS = 3  # failed attempts in a row after which a server is out; a refused connection suffices
_STEADY = 16  # answers after which the outages of a server before them are forgotten
_PROBE_TIMEOUT = 10.0  # seconds
# If processing a trunk on every server adds at most this many characters per branch, it is used on all of them.
# Otherwise the rubric of a judge, which all of its prompts share, would leave all servers but one idle.
_LITTLE = 100


@dataclass(slots=True)
class _Server:
    endpoint: Endpoint
    address: str
    is_out: bool = False
    outages: int = 0
    faults: int = 0  # failed attempts since the last answer
    relapses: int = 0  # outages without _STEADY answers between them
    answers: int = 0  # since the last outage
    engines: set[str] = field(default_factory=set)


class Replicas:
    """A model that several endpoints have."""

    takes_schema = True

    def __init__(
        self,
        name: str,
        identity: str,
        model: str,
        endpoints: Sequence[Endpoint],
        *,
        patience: Patience | None = None,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.name = self.full_name = name
        self.identity = identity
        self.concurrency = endpoints[0].concurrency  # per server
        self.is_openai = endpoints[0].is_openai
        self.refused = endpoints[0].refused
        self._model = model
        self._patience = patience or Patience()
        self._tell = tell
        self._servers = [_Server(endpoint, without_credentials(endpoint.url)) for endpoint in endpoints]
        self.addresses = tuple(server.address for server in self._servers)
        self._nodes = tuple(public_url(address) for address in self.addresses)
        self._checking: asyncio.Task[None] | None = None
        self._probes: dict[str, asyncio.Task[None]] = {}
        self._listeners: list[Callable[[], None]] = []
        self._before_retry: Callable[[], Awaitable[None]] | None = None
        self._spent: dict[str, int] = {}  # attempts of requests that have moved, by key
        self._reference: tuple[str, Listing] | None = None  # the first server that says what it has
        self._notes: dict[str, None] = {}
        self._stopped = False

    @property
    def outages(self) -> dict[str, int]:
        """How often each server was taken out, by address."""
        return {server.address: server.outages for server in self._servers}

    def place_of(self, prompt: Prompt) -> Place:
        """Return where a prompt goes now: to the first server in the order of its trunk that is not out. If all are
        out, to the first: it fails as a single server would."""
        server = self._server_of(prompt)
        return Place(server.address, server.outages)

    def _server_of(self, prompt: Prompt) -> _Server:
        ranked = [self._servers[n] for n in ranking(self._nodes, self._belongs_with(prompt))]
        return next((server for server in ranked if not server.is_out), ranked[0])

    def _belongs_with(self, prompt: Prompt) -> str:
        """Return the digest that decides where a prompt goes: that of its trunk, or its own if little is shared."""
        trunk = prompt.trunk
        is_little = trunk.characters * len(self._servers) <= _LITTLE * trunk.branches
        return prompt.digest if is_little else trunk.digest

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Ask the server of a prompt. Raises Moved if it now goes to another one."""
        place = self.place_of(prompt)
        await self._checked()
        server = self._server_of(prompt)
        key = request_key(self.identity, prompt, sampling)
        moved_after = attempt = self._spent.pop(key, 0)
        while True:
            if self.place_of(prompt) != place:
                self._spent[key] = attempt
                raise Moved
            attempt += 1
            try:
                completion = await server.endpoint.complete(prompt, sampling, attempts=1)
            except RequestFailed as failed:
                # A request that failed elsewhere may itself be the cause.
                self._note_failure(server, failed, is_suspect=moved_after > 0)
                moves = self.place_of(prompt) != place
                if self._is_final(failed, attempt, moves=moves):
                    raise
                if not moves:
                    await self._pause(server, attempt, failed)
                if self._stopped:
                    raise
            else:
                self._note_answer(server, completion)
                return completion

    def _is_final(self, failed: RequestFailed, attempt: int, *, moves: bool) -> bool:
        """Return whether a request is not sent again. Raises ModelError if no server has ever answered."""
        no_answer = failed.kind in ("server", "timeout")
        may_pass = isinstance(failed, Passing) or (moves and no_answer)
        if not may_pass or failed.kind == "context" or attempt >= self._patience.attempts or self._stopped:
            return True
        unreached = not any(server.endpoint.transport.reached for server in self._servers)
        if isinstance(failed, Passing) and failed.is_down and unreached and attempt >= CONNECT_ATTEMPTS:
            raise ModelError(
                f"{failed.reason} (none of the {len(self._servers)} servers answers; are they running, and are their "
                "addresses correct?)"
            ) from failed
        return False

    async def _pause(self, server: _Server, attempt: int, failed: RequestFailed) -> None:
        await server.endpoint.pause(attempt, failed.pause if isinstance(failed, Passing) else None)
        if self._before_retry is not None and not self._stopped:
            await self._before_retry()

    def _note_answer(self, server: _Server, completion: Completion) -> None:
        server.faults = 0
        server.answers += 1
        if server.answers >= _STEADY:
            server.relapses = 0
        if completion.provenance.engine:
            server.engines.add(completion.provenance.engine)

    def _note_failure(self, server: _Server, failed: RequestFailed, *, is_suspect: bool) -> None:
        if not isinstance(failed, Passing) or not failed.is_fault or (is_suspect and not failed.is_down):
            return
        server.faults += 1
        if failed.is_down or server.faults >= _FAULTS:
            self._take_out(server, failed.reason)

    def _take_out(self, server: _Server, why: str) -> None:
        """Use the others from now on, say so unless `why` is empty, and look for the server in the background."""
        if server.is_out or self._stopped:
            return
        server.is_out = True
        server.outages += 1
        server.relapses += 1
        server.faults = server.answers = 0
        others = any(not other.is_out for other in self._servers)
        if why:
            self._tell(f"{why}; " + ("the other servers take over." if others else "no other server is left."))
        self._probes[server.address] = asyncio.create_task(self._probe(server))
        self._changed()

    async def _probe(self, server: _Server) -> None:
        """Wait until a server is back, and has the same model. Each relapse doubles the wait."""
        patience = self._patience
        while True:
            await asyncio.sleep(min(patience.first_pause * 2**server.relapses, patience.longest_pause))
            try:
                problem = self._compare(server, await self._listed(server))
            except (RequestFailed, ModelError):
                continue
            if problem is None:
                break
            self._note(f"{problem}; it is not used")
        server.is_out = False
        self._tell(f"{server.address} is back.")
        self._changed()

    def _changed(self) -> None:
        for call in self._listeners:
            call()

    async def _checked(self) -> None:
        """Ask all servers what they have, once. Raises ModelError if they have different models."""
        if self._checking is None:
            self._checking = asyncio.create_task(self._check())
        await asyncio.shield(self._checking)

    async def _check(self) -> None:
        found = await asyncio.gather(*(self._listed_or_why_not(server) for server in self._servers))
        some_answer = not all(isinstance(one, str) for one in found)
        for server, one in zip(self._servers, found, strict=True):
            if isinstance(one, str):
                self._take_out(server, one if some_answer else "")
            elif (problem := self._compare(server, one)) is not None:
                raise ModelError(f"{problem}: the servers must have the same model")

    async def _listed_or_why_not(self, server: _Server) -> Listing | str | None:
        try:
            return await self._listed(server)
        except (RequestFailed, ModelError) as failed:
            return str(failed)

    async def _listed(self, server: _Server) -> Listing | None:
        """Return what a server says of its models; None if it does not say it. Raises RequestFailed if it is down."""
        transport = server.endpoint.transport
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT):
                answer: Any = await transport.exchange(
                    lambda: transport.plain_request("GET", f"{server.endpoint.url}/models"),
                    lambda response: _json_or_none(response) if response.is_success else None,
                    attempts=1,
                    readable=range(300, 500),
                )
        except TimeoutError as error:
            raise RequestFailed("timeout", f"{server.endpoint.name} did not answer in time") from error
        return read_listing(transport.cleaned_json(answer), self._model)

    def _compare(self, server: _Server, listing: Listing | None) -> str | None:
        """Return in what way a server has another model than the first one had; note other differences."""
        if listing is None:
            return None
        if self._reference is None:
            self._reference = server.address, listing
            return None
        address, first = self._reference
        if (problem := mismatch(self._model, first, listing)) is not None:
            return f"{server.address} has another model than {address}: {problem}"
        if (found := difference(self._model, first, listing)) is not None:
            self._note(f"{server.address} differs from {address}: {found}")
        return None

    def _note(self, note: str) -> None:
        if note not in self._notes:
            self._notes[note] = None
            self._tell(note)

    def notes(self) -> list[str]:
        """Return what a reader of the answers must know about the servers."""
        engines = {server.address: ", ".join(sorted(server.engines)) for server in self._servers if server.engines}
        differ = len(set(engines.values())) > 1
        said = "; ".join(f"{address}: {engine}" for address, engine in engines.items())
        return [*self._notes, *([f"the servers of {self.name} name different engines: {said}"] if differ else [])]

    def when_servers_change(self, call: Callable[[], None]) -> None:
        self._listeners.append(call)

    def before_retry(self, wait: Callable[[], Awaitable[None]]) -> None:
        self._before_retry = wait
        for server in self._servers:
            server.endpoint.before_retry(wait)

    def stop(self) -> None:
        self._stopped = True
        for server in self._servers:
            server.endpoint.stop()

    def take_wasted(self) -> Usage:
        return sum((server.endpoint.take_wasted() for server in self._servers), Usage())

    async def close(self) -> None:
        tasks = [*self._probes.values(), *([self._checking] if self._checking else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for server in self._servers:
            await server.endpoint.close()


@lru_cache(maxsize=1 << 14)
def ranking(nodes: tuple[str, ...], digest: str) -> tuple[int, ...]:
    """Return the order of servers for a trunk, by rendezvous hashing: a server that is out changes the place of its own
    trunks only."""
    weights = [hashlib.sha256(f"{node}\0{digest}".encode()).digest() for node in nodes]
    return tuple(sorted(range(len(nodes)), key=weights.__getitem__))


def _json_or_none(response: Any) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None
