"""Runs with a server that repeats the key, that refuses settings, or that counts no tokens, under faults as well.

What a run wrote is the same when it is interrupted and resumed, whatever the server sent.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.faults.oracle import Trial
from tests.faults.proxy import Proxy
from tests.support.server import Reply, Server

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


def test_a_budget_where_tokens_are_not_counted(tmp_path):
    """Each start of the command spends no more than its budget, and says that it is estimated."""
    with Server() as server, Proxy(server, seed=3, share=0.1, silence=4.0) as proxy:
        altered(server, lambda value: json.dumps({**value, "usage": None}).encode())
        prices = tmp_path / "prices.yaml"
        rows = (f"{proxy.model(name)}: {{input: 100, output: 100}}\n" for name in ("m", "judge"))
        prices.write_text("".join(rows))
        trial = Trial(proxy, tmp_path / "responses.sqlite")
        spending = arguments(proxy, tmp_path / "r", "--prices", str(prices), "--max-cost", "4", "--max-tokens", "50")
        for _ in range(30):
            before = len(server.requests)
            code, _ = trial.run(spending)
            found = json.loads((tmp_path / "r" / "metrics.json").read_text())
            sent = server.requests[before:]
            words = sum(len(m["content"].split()) for r in sent for m in r.body["messages"])
            assert words * 100 / 1e6 <= 4
            assert sum(usage["cost"] for usage in found["usage"].values()) <= 4
            if code == 0:
                break
        trial.check()
    assert code == 0
    assert any("tokens and cost are estimated from characters" in note for note in found["notes"])
