"""HTTP to a model server: one connection pool, bounded retries, and errors classified by how to react to them."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import re
import ssl
import time
import zlib
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import httpx

from bowstring.errors import ModelError
from bowstring.files.redaction import redact, remove_secrets
from bowstring.models.finish_reasons import AnswerFailed, cut_label
from bowstring.models.interface import RequestFailed, is_too_long
from bowstring.models.server_errors import ServerError, read_errors
from bowstring.records import Completion, FailureKind, Usage

_RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_QUOTA = re.compile(r"insufficient_quota|credit balance is too low|billing", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Patience:
    """Retry limits: total attempts, the longest pause between two, and the timeout per answer, in seconds."""

    attempts: int = 6
    longest_pause: float = 60.0
    first_pause: float = 0.5
    timeout: float = 600.0


_CODED = ("content-encoding", "content-length", "transfer-encoding")
_OUT_OF_FORM = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError)
CONNECT_ATTEMPTS = 3  # attempts to reach a server that has never answered
_MOST_SAID = 100_000  # characters of an error that are searched
_LARGEST = 64 << 20  # bytes of a response after decompression: many times the longest answer
_STEP = 1 << 20  # bytes that are decompressed at a time
_UNMISTAKABLE = 16  # minimum key length that no answer contains by chance; "EMPTY" and "test" are words


class NotFound(ModelError):
    """The server does not have the requested resource (404)."""


class Rejected(Exception):
    """The server says that the request itself is invalid (400, 422); `message` is its error message in one line."""

    def __init__(self, message: str, errors: Sequence[ServerError] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.errors = errors


class Passing(RequestFailed):
    """A failure that may pass: the same request may succeed. `pause` is what the server asked for; `is_down` says that
    there is no server at the address, `is_fault` that the server fails, whatever the request is."""

    def __init__(
        self,
        kind: FailureKind,
        reason: str,
        *,
        pause: float | None = None,
        is_fault: bool = False,
        is_down: bool = False,
    ) -> None:
        super().__init__(kind, reason)
        self.pause = pause
        self.is_fault = is_fault or is_down
        self.is_down = is_down


class TooLarge(Exception):
    """A response that exceeds the size limit: it is not read to the end."""


class Transport:
    """Posts prepared bodies to one server. A pause that the server requests applies to all requests.

    The `secrets` sent to the server are removed from what is kept of its responses: servers echo them. They are removed
    from decoded text, because a body may spell a key in many ways, or split it.
    """

    def __init__(
        self, name: str, headers: Mapping[str, str], patience: Patience | None = None, *, secrets: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.patience = patience or Patience()
        self._headers = {"Content-Type": "application/json", **headers}
        self._secrets = tuple(secrets)
        self._unmistakable = [secret for secret in secrets if len(secret) >= _UNMISTAKABLE]
        self._wasted = Usage()
        # One client per connection: httpx's pool scans all of its connections on every request.
        self._idle: list[httpx.AsyncClient] = []
        self._urls: dict[str, httpx.URL] = {}
        self._certificates: ssl.SSLContext | None = None
        self._not_before = 0.0
        self._reached = False
        self._stopped = asyncio.Event()
        self.before_retry: Callable[[], Awaitable[None]] | None = None  # a rate limit

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()

    def stop(self) -> None:
        """End the run: requests in flight may finish, and nothing is retried."""
        self._stopped.set()

    @property
    def reached(self) -> bool:
        """Whether the server has ever answered."""
        return self._reached

    async def post(
        self,
        url: str,
        body: bytes,
        read: Callable[[Any], Completion],
        *,
        attempts: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Completion:
        """Post until `read` can parse the answer (it raises ValueError or AnswerFailed otherwise)."""
        completion: Completion = await self.exchange(
            lambda: self._request(url, body, headers or {}),
            lambda response: self.cleaned(read(response.json())),
            attempts,
        )
        return completion

    async def exchange(
        self,
        request: Callable[[], httpx.Request],
        read: Callable[[httpx.Response], Any],
        attempts: int | None = None,
        *,
        largest: int = _LARGEST,
        readable: Collection[int] = (),
    ) -> Any:
        """Send until `read` can parse the answer, of at most `largest` bytes; `request` builds a new request for every
        attempt. `read` also gets answers with a `readable` status."""
        attempts = attempts or self.patience.attempts
        for attempt in range(1, attempts + 1):
            if attempt > 1 and self.before_retry is not None:
                await self.before_retry()
            await self._sleep(self._not_before - time.monotonic())
            client = self._idle.pop() if self._idle else self._open()
            try:
                async with asyncio.timeout(self.patience.timeout):
                    response = await _receive(client, request(), largest)
                self._reached = True
                if response.status_code < 300 or response.status_code in readable:
                    return read(response)
                failure = self._classify(response)
            except AnswerFailed as failed:
                self.waste(failed.usage)
                failure = self.failure_inside(failed)
                if failure.kind == "context":
                    raise failure from failed
            except TooLarge as error:  # not again: it may be paid for
                raise RequestFailed("protocol", f"{self.name} sent {error}") from error
            except _OUT_OF_FORM as error:
                failure = Passing("protocol", self.redacted(f"{self.name} sent a malformed answer: {error!r}"))
            except (httpx.TimeoutException, TimeoutError):
                failure = Passing("timeout", f"{self.name} did not answer in time", is_fault=True)
            except httpx.HTTPError as error:
                reason = self.redacted(f"{self.name}: {str(error) or type(error).__name__}")
                failure = Passing("server", reason, is_fault=True, is_down=isinstance(error, httpx.ConnectError))
                if failure.is_down and not self._reached and attempt >= CONNECT_ATTEMPTS:
                    raise ModelError(f"{reason} (is the server running, and is its address correct?)") from error
            finally:
                self._idle.append(client)
            if attempt == attempts or self._stopped.is_set():
                break
            await self.pause(attempt, failure.pause)
            if self._stopped.is_set():
                break
        raise failure

    def plain_request(self, method: str, url: str, **content: Any) -> httpx.Request:
        """Build an infrequent request, with any content that httpx accepts and the server's headers."""
        headers = {name: value for name, value in self._headers.items() if name != "Content-Type"}
        timeout = httpx.Timeout(self.patience.timeout, connect=min(15.0, self.patience.timeout))
        return httpx.Request(method, url, headers=headers, extensions={"timeout": timeout.as_dict()}, **content)

    def _request(self, url: str, body: bytes, headers: Mapping[str, str]) -> httpx.Request:
        """Build the request directly: the client would parse the URL and merge its defaults every time."""
        if url not in self._urls:
            self._urls[url] = httpx.URL(url)
        timeout = httpx.Timeout(self.patience.timeout, connect=min(15.0, self.patience.timeout))
        return httpx.Request(
            "POST",
            self._urls[url],
            headers={**self._headers, **headers},
            content=body,
            extensions={"timeout": timeout.as_dict()},
        )

    def _open(self) -> httpx.AsyncClient:
        if self._certificates is None:
            self._certificates = httpx.create_ssl_context()
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0)
        # No redirects: they would send a key or a prompt to a server that the user did not name.
        try:
            return httpx.AsyncClient(verify=self._certificates, limits=limits)
        except (ValueError, ImportError, httpx.InvalidURL) as error:  # an invalid proxy in the environment
            raise ModelError(self.redacted(f"{self.name}: cannot connect: {error}")) from error

    def waste(self, usage: Usage) -> None:
        """Count the usage of an answer that cannot be used."""
        self._wasted += usage

    def take_wasted(self) -> Usage:
        """Return the usage of attempts that failed, since this was called last."""
        wasted, self._wasted = self._wasted, Usage()
        return wasted

    def cleaned(self, completion: Completion) -> Completion:
        """Return a completion without the secrets sent to the server."""
        made = completion.provenance
        return replace(
            completion,
            text=self._clean(completion.text),
            reasoning=None if completion.reasoning is None else self._clean(completion.reasoning),
            provenance=replace(
                made,
                raw_finish=None if made.raw_finish is None else cut_label(self._clean(made.raw_finish)),
                response_id=None if made.response_id is None else cut_label(self._clean(made.response_id)),
                engine=cut_label(self._clean(made.engine)),
            ),
        )

    def _clean(self, text: str) -> str:
        return remove_secrets(text, self._unmistakable) if self._unmistakable else text

    def cleaned_json(self, value: Any) -> Any:
        """Return decoded JSON without the secrets sent to the server."""
        if isinstance(value, str):
            return self._clean(value)
        if isinstance(value, list):
            return [self.cleaned_json(one) for one in value]
        if isinstance(value, dict):
            return {self._clean(name): self.cleaned_json(one) for name, one in value.items()}
        return value

    def failure_inside(self, failed: AnswerFailed) -> Passing:
        """Return the failure that a response with status 200 holds."""
        said = self.redacted(str(failed))[:300]
        return Passing("context" if is_too_long(said) else "server", f"{self.name}: {said}")

    def redacted(self, text: str) -> str:
        """Return a reason that is safe to store and show."""
        return redact(text[:_MOST_SAID], self._secrets)

    def _classify(self, response: httpx.Response) -> Passing:
        """Return a retryable failure; raise all other failures."""
        status, answer = response.status_code, _error_in(response)
        message = _message(answer, self.redacted)
        said = f"{self.name}: {status} {message}".rstrip()
        if 300 <= status < 400:
            place = self.redacted(response.headers.get("location", "?"))[:300]
            raise ModelError(f"{said} redirects to {place}: use that URL instead")
        if status in (401, 403):
            raise ModelError(f"{said} (is the key correct, and allowed to use this model?)")
        if status == 404:
            raise NotFound(f"{said} (is the model name correct?)")
        if status == 402 or (status == 429 and _QUOTA.search(message)):
            raise ModelError(f"{said} (the account has no credit left)")
        if is_passing(status) or status >= 500:
            return Passing("server", said, pause=_retry_after(response), is_fault=status >= 500)
        if status == 413 or (status == 400 and is_too_long(message)):
            raise RequestFailed("context", said)
        if status in (400, 422):
            raise Rejected(message, read_errors(answer))
        raise RequestFailed("rejected", said)

    async def pause(self, attempt: int, asked: float | None = None) -> None:
        """Wait before another attempt: as long as the server requested, or with exponential backoff."""
        if asked is not None:
            # All requests wait, with jitter so that they do not resume at the same moment.
            self._not_before = max(self._not_before, time.monotonic() + min(asked, self.patience.longest_pause))
            await self._sleep(random.uniform(0, 0.1))  # noqa: S311
            return
        pause = min(self.patience.first_pause * 2 ** (attempt - 1), self.patience.longest_pause)
        await self._sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311

    async def _sleep(self, seconds: float) -> None:
        """Sleep, but return early if the run is ending."""
        if seconds > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), seconds)


def is_passing(status: int) -> bool:
    """Return whether a status says that the server fails for the moment: the same request may succeed."""
    return status in _RETRIED or (500 <= status < 600 and status != 501)


async def _receive(client: httpx.AsyncClient, request: httpx.Request, largest: int) -> httpx.Response:
    """Return a response with its whole body; raise TooLarge before it takes more memory than that."""
    response = await client.send(request, stream=True)
    try:
        coding = response.headers.get("content-encoding", "").strip().lower() or "identity"
        if coding not in ("identity", "gzip", "x-gzip", "deflate"):  # httpx would decompress without a limit
            raise ValueError(f"content encoding {coding[:40]!r} is not supported")
        decoder = None if coding == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)
        content = bytearray()
        received = 0
        async for chunk in response.aiter_raw():
            received += len(chunk)
            if received > largest:
                raise TooLarge(f"more than {largest >> 20:,} MiB")
            for part in _decompressed(decoder, chunk) if decoder else (chunk,):
                content += part
                if len(content) > largest:
                    raise TooLarge(f"more than {largest >> 20:,} MiB")
    finally:
        await response.aclose()
    kept = {name: value for name, value in response.headers.items() if name not in _CODED}
    return httpx.Response(response.status_code, headers=kept, content=bytes(content), request=request)


def _decompressed(decoder: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
    try:
        while chunk:
            yield decoder.decompress(chunk, _STEP)
            chunk = decoder.unconsumed_tail
    except zlib.error as error:
        raise ValueError(f"the compressed body is damaged: {error}") from error


def _error_in(response: httpx.Response) -> Any:
    """Return the body of an error: decoded JSON, or else text."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        # Without a charset, UTF-16 is known by its zero bytes.
        content = response.content[:_MOST_SAID]
        coding = response.charset_encoding or json.detect_encoding(content)
        try:
            return content.decode(coding, "replace").strip()
        except LookupError:
            return content.decode("latin-1").strip()


def _message(answer: Any, redact: Callable[[str], str]) -> str:
    """Return the server's error message on one line; HTML pages are not quoted. Truncated after redaction, so that no
    partial key remains."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if isinstance(error, dict):
        parts = [str(error[k]) for k in ("code", "type", "message", "Message") if isinstance(error.get(k), str)]
        error = ": ".join(dict.fromkeys(parts)) or json.dumps(error)
    if isinstance(answer, str) and answer.startswith("<"):
        return ""
    return " ".join(redact(str(error)).split())[:300]


def _retry_after(response: httpx.Response) -> float | None:
    """Return the requested pause in seconds, from any form of the header; None if missing or invalid."""
    if milliseconds := response.headers.get("retry-after-ms"):
        return _seconds(milliseconds, 0.001)
    value = response.headers.get("retry-after")
    if not value:
        return None
    if (seconds := _seconds(value)) is not None:
        return seconds
    # A date is relative to the server's clock, taken from its Date header if present: ours may be wrong.
    until, now = _moment(value), _moment(response.headers.get("date", ""))
    return None if until is None else max(0.0, until - (time.time() if now is None else now))


def _moment(value: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None


def _seconds(value: str, unit: float = 1.0) -> float | None:
    try:
        seconds = float(value) * unit
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def tokens(value: object) -> int:
    """Return a token count as servers send it; 0 if it is not a valid count."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    return int(number) if 0 <= number < 1e12 else 0
