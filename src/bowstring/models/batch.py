"""OpenAI's batch API as a model: requests are collected, uploaded as a file, and answered within a day at half the
price.

A batch outlives the process that submitted it. Submissions are recorded in a folder of small files, the ledger, before
the process waits for them: a later process with the same requests finds the batch there and collects it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bowstring.errors import ModelError
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.writing import replace_file
from bowstring.models.endpoint import Endpoint
from bowstring.models.interface import NotYet, RequestFailed, SchemaRefused, is_too_long
from bowstring.models.server_errors import ServerError, read_errors
from bowstring.models.transport import NotFound
from bowstring.records import Completion, FailureKind, Prompt, Sampling, fields_of, request_key

_QUIET = 1.0  # seconds without a new request before the collected ones are submitted
_MOST_REQUESTS = 50_000
_MOST_BYTES = 95_000_000
_SUBMISSIONS = 3  # per request: batches expire, and single lines fail
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
_ENDED = ("completed", "failed", "expired", "cancelled")
_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}


@dataclass(slots=True)
class _Request:
    prompt: Prompt
    sampling: Sampling
    answer: asyncio.Future[Completion]
    submissions: int = 0
    sent: dict[str, Any] = field(default_factory=dict)  # settings of the last submission


@dataclass(slots=True)
class Entry:
    """A batch in the ledger. Without an `id`, a process ended between the upload and the server's answer."""

    path: Path
    model: str
    file: str
    keys: list[str]
    sent: dict[str, str] = field(default_factory=dict)  # settings of each request, as JSON, by key
    id: str | None = None
    fresh: bool = False  # submitted with --fresh, which ignores other batches
    collected: bool = False
    submitted: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(self.path, durable=True) as file:
            file.write(json.dumps({k: v for k, v in fields_of(self).items() if k != "path"}, indent=1).encode())


class _RejectedLine(RequestFailed):
    """A request that the server says is invalid, with the errors that say why."""

    def __init__(self, reason: str, errors: Sequence[ServerError]) -> None:
        super().__init__("rejected", reason)
        self.errors = errors


class Batch:
    """An endpoint used through its batch API."""

    takes_schema = True
    at_once = True  # branches do not wait for each other: batches have no prefix cache
    discount = 0.5
    concurrency = 1_000_000

    def __init__(
        self, endpoint: Endpoint, ledger: Path, tell: Callable[[str], None] = lambda line: None, *, fresh: bool = False
    ) -> None:
        self.name = endpoint.name
        self.full_name = endpoint.full_name
        self.identity = endpoint.identity
        self.refused = endpoint.refused
        self.is_openai = endpoint.is_openai
        self._endpoint = endpoint
        self._ledger = ledger
        self._tell = tell
        self._fresh = fresh
        self._requests: dict[str, _Request] = {}  # pending requests, by key
        self._gathered: list[str] = []
        self._entries: dict[str, Entry] | None = None  # ledger entries, by key
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by the ledger file of the entry
        self._collecting: set[asyncio.Task[None]] = set()  # of batches that have ended
        self._gathering: asyncio.Task[None] | None = None
        self._last = 0.0
        self._stopped = asyncio.Event()

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        if self._stopped.is_set():
            raise NotYet
        if self._endpoint.refuses(sampling):
            raise SchemaRefused
        key = request_key(self.identity, prompt, sampling)
        if key not in self._requests:
            self._requests[key] = _Request(prompt, sampling, asyncio.get_running_loop().create_future())
            self._gather(key)
        return await self._endpoint.resolved(await asyncio.shield(self._requests[key].answer), sampling)

    def stop(self) -> None:
        """End the run: batches continue at the server, and callers that wait for them are notified."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._endpoint.stop()
        for entry in {e.path: e for e in (self._entries or {}).values() if str(e.path) in self._tasks}.values():
            self._tell(f"{entry.id} is still running at the server; run the same command again to collect it.")
        self._end_all(NotYet())

    async def close(self) -> None:
        # The last answer may be delivered before its batch is noted as collected.
        await asyncio.gather(*self._collecting, return_exceptions=True)
        for task in (*self._tasks.values(), self._gathering):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._endpoint.close()

    def _gather(self, key: str) -> None:
        self._gathered.append(key)
        self._last = asyncio.get_running_loop().time()
        if self._gathering is None or self._gathering.done():
            self._gathering = asyncio.create_task(self._guarded(self._submit_gathered()))

    async def _guarded(self, work: Any) -> None:
        """Pass an error that ends the run to every waiting request."""
        try:
            await work
        except Exception as error:
            self._end_all(error)

    def _end_all(self, error: Exception) -> None:
        for request in self._requests.values():
            if not request.answer.done():
                request.answer.set_exception(error)
                request.answer.exception()  # mark as retrieved: there may be no waiter left

    async def _submit_gathered(self) -> None:
        loop = asyncio.get_running_loop()
        while self._gathered and not self._stopped.is_set():
            while (wait := self._last + _QUIET - loop.time()) > 0:
                await asyncio.sleep(wait)
            if self._entries is None:
                self._entries = await self._read_ledger()
            gathered, self._gathered = self._gathered, []
            for key in gathered:
                if (entry := self._entries.get(key)) is not None:
                    self._watch(entry)
            for keys, body in self._files([key for key in gathered if key not in self._entries]):
                if self._stopped.is_set():
                    return
                await self._submit(keys, body)

    def _files(self, keys: list[str]) -> Iterator[tuple[list[str], bytes]]:
        """Split requests into file contents, each within the server's limits."""
        part: list[str] = []
        lines: list[bytes] = []
        size = 0
        for key in keys:
            line = self._line(key)
            if part and (len(part) == _MOST_REQUESTS or size + len(line) > _MOST_BYTES):
                yield part, b"".join(lines)
                part, lines, size = [], [], 0
            part.append(key)
            lines.append(line)
            size += len(line)
        if part:
            yield part, b"".join(lines)

    def _line(self, key: str) -> bytes:
        request = self._requests[key]
        request.sent = self._endpoint.settings(request.sampling)
        head = json.dumps({"custom_id": key, "method": "POST", "url": "/v1/chat/completions"}).encode()[:-1]
        return head + b', "body": ' + self._endpoint.body(request.prompt, request.sent) + b"}\n"

    async def _submit(self, keys: list[str], body: bytes) -> None:
        for key in keys:
            self._requests[key].submissions += 1
        file = await self._endpoint.upload("bowstring.jsonl", body, purpose="batch")
        name = hashlib.sha256(f"{file}{keys[0]}".encode()).hexdigest()[:16]
        path = self._ledger / f"{name}.json"
        sent = {key: json.dumps(self._requests[key].sent) for key in keys}
        entry = Entry(path, self.identity, file, keys, sent, fresh=self._fresh)
        entry.write()  # before the request, so that a batch is never submitted twice
        await self._create(entry)
        self._entries = (self._entries or {}) | dict.fromkeys(keys, entry)
        self._tell(f"{entry.id}: {len(keys):,} requests to {self.name}, due within a day.")
        self._watch(entry)

    async def _create(self, entry: Entry) -> None:
        """Create the batch at the server. A failed request may still have created it, so that is looked up first."""
        asked = {"input_file_id": entry.file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        for attempt in range(1, self._endpoint.attempts + 1):
            try:
                entry.id = _id(await self._endpoint.post_once("batches", asked))
                entry.write()
                return
            except ModelError:
                if attempt == self._endpoint.attempts or self._stopped.is_set():
                    raise
                await self._endpoint.pause(attempt)
                if await self._exists_at_server(entry):
                    return

    def _watch(self, entry: Entry) -> None:
        if str(entry.path) not in self._tasks:
            self._tasks[str(entry.path)] = asyncio.create_task(self._guarded(self._collect(entry)))

    async def _collect(self, entry: Entry) -> None:
        """Wait until a batch has ended, and deliver its answers."""
        ended = await self._ended(entry)
        if ended is None:
            return
        task = self._tasks.pop(str(entry.path))
        self._collecting.add(task)
        task.add_done_callback(self._collecting.discard)
        if ended["status"] == "failed":
            entry.path.unlink(missing_ok=True)
            raise ModelError(f"{self.name}: {entry.id} failed: {_batch_errors(ended)}")
        # A batch that the user cancelled is not submitted again.
        kind: FailureKind = "rejected" if ended["status"] == "cancelled" else "server"
        failed = dict.fromkeys(entry.keys, RequestFailed(kind, f"{self.name}: {entry.id} {ended['status']}"))
        for file in ("output_file_id", "error_file_id"):
            if not isinstance(ended.get(file), str):
                continue
            content = await self._endpoint.content(ended[file])
            if content is None:
                self._tell(f"{entry.id}: its results are no longer at the server; the requests are submitted again.")
                continue
            for key, outcome in _outcomes(content, self._endpoint, entry):
                if isinstance(outcome, RequestFailed):
                    failed[key] = outcome
                    continue
                failed.pop(key, None)
                self._answer(key, outcome)
        entry.collected = True
        sent = entry.sent
        entry.keys = [key for key in entry.keys if key not in failed]
        entry.sent = {key: settings for key, settings in sent.items() if key not in failed}
        entry.write()
        self._retry(failed, sent)

    async def _ended(self, entry: Entry) -> dict[str, Any] | None:
        """Return the batch once it has ended; None if the run ends first."""
        pause, told = _FIRST_PAUSE, ""
        while not self._stopped.is_set():
            try:
                found = await self._endpoint.get(f"batches/{entry.id}")
            except NotFound as error:
                reason = f"the server no longer knows {entry.id}: remove {entry.path} to submit it again"
                raise ModelError(f"{self.name}: {reason}") from error
            if found.get("status") in _ENDED:
                return dict(found)
            counts = found.get("request_counts")
            done = counts.get("completed") if isinstance(counts, dict) else None
            so_far = f", {done:,} of {len(entry.keys):,} done" if isinstance(done, int) else ""
            said = f"{entry.id}: {found.get('status')}{so_far}"
            if said != told:
                self._tell(said)
                told = said
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        return None

    def _answer(self, key: str, completion: Completion) -> None:
        request = self._requests.get(key)
        if request is not None and not request.answer.done():
            request.answer.set_result(completion)

    def _retry(self, failed: dict[str, RequestFailed], sent: dict[str, str]) -> None:
        """Remove failed requests from the ledger lookup, and submit them again if a retry may help."""
        for key, failure in failed.items():
            (self._entries or {}).pop(key, None)
            request = self._requests.get(key)
            if request is None or request.answer.done():
                continue
            adapted = isinstance(failure, _RejectedLine) and self._endpoint.adapt(
                failure.errors, json.loads(sent.get(key, "{}")), request.prompt
            )
            by_schema = isinstance(failure, _RejectedLine) and bool(request.sampling.schema)
            refused = by_schema and (not adapted or self._endpoint.refuses(request.sampling))
            if not refused and (adapted or failure.kind == "server") and request.submissions < _SUBMISSIONS:
                self._gather(key)
            else:
                request.answer.set_exception(SchemaRefused() if refused else failure)
                request.answer.exception()

    async def _read_ledger(self) -> dict[str, Entry]:
        """Return the batches of this model that may hold answers, by key."""
        found: dict[str, Entry] = {}
        if not self._ledger.is_dir():
            return found
        for path in sorted(self._ledger.glob("*.json")):
            try:
                entry = _entry(path)
            except (ValueError, TypeError, OSError) as error:
                raise ModelError(f"{path} cannot be read as a batch: {error}; remove it to submit again") from error
            if entry.model != self.identity or (self._fresh and (not entry.fresh or entry.collected)):
                continue
            if entry.id is None and not await self._exists_at_server(entry):
                path.unlink(missing_ok=True)
                continue
            found |= dict.fromkeys(entry.keys, entry)
        return found

    async def _exists_at_server(self, entry: Entry) -> bool:
        """Return whether a batch without a recorded id exists at the server."""
        listed = await self._endpoint.get("batches?limit=100")
        known = listed.get("data")
        for batch in known if isinstance(known, list) else []:
            if isinstance(batch, dict) and batch.get("input_file_id") == entry.file:
                entry.id = _id(batch)
                entry.write()
                return True
        return False


def _entry(path: Path) -> Entry:
    entry = Entry(path, **parse_strict_json(path.read_bytes()))
    texts = (entry.model, entry.file, entry.id or "", *(entry.keys if isinstance(entry.keys, list) else (None,)))
    sent = entry.sent.values() if isinstance(entry.sent, dict) else (None,)
    if not all(isinstance(text, str) for text in (*texts, *sent)):
        raise ValueError("a field has the wrong type")
    if not all(isinstance(parse_strict_json(settings), dict) for settings in sent):
        raise ValueError("settings that were sent are not an object")
    return entry


def _outcomes(content: str, endpoint: Endpoint, entry: Entry) -> Iterator[tuple[str, Completion | RequestFailed]]:
    """Parse the lines of an output or error file: each is a request's key with its outcome."""
    name = endpoint.name
    for line in content.split("\n"):  # not splitlines: the text may contain other line separators
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            key = _text(row["custom_id"])
            response = row.get("response") or {}
            status = response.get("status_code")
            if status == 200 and not row.get("error"):
                yield key, endpoint.read(response["body"], json.loads(entry.sent.get(key, "{}")))
                continue
            body = response.get("body")
            error = row.get("error") or (body.get("error") if isinstance(body, dict) else body) or {}
            words = (error.get("message") or error.get("code") or error) if isinstance(error, dict) else error
            said = " ".join(endpoint.redacted(str(words)).split())[:300]
        except RequestFailed as failed:
            yield key, failed
            continue
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            continue  # an unusable line; its request counts as unanswered
        if not isinstance(status, int) or status in _AGAIN:
            yield key, RequestFailed("server", f"{name}: {said}")
        elif is_too_long(said):
            yield key, RequestFailed("context", f"{name}: {said}")
        else:
            yield key, _RejectedLine(f"{name}: {status} {said}", read_errors(error))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def _id(batch: Any) -> str:
    found = batch.get("id") if isinstance(batch, dict) else None
    if not isinstance(found, str) or not found.replace("-", "").replace("_", "").isalnum():
        raise ModelError(f"the server's answer has no batch id: {str(batch)[:200]}")
    return found


def _batch_errors(batch: dict[str, Any]) -> str:
    errors = batch.get("errors")
    errors = errors.get("data") if isinstance(errors, dict) else None
    errors = errors if isinstance(errors, list) else []
    said = [str(e.get("message") or e.get("code")) for e in errors if isinstance(e, dict)]
    return "; ".join(said)[:300] or "the server gave no reason"
