"""Runs with a server that repeats the key, refuses settings, counts no tokens, or sends too much, under faults as well.

What a run wrote is the same when it is interrupted and resumed, whatever the server sent.
"""

import itertools
import json
import re
import resource
import sqlite3
import subprocess
import zlib
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults.oracle import Trial
from tests.faults.proxy import Proxy
from tests.support.command import PROGRAM
from tests.support.processes import LIMIT
from tests.support.server import Reply, Request, Server

KEY = "sk-canary/8f3a-0123456789"


def arguments(proxy: Proxy, out: Path, *more: str) -> list[str]:
    roles = ["--model", proxy.model("m"), "--judge", proxy.model("judge")]
    return ["eval", "hicupid", *roles, "--out", str(out), "--limit", "20", "--timeout", "2", "--attempts", "3", *more]


def altered(server: Server, change) -> None:
    """Answer with a changed body."""
    server.faults = lambda request: Reply(body=change(json.loads(server._answered(request).body)))


def assert_no_key(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"canary" not in content, path
            assert b"u0063" not in content.lower(), path
            assert "canary".encode("utf-16-le") not in content, path
    with closing(sqlite3.connect(folder / "responses.sqlite")) as db:
        rows = db.execute("SELECT * FROM responses").fetchall()
    assert rows
    assert "canary" not in repr(rows)


def test_a_key_that_is_repeated_in_any_form(tmp_path, monkeypatch):
    monkeypatch.setenv("BOWSTRING_API_KEY", KEY)
    seen = []

    def repeat(value) -> bytes:
        seen.append(value)
        message = value["choices"][0]["message"]
        text, form = f"{message['content']}\n{KEY}", len(seen) % 3
        if form == 0:
            message["content"] = [{"type": "text", "text": text[:-9]}, {"type": "text", "text": text[-9:]}]
            return json.dumps(value).encode()
        message |= {"content": text, "reasoning_content": KEY}
        if form == 1:
            return json.dumps(value | {"id": KEY, "system_fingerprint": KEY}).encode("utf-16")
        return json.dumps(value).replace(KEY, "".join(f"\\u{ord(c):04x}" for c in KEY)).encode()

    with Server() as server, Proxy(server, seed=1, share=0.2, silence=4.0) as proxy:
        altered(server, repeat)
        trial = Trial(proxy, tmp_path / "responses.sqlite")
        trial.until_done(arguments(proxy, tmp_path / "r"))
        trial.check()
    assert len(seen) > 20
    assert_no_key(tmp_path)


def test_what_was_left_out_and_how_answers_ended_is_said_after_a_resume_too(tmp_path):
    def refuse(request):
        if "top_k" in request.body:
            return Reply(400, b'{"error": {"message": "Unknown parameter: top_k", "code": "unknown_parameter"}}')
        value = json.loads(server._answered(request).body)
        value["choices"][0]["finish_reason"] = "eos_found"
        return Reply(body=json.dumps(value).encode())

    with Server(faults=refuse) as server, Proxy(server, seed=2, share=0.2, silence=4.0) as proxy:
        trial = Trial(proxy, tmp_path / "responses.sqlite")
        out = tmp_path / "r"
        trial.until_done(arguments(proxy, out))
        first = json.loads((out / "metrics.json").read_text())
        asked = len(proxy.events)
        trial.until_done(arguments(proxy, out))
        assert len(proxy.events) == asked
        again = json.loads((out / "metrics.json").read_text())
    assert again["notes"] == first["notes"]
    told = "\n".join(again["notes"])
    assert f"{proxy.model('m')} does not support top_k: requests were sent without" in told
    assert f'{proxy.model("m")} ended answers with "eos_found", which is not known; they are kept' in told


@pytest.mark.parametrize(
    ("usage", "estimated"),
    [
        (None, True),
        ({"prompt_tokens": 0, "completion_tokens": None}, True),
        ({"prompt_tokens": "many", "completion_tokens": -5}, True),
        ({"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 10**8}, "completion_tokens": 20}, False),
    ],
)
def test_a_budget_where_tokens_are_not_counted_or_counted_wrong(usage, estimated, tmp_path, record_property):
    """Each start of the command spends no more than its budget; it says if that is estimated."""
    with Server() as server, Proxy(server, seed=3, share=0.1, silence=4.0) as proxy:
        altered(server, lambda value: json.dumps({**value, "usage": usage}).encode())
        prices = tmp_path / "prices.yaml"
        rows = (f"{proxy.model(name)}: {{input: 100, output: 100, cached: 1}}\n" for name in ("m", "judge"))
        prices.write_text("".join(rows))
        trial = Trial(proxy, tmp_path / "responses.sqlite")
        spending = arguments(proxy, tmp_path / "r", "--prices", str(prices), "--max-cost", "4", "--max-tokens", "50")
        for _ in range(30):
            before = len(server.requests)
            code, _ = trial.run(spending)
            found = json.loads((tmp_path / "r" / "metrics.json").read_text())
            sent = server.requests[before:]
            words = sum(len(m["content"].split()) for r in sent for m in r.body["messages"])
            assert not estimated or words * 100 / 1e6 <= 4
            costs = [role["cost"] for role in found["usage"].values()]
            assert all(cost >= 0 for cost in costs)
            assert sum(costs) <= 4
            if code == 0:
                break
        record_property("tally", trial.check())
    assert code == 0
    assert any("tokens and cost are estimated from characters" in note for note in found["notes"]) == estimated
    whole = sum(role["cost_in_all"] for role in found["usage"].values())
    assert whole > sum(costs) if trial.processes > 1 else whole > 0


QUOTED = "Our oven says: temperature is not supported. The setting seed is unknown."
QUOTING = (
    "Invalid content: {}",
    "This image is not supported. The temperature was 0.6 and the seed 7.",
    "response_format is not supported with temperature 0.6, top_k 50",
)


def test_an_error_that_quotes_a_setting(hicupid_folder, tmp_path, record_property):
    """In a 400, from the prompt or in passing: its own request fails, and all others keep their settings."""
    path = hicupid_folder / "qa" / "test_2.parquet"
    table = pq.read_table(path)
    questions = pa.array([f"{question} {QUOTED}" for question in table["question"].to_pylist()])
    pq.write_table(table.set_column(table.column_names.index("question"), "question", questions), path)
    broken = True

    def quote(request):
        said = QUOTING[len(server.requests) % 3].format(request.body["messages"][-1]["content"])
        return Reply(400, json.dumps({"error": {"message": said}}).encode()) if broken else None

    with Server(faults=quote) as server, Proxy(server, seed=4, share=0.1, silence=4.0) as proxy:
        trial = Trial(proxy, tmp_path / "responses.sqlite")
        out = tmp_path / "r"
        words = arguments(proxy, out, "--data", str(hicupid_folder), "--split", "test_2")
        assert trial.run(words)[0] == 1
        assert len(server.requests) > 9
        broken = False
        trial.until_done(words)
        record_property("tally", trial.check())
    asked = [request.body for request in server.requests if request.body["model"] == "m"]
    assert QUOTED in asked[0]["messages"][-1]["content"]
    assert all({"temperature", "top_k", "seed"} <= body.keys() for body in asked)
    assert not any("does not support" in note for note in json.loads((out / "metrics.json").read_text())["notes"])


class Endless(Server):
    """It sends text, or compressed text, and never ends."""

    def __init__(self, coding: str) -> None:
        super().__init__()
        self._coding = coding

    async def _serve_one(self, reader, writer) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head.lower())[1])
        await reader.readexactly(length)
        self.requests.append(Request("", {}, b"", {}))
        start, part = b" ", b" " * (1 << 20)
        if self._coding == "gzip":
            compress = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
            start = compress.compress(start) + compress.flush(zlib.Z_FULL_FLUSH)
            part = compress.compress(b" " * (16 << 20)) + compress.flush(zlib.Z_FULL_FLUSH)  # can be repeated
        fields = ("HTTP/1.1 200 X", "Transfer-Encoding: chunked", f"Content-Encoding: {self._coding}", "", "")
        writer.write("\r\n".join(fields).encode())
        for chunk in itertools.chain([start], itertools.repeat(part)):
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await writer.drain()
        return False


def in_memory(gigabytes: int, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the command; the limit protects the machine from the test."""
    return subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, gigabytes << 30)),
    )


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_response_without_end(coding, tmp_path, record_property):
    with Endless(coding) as server:
        few = ("--limit", "3", "--concurrency", "2", "--history", "none", "--judge", "builtin")
        done = in_memory(4, ["eval", "hicupid", "--model", server.model("m"), *few, "--out", str(tmp_path / "r")])
        assert done.returncode == 1, done.stderr
        assert f"3 of them: {server.model('m')} sent more than 64 MiB" in done.stderr
        assert len(server.requests) == 3, "it may be paid for, and is not asked for again"
    record_property("tally", {"items": 3, "failed, and said so": 3})


def test_a_long_error(tmp_path, record_property):
    """A search in quadratic time would take longer for these 60 errors than any process may."""
    with Server(faults=lambda request: Reply(500, b"a" * 200_000)) as server:
        few = ("--limit", "60", "--attempts", "1", "--history", "none", "--judge", "builtin")
        done = in_memory(8, ["eval", "hicupid", "--model", server.model("m"), *few, "--out", str(tmp_path / "r")])
    assert done.returncode == 1, done.stderr
    lines = (tmp_path / "r" / "records.jsonl").read_text().splitlines()
    assert [json.loads(line)["failure"]["kind"] for line in lines] == ["server"] * 60
    assert max(map(len, lines)) < 2000
    record_property("tally", {"items": 60, "failed, and said so": 60})
