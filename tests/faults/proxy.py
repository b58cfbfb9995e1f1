"""A proxy in front of a model server that injects network faults, rate limits and bad answers.

    with Server() as server, Proxy(server, seed=3) as proxy:
        bowstring("eval", "hicupid", "--model", proxy.model("m"))

What happens to a request is decided by the seed, by what it asks and by how often that was asked, never by timing. A
refusal and a content filter are answers: they stay whenever the same is asked. With `lasting_only` nothing else goes
wrong, which is the run that a run with all faults must come to.
"""

import asyncio
import email.utils
import gzip
import hashlib
import json
import random
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.support.listening import Listening
from tests.support.server import Server, text_of

PASSING = (
    "429",
    "429 with Retry-After",
    "500",
    "502 with HTML",
    "closed socket",
    "half a body",
    "silence",
    "wrong shape",
    "empty choice",
    "failure in a 200",
    "400 that names a setting",
    "long error",
    "too large",
)
LASTING = ("refusal", "content filter")
KINDS = (*PASSING, *LASTING)
REFUSED = 0.3 * len(LASTING) / len(KINDS)  # of all requests, whatever else goes wrong
_SHAPES = (
    [],
    "yes",
    17,
    None,
    {"ok": True},
    {"error": {"message": "try again"}},
    {"choices": {"0": "hello"}},
    {"choices": [{"message": "hello", "finish_reason": "stop"}]},
    {"choices": [{"message": {"content": 17}, "finish_reason": "stop"}]},
    {"choices": [{"message": {"content": [1, 2]}, "finish_reason": "stop"}]},
    {"choices": [{"message": {"content": "hi"}, "finish_reason": ["stop"]}]},
)
_EMPTY = ({"choices": []}, {"choices": [{}]}, {"choices": [{"message": {"role": "assistant"}, "finish_reason": None}]})
_FAILED = (
    {"choices": [{"message": {"content": "Half of an answer"}, "finish_reason": "error"}]},
    {"choices": [{"message": {"content": ""}, "finish_reason": "unheard_of"}]},
    {"choices": [{"message": {"content": "Half"}, "finish_reason": "stop", "error": {"code": 502, "message": "no"}}]},
    {"error": {"code": 502, "message": "the provider failed"}},
)
_TOO_LARGE = gzip.compress(b" " * (65 << 20), 1)


@dataclass(frozen=True)
class Event:
    """A received request, the process that was running, and its outcome: one of KINDS, or answered."""

    process: int
    asked: str
    fault: str


def digest(model: str, settings: dict[str, Any], text: str) -> str:
    """The identity of a request: the same for the request on the wire and for its row in the store."""
    kept = {name: settings.get(name) for name in ("max_tokens", "temperature", "seed")}
    return hashlib.sha256(json.dumps([model, kept, text]).encode()).hexdigest()


class Proxy(Listening):
    def __init__(
        self, server: Server, *, seed: int, share: float = 0.3, silence: float = 30.0, lasting_only: bool = False
    ) -> None:
        super().__init__()
        self.server = server
        self.share = share
        self.silence = silence
        self.process = 0
        self.events: list[Event] = []
        self._seed = seed
        self._lasting_only = lasting_only
        self._came: Counter[str] = Counter()

    def fault(self, asked: str, n: int) -> str:
        """The fault of a request that was received n times before."""
        lasting = random.Random(f"{self._seed}/{asked}")
        if lasting.random() < REFUSED:
            return lasting.choice(LASTING)
        passing = random.Random(f"{self._seed}/{asked}/{n}")
        if not self._lasting_only and passing.random() < (self.share - REFUSED) / (1 - REFUSED):
            return passing.choice(PASSING)
        return "answered"

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(v) for k, _, v in _fields(head) if k.lower() == "content-length")
        content = await reader.readexactly(length)
        body = json.loads(content)
        asked = digest(body["model"], body, "".join(text_of(m) for m in body["messages"]))
        n = self._came[asked]
        self._came[asked] += 1
        fault = self.fault(asked, n)
        self.events.append(Event(self.process, asked, fault))
        rng = random.Random(f"{self._seed}/{asked}/{n}/how")
        if fault == "silence":
            await asyncio.sleep(self.silence)
            return False
        if fault == "closed socket":
            if rng.random() < 0.5:  # before the server has heard of it, or after it has answered
                await self._forward(head, content)
            writer.transport.abort()
            return False
        if fault == "half a body":
            answer = await self._forward(head, content)
            start = answer.index(b"\r\n\r\n") + 4
            writer.write(answer[: rng.randrange(start, len(answer))])
            await writer.drain()
            return False
        writer.write(await self._forward(head, content) if fault == "answered" else _reply(fault, asked, rng))
        await writer.drain()
        return True

    async def _forward(self, head: bytes, content: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            writer.write(head + content)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(int(v) for k, _, v in _fields(answer) if k.lower() == "content-length")
            return answer + await reader.readexactly(length)
        finally:
            writer.close()


def _fields(head: bytes) -> list[tuple[str, str, str]]:
    return [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:] if line]


def _reply(fault: str, asked: str, rng: random.Random) -> bytes:
    if fault == "429":
        return _http(429, {"error": {"message": "too many requests"}})
    if fault == "429 with Retry-After":
        now = time.time()
        when = {"Retry-After": email.utils.formatdate(now + 1, usegmt=True), "Date": email.utils.formatdate(now)}
        return _http(429, {"error": {"message": "slow down"}}, **rng.choice([{"Retry-After": "0.2"}, when]))
    if fault == "500":
        return _http(500, {"error": {"message": "the server had an error"}})
    if fault == "502 with HTML":
        return _http(502, b"<html><body><h1>502 Bad Gateway</h1></body></html>", **{"Content-Type": "text/html"})
    if fault == "wrong shape":
        return _http(200, rng.choice(_SHAPES))
    if fault == "empty choice":
        return _http(200, rng.choice(_EMPTY))
    if fault == "failure in a 200":
        return _http(200, rng.choice(_FAILED))
    if fault == "400 that names a setting":  # all settings are supported, and none may be left out from then on
        return _http(400, {"error": {"message": "cannot store what was asked at temperature 0, with seed and top_k"}})
    if fault == "long error":
        return _http(500, b"a-" * 50_000, **{"Content-Type": "text/plain"})
    if fault == "too large":
        return _http(200, _TOO_LARGE, **{"Content-Encoding": "gzip"})
    said: dict[str, Any] = {"content": None, "refusal": f"I cannot help with that ({asked[:8]})."}
    if fault == "content filter":  # the same whenever the same is asked
        said = {"content": ("", None, f"Part of an answer {asked[:8]}")[int(asked[:8], 16) % 3]}
    finish = "content_filter" if fault == "content filter" else "stop"
    usage = {"prompt_tokens": 900, "completion_tokens": 20}
    return _http(
        200, {"choices": [{"message": {"role": "assistant", **said}, "finish_reason": finish}], "usage": usage}
    )


def _http(status: int, content: object, **headers: str) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    fields = {"Content-Type": "application/json", **headers, "Content-Length": str(len(body))}
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode() + body
