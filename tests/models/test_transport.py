"""Failing servers: retryable errors are retried, and others end with a clear error."""

import asyncio
import email.utils
import gzip
import json
import time
import tracemalloc
import zlib
from dataclasses import replace

import httpx
import pytest

from bowstring.errors import ModelError
from bowstring.models.interface import RequestFailed
from bowstring.models.names import open_model
from bowstring.models.transport import Patience, _retry_after
from bowstring.records import Message, Prompt, Sampling, Trunk
from tests.support.server import Reply, Server

QUICK = Patience(attempts=4, longest_pause=0.2, first_pause=0.01)
NEVER = Reply(wait=86_400.0)
PROMPT = Prompt(Trunk(()), (Message("user", ("hello",)),))


def error(message: str, **more: str) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


def first_then_answer(*replies: Reply):
    """These replies to the first requests, and answers after that."""
    left = list(replies)
    return lambda request: left.pop(0) if left else None


def ask(server: Server, patience: Patience = QUICK):
    async def run():
        model = open_model(server.model("m"), patience=patience)
        try:
            return await model.complete(PROMPT, Sampling(10))
        finally:
            await model.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    "reply",
    [
        Reply(429, error("slow down")),
        Reply(429, error("slow down"), {"Retry-After": "0.05"}),
        Reply(429, error("slow down"), {"retry-after-ms": "50"}),
        Reply(429, error("slow down"), {"Retry-After": "soon"}),
        Reply(500, b"oops"),
        Reply(502, b"<html><h1>Bad gateway</h1></html>"),
        Reply(529, error("overloaded")),
        Reply(close=True),
        Reply(200, b'{"choices": [{"message": {"content": "half', cut=True),
        Reply(200, b'["valid", "JSON", "of the wrong shape"]'),
        Reply(200, b'{"choices": []}'),
        Reply(200, b'{"choices": [{"message": {}}]}'),
        Reply(200, b"<html>hello</html>"),
        NEVER,
    ],
    ids=lambda r: f"{r.status}{r.headers or ''}{'close' if r.close else ''}{'cut' if r.cut else ''}{r.body[:12]!r}",
)
def test_what_may_pass_is_tried_again(reply):
    # Only an answer that never comes is given up; any other may take its time.
    patience = replace(QUICK, timeout=4.0) if reply is NEVER else QUICK
    with Server(faults=first_then_answer(reply, reply)) as server:
        assert ask(server, patience).text.startswith("answer")
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (Reply(500, b"oops"), "server", "500 oops"),
        (Reply(502, b"<html>Bad gateway</html>"), "server", "502"),
        (Reply(close=True), "server", "disconnected"),
        (Reply(200, b"[]"), "protocol", "sent a malformed answer"),
        (NEVER, "timeout", "did not answer in time"),
    ],
)
def test_what_does_not_pass_fails_with_its_reason_after_so_many_attempts(reply, kind, said):
    patience = Patience(attempts=2, longest_pause=0.02, first_pause=0.01, timeout=0.5 if reply is NEVER else 600.0)
    with Server(faults=lambda request: reply) as server, pytest.raises(RequestFailed) as failed:
        ask(server, patience)
    assert failed.value.kind == kind
    assert said in failed.value.reason
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        "the request exceeds the available context size, try increasing it",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input is too long for requested model.",
    ],
)
def test_a_context_that_is_too_long_is_known_as_such_and_not_tried_again(message):
    with Server(faults=lambda request: Reply(400, error(message))) as server, pytest.raises(RequestFailed) as failed:
        ask(server)
    assert failed.value.kind == "context"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(401, error("Incorrect API key")), "is the key correct"),
        (Reply(403, error("no access")), "is the key correct"),
        (Reply(404, error("The model `m` does not exist", code="model_not_found")), "is the model name correct?"),
        (Reply(429, error("You exceeded your quota", code="insufficient_quota")), "no credit left"),
        (Reply(402, error("pay up")), "no credit left"),
    ],
)
def test_what_no_request_can_survive_ends_at_once(reply, said):
    with Server(faults=lambda request: reply) as server, pytest.raises(ModelError, match="openai/m@") as fatal:
        ask(server)
    assert said in str(fatal.value)
    assert len(server.requests) == 1


def test_any_other_refusal_fails_its_own_request_only():
    with (
        Server(faults=lambda request: Reply(400, error("no emoji please"))) as server,
        pytest.raises(RequestFailed) as f,
    ):
        ask(server)
    assert f.value.kind == "rejected"
    assert "no emoji please" in f.value.reason


@pytest.mark.parametrize("header", ["0.4", "date"])
def test_a_pause_that_the_server_asks_for_holds_for_everyone(header):
    """No request is sent before the pause that the server requested is over."""
    arrivals: list[float] = []

    def fault(request):
        arrivals.append(time.monotonic())
        if len(arrivals) == 1:
            value = header if header != "date" else email.utils.formatdate(time.time() + 2, usegmt=True)
            return Reply(429, error("wait"), {"Retry-After": value})
        return None

    async def run(server: Server):
        model = open_model(server.model("m"), patience=Patience(attempts=3, longest_pause=5, first_pause=0.01))
        first = asyncio.create_task(model.complete(PROMPT, Sampling(10)))
        async with asyncio.timeout(60):
            while not model.transport._not_before:  # until it has heard of the pause
                await asyncio.sleep(0.01)
        await asyncio.gather(first, *(model.complete(PROMPT, Sampling(10)) for _ in range(3)))
        await model.close()

    with Server(faults=fault) as server:
        asyncio.run(run(server))
    pause = 0.4 if header != "date" else 0.9  # dates have no fractions of a second
    assert len(arrivals) == 5
    assert min(arrivals[1:]) - arrivals[0] >= pause


def test_a_moment_to_come_back_at_is_told_by_the_servers_own_clock():
    """Our own clock is not used: it may be wrong or jump."""
    then = time.time() - 30 * 365 * 86400
    headers = {"Date": email.utils.formatdate(then), "Retry-After": email.utils.formatdate(then + 3)}
    assert _retry_after(httpx.Response(429, headers=headers)) == 3.0
    del headers["Date"]
    assert _retry_after(httpx.Response(429, headers=headers)) == 0.0


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("compressed", [True, False])
def test_a_response_larger_than_the_limit_fails_in_one_line_and_is_not_asked_for_again(status, compressed):
    body = b" " * (65 << 20)
    headers = {"Content-Encoding": "gzip"} if compressed else {}
    reply = Reply(status, gzip.compress(body, 1) if compressed else body, headers)
    with Server(faults=lambda request: reply) as server, pytest.raises(RequestFailed) as failed:
        ask(server)
    assert (failed.value.kind, failed.value.reason) == ("protocol", f"{server.model('m')} sent more than 64 MiB")
    assert len(server.requests) == 1


def test_a_compressed_response_takes_no_more_memory_than_the_limit():
    """3 MB of gzip made 3 GB of text, and more in copies."""
    reply = Reply(200, gzip.compress(b" " * (400 << 20), 1), {"Content-Encoding": "gzip"})
    with Server(faults=lambda request: reply) as server:
        tracemalloc.start()
        try:
            with pytest.raises(RequestFailed, match="more than 64 MiB"):
                ask(server)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 200 << 20


def test_a_response_without_end_is_given_up():
    class Endless(Server):
        async def _serve_one(self, reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
            while not writer.is_closing():
                writer.write(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
                await writer.drain()
            return False

    with Endless() as server, pytest.raises(RequestFailed, match="sent more than 64 MiB"):
        ask(server)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity", ""])
def test_a_compressed_answer_is_read(coding):
    body = json.dumps({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}).encode()
    packed = {"gzip": gzip.compress, "deflate": zlib.compress}.get(coding, bytes)(body)
    with Server(faults=lambda request: Reply(200, packed, {"Content-Encoding": coding})) as server:
        assert ask(server).text == "yes"


@pytest.mark.parametrize(("coding", "body"), [("br", b"x"), ("gzip, gzip", b"x"), ("gzip", b"not gzip")])
def test_a_body_that_cannot_be_decompressed_is_malformed(coding, body):
    with (
        Server(faults=lambda request: Reply(200, body, {"Content-Encoding": coding})) as server,
        pytest.raises(RequestFailed, match="malformed answer") as failed,
    ):
        ask(server)
    assert failed.value.kind == "protocol"


KEY = "sk-canary/8f3a-0123456789"


def as_json(**message):
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def escaped(value) -> bytes:
    """JSON in which every letter of a text is an escape."""
    return json.dumps(value).replace(KEY, "".join(f"\\u{ord(c):04X}" for c in KEY)).encode()


ECHOES = {
    "escapes": escaped(as_json(content=f"the key is {KEY}")),
    "escapes in escapes": json.dumps(as_json(content=escaped(f"the key is {KEY}").decode())).encode(),
    "UTF-16": json.dumps(as_json(content=f"the key is {KEY}")).encode("utf-16"),
    "UTF-16 without a mark": json.dumps(as_json(content=f"the key is {KEY}")).encode("utf-16-le"),
    "two parts": json.dumps(
        as_json(content=[{"type": "text", "text": f"it is {KEY[:9]}"}, {"type": "text", "text": KEY[9:]}])
    ).encode(),
    "reasoning": escaped(as_json(content="yes …", reasoning_content=f"is it {KEY}?")),
    "ids": escaped({"id": KEY, "model": f"m-{KEY}", "system_fingerprint": KEY, **as_json(content="yes …")}),
    "a finish reason": escaped({"choices": [{"message": {"content": "yes …"}, "finish_reason": f"no {KEY}"}]}),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_is_removed_from_the_decoded_text_of_an_answer(echo, monkeypatch):
    monkeypatch.setenv("BOWSTRING_API_KEY", KEY)
    with Server(faults=lambda request: Reply(200, ECHOES[echo])) as server:
        answer = ask(server)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    kept = repr(answer)
    assert "canary" not in kept
    assert "u0063" not in kept.lower()
    assert "…" in kept


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("form", ["escapes", "UTF-16", "UTF-16 text"])
def test_a_key_is_removed_from_the_decoded_text_of_an_error(status, form, monkeypatch):
    monkeypatch.setenv("BOWSTRING_API_KEY", KEY)
    said = error(f"wrong: {KEY}")
    body = {
        "escapes": escaped({"error": {"message": f"wrong: {KEY}"}}),
        "UTF-16": said.decode().encode("utf-16"),
        "UTF-16 text": f"wrong: {KEY}".encode("utf-16-le"),
    }[form]
    with Server(faults=lambda request: Reply(status, body)) as server, pytest.raises(RequestFailed) as failed:
        ask(server, replace(QUICK, attempts=1))
    assert "wrong: …" in failed.value.reason
    assert "canary" not in repr(failed.value.__context__)


def test_an_error_of_any_length_is_searched_in_little_time():
    """100 kB of "a-" took 27 s, in which no other request was served."""
    reply = Reply(500, b"a-" * 500_000)
    started = time.process_time()
    with Server(faults=lambda request: reply) as server, pytest.raises(RequestFailed):
        ask(server, replace(QUICK, attempts=2))
    assert time.process_time() - started < 5
