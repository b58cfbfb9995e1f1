"""A scripted model server on loopback that speaks OpenAI's, Anthropic's and Bedrock's protocols.

    with Server(answer=lambda messages, body: "hello") as server:
        bowstring("eval", "hicupid", "--model", server.model("m"))

The answer is a function of the request, so that a test knows it beforehand. `faults` is asked before every answer
and may return what to do instead. What was asked is in `requests`, in order of arrival.
"""

import asyncio
import hashlib
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.listening import Listening
from tests.support.schemas import as_asked_for, asking_for_lines


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    raw: bytes
    body: dict[str, Any]
    answer: str = ""


@dataclass
class Reply:
    """Something else than the answer: a status with a body, half a body, a closed connection, a wait."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    close: bool = False
    wait: float = 0.0
    then_answer: bool = False


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


def digest_answer(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """A text of its own for every request; verdicts for judges, by the same hash."""
    whole = json.dumps([body.get("model"), body.get("seed"), [[m["role"], text_of(m)] for m in messages]])
    digest = hashlib.sha256(whole.encode()).hexdigest()[:16]
    last = text_of(messages[-1])
    if "Better Response:" in last:
        return f"1. Personalization: {digest}.\nBetter Response: {['A', 'B', 'Tie'][int(digest, 16) % 3]}"
    if "Satisfaction:" in last:
        return f"1. Conflict: {digest}.\nSatisfaction: {['YES', 'NO'][int(digest, 16) % 2]}"
    return f"answer {digest}"


class Server(Listening):
    def __init__(
        self,
        answer: Callable[[list[dict[str, Any]], dict[str, Any]], str] = digest_answer,
        *,
        delay: Callable[[], float] = lambda: 0.0,
        faults: Callable[[Request], Reply | None] = lambda request: None,
    ) -> None:
        super().__init__()
        self.answer = answer
        self.delay = delay
        self.faults = faults
        self.requests: list[Request] = []
        self.allowed = math.inf  # so many requests are answered; those that come after them wait
        self.answered = 0
        self.in_flight = 0
        self.most_in_flight = 0

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        plain = not headers.get("content-type", "").startswith("multipart/")
        request = Request(first.split(" ")[1], headers, raw, json.loads(raw) if raw and plain else {})
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            reply = self.faults(request)
            if reply is None or reply.then_answer:
                await asyncio.sleep(reply.wait if reply else self.delay())
                reply = self._answered(request)
            elif reply.wait:
                await asyncio.sleep(reply.wait)
            while self.answered >= self.allowed:
                await asyncio.sleep(0.01)
            self.answered += 1
        finally:
            self.in_flight -= 1
        if reply.close:
            writer.transport.abort()
            return False
        headers_out = {"Content-Type": "application/json", "Content-Length": str(len(reply.body)), **reply.headers}
        lines_out = "".join(f"{k}: {v}\r\n" for k, v in headers_out.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{lines_out}\r\n".encode())
        writer.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
        await writer.drain()
        return not reply.cut

    def _answered(self, request: Request) -> Reply:
        body = request.body
        messages = body.get("messages", [])
        request.answer = as_asked_for(self.answer(asking_for_lines(messages, body), body), body)
        words = sum(len(text_of(m).split()) for m in messages)
        if request.path.endswith("/messages"):
            value: dict[str, Any] = {
                "content": [{"type": "text", "text": request.answer}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": words, "output_tokens": 5, "cache_read_input_tokens": 7},
            }
        elif request.path.endswith("/converse"):
            value = {
                "output": {"message": {"role": "assistant", "content": [{"text": request.answer}]}},
                "stopReason": "end_turn",
                "usage": {"inputTokens": words, "outputTokens": 5},
            }
        else:
            value = {
                "choices": [{"message": {"role": "assistant", "content": request.answer}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": words, "completion_tokens": len(request.answer.split())},
            }
        return Reply(body=json.dumps(value).encode())


def random_delay(low: float, high: float, seed: int = 0) -> Callable[[], float]:
    rng = random.Random(seed)
    return lambda: rng.uniform(low, high)
