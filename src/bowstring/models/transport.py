"""HTTP to a model's server: one pool, bounded retries, and errors sorted by what can be done about them."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

from bowstring.errors import ModelError
from bowstring.files.redaction import byte_patterns, redact, replace_secrets
from bowstring.models.interface import RequestFailed

_RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_CONTEXT = re.compile(
    r"context.{0,20}(length|size|window)|too (long|large)|maximum.{0,20}tokens|exceeds? the (available|max)|"
    r"input is too long|prompt is too long",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|credit balance is too low|billing", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to go on: attempts in all, the longest pause between two, and the wait for one answer."""

    attempts: int = 6
    longest_pause: float = 60.0
    first_pause: float = 0.5
    timeout: float = 600.0


_OUT_OF_FORM = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError)
_CONNECT_ATTEMPTS = 3  # to a server that has never answered
_MOST_SAID = 100_000  # characters of an error that are looked through
_UNMISTAKABLE = 16  # characters of a key that no model's answer holds by chance; "EMPTY" and "test" are words


class NotFound(ModelError):
    """The server has no such thing (404)."""


class Rejected(Exception):
    """The server says that the request itself is wrong (400, 422); `message` is what it said."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Transport:
    """Posts prepared bodies to one server. A pause that the server asks for holds for all requests to it.

    What it answers is rid of the `secrets` that were sent to it before anybody reads it: servers repeat them.
    """

    def __init__(
        self, name: str, headers: Mapping[str, str], patience: Patience | None = None, *, secrets: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.patience = patience or Patience()
        self._headers = {"Content-Type": "application/json", **headers}
        self._secrets = tuple(secrets)
        self._sought = [form for secret in secrets if len(secret) >= _UNMISTAKABLE for form in byte_patterns(secret)]
        # A client a connection: the pool inside one looks through all of its connections at every request.
        self._idle: list[httpx.AsyncClient] = []
        self._urls: dict[str, httpx.URL] = {}
        self._certificates: ssl.SSLContext | None = None
        self._not_before = 0.0
        self._reached = False
        self._stopped = asyncio.Event()

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()

    def stop(self) -> None:
        """The run is ending: what is in flight may finish, and nothing is tried again."""
        self._stopped.set()

    async def post(self, url: str, body: bytes, read: Callable[[Any], Any], **headers: str) -> Any:
        """Post until there is an answer that `read` can make sense of (it raises ValueError where not)."""
        return await self.exchange(lambda: self._request(url, body, headers), lambda response: read(response.json()))

    async def exchange(
        self, request: Callable[[], httpx.Request], read: Callable[[httpx.Response], Any], attempts: int | None = None
    ) -> Any:
        """Send until there is an answer that `read` can make sense of; `request` makes a new one for every try."""
        attempts = attempts or self.patience.attempts
        for attempt in range(1, attempts + 1):
            await self._sleep(self._not_before - time.monotonic())
            pause: float | None = None
            client = self._idle.pop() if self._idle else self._open()
            try:
                async with asyncio.timeout(self.patience.timeout):
                    response = self._cleaned(await client.send(request()))
                self._reached = True
                if response.status_code < 300:
                    return read(response)
                failure, pause = self._classify(response)
            except _OUT_OF_FORM as error:
                failure = RequestFailed("protocol", self._redacted(f"{self.name} answered out of form: {error!r}"))
            except (httpx.TimeoutException, TimeoutError):
                failure = RequestFailed("timeout", f"{self.name} did not answer in time")
            except httpx.HTTPError as error:
                reason = self._redacted(f"{self.name}: {str(error) or type(error).__name__}")
                failure = RequestFailed("server", reason)
                if isinstance(error, httpx.ConnectError) and not self._reached and attempt >= _CONNECT_ATTEMPTS:
                    raise ModelError(f"{reason} (is the server running, and its address right?)") from error
            finally:
                self._idle.append(client)
            if attempt == attempts or self._stopped.is_set():
                break
            await self.pause(attempt, pause)
            if self._stopped.is_set():
                break
        raise failure

    def plain_request(self, method: str, url: str, **content: Any) -> httpx.Request:
        """A request that is not asked often: with whatever content httpx takes, and the server's headers."""
        headers = {name: value for name, value in self._headers.items() if name != "Content-Type"}
        timeout = httpx.Timeout(self.patience.timeout, connect=min(15.0, self.patience.timeout))
        return httpx.Request(method, url, headers=headers, extensions={"timeout": timeout.as_dict()}, **content)

    def _request(self, url: str, body: bytes, headers: Mapping[str, str]) -> httpx.Request:
        """Built here and not by the client, which would parse the address and merge its defaults every time."""
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
        # No redirects: they would carry a key, or a prompt, to a place that nobody named.
        try:
            return httpx.AsyncClient(verify=self._certificates, limits=limits)
        except (ValueError, ImportError, httpx.InvalidURL) as error:  # of the proxy that the environment names
            raise ModelError(self._redacted(f"{self.name}: no connection can be made: {error}")) from error

    def _cleaned(self, response: httpx.Response) -> httpx.Response:
        content = replace_secrets(response.content, self._sought)
        if content is response.content:
            return response
        coded = ("content-encoding", "content-length", "transfer-encoding")
        headers = {name: value for name, value in response.headers.items() if name not in coded}
        return httpx.Response(response.status_code, headers=headers, content=content, request=response.request)

    def _redacted(self, text: str) -> str:
        """A reason as it may be stored and shown."""
        return redact(text, self._secrets)

    def _classify(self, response: httpx.Response) -> tuple[RequestFailed, float | None]:
        """A failure that is worth another attempt, and the pause the server asked for; raises the others."""
        status, message = response.status_code, _message(response, self._redacted)
        said = f"{self.name}: {status} {message}".rstrip()
        if 300 <= status < 400:
            place = self._redacted(response.headers.get("location", "?"))[:300]
            raise ModelError(f"{said} redirects to {place}: name that server instead")
        if status in (401, 403):
            raise ModelError(f"{said} (is the key right, and allowed to use this model?)")
        if status == 404:
            raise NotFound(f"{said} (is the model's name right?)")
        if status == 402 or (status == 429 and _QUOTA.search(message)):
            raise ModelError(f"{said} (the account has no credit left)")
        if status in _RETRIED or status >= 500:
            return RequestFailed("server", said), _retry_after(response)
        if status == 413 or (status == 400 and is_too_long(message)):
            raise RequestFailed("context", said)
        if status in (400, 422):
            raise Rejected(message)
        raise RequestFailed("rejected", said)

    async def pause(self, attempt: int, asked: float | None = None) -> None:
        """Wait before another attempt: as long as the server asked for, or longer every time."""
        if asked is not None:
            # Everyone waits; a little apart, so that they do not all come back at the same moment.
            self._not_before = max(self._not_before, time.monotonic() + min(asked, self.patience.longest_pause))
            await self._sleep(random.uniform(0, 0.1))  # noqa: S311
            return
        pause = min(self.patience.first_pause * 2 ** (attempt - 1), self.patience.longest_pause)
        await self._sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311

    async def _sleep(self, seconds: float) -> None:
        """Wait, but not when the run is ending."""
        if seconds > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), seconds)


def is_too_long(message: str) -> bool:
    """Whether a server's words mean that a prompt does not fit."""
    return bool(_CONTEXT.search(message))


def _message(response: httpx.Response, redact: Callable[[str], str]) -> str:
    """What the server said, on one line; pages of HTML are not quoted. Cut last, lest half a key stays."""
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        text = redact(response.text[:_MOST_SAID].strip())
        return "" if text.startswith("<") else " ".join(text.split())[:300]
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if isinstance(error, dict):
        parts = [str(error[k]) for k in ("code", "type", "message", "Message") if isinstance(error.get(k), str)]
        error = ": ".join(dict.fromkeys(parts)) or json.dumps(error)
    return " ".join(redact(str(error)[:_MOST_SAID]).split())[:300]


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds, from the header in any of its forms; None where it is missing or makes no sense."""
    if milliseconds := response.headers.get("retry-after-ms"):
        return _seconds(milliseconds, 0.001)
    value = response.headers.get("retry-after")
    if not value:
        return None
    if (seconds := _seconds(value)) is not None:
        return seconds
    # A moment is told by the server's clock, and so is now, where it says it: ours may be wrong, or jump.
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
    """A count of tokens as servers send it; 0 for what cannot be one."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    return int(number) if 0 <= number < 1e12 else 0
