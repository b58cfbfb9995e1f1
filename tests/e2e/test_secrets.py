"""A canary in every variable that holds a key: it is sent to its own server and occurs nowhere else.

Not in a file, however packed, not on either stream, not on a page that is served; not even where a server repeats the
key to us, or a process ends as it should not.
"""

import base64
import gzip
import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

import bowstring as package
from bowstring.errors import BowstringError
from tests.e2e.test_eval import command
from tests.e2e.test_synth import SMALL
from tests.support.batches import BatchServer
from tests.support.command import Ran, bowstring
from tests.support.hub import Hub
from tests.support.server import Reply, Server, digest_answer
from tests.support.writer import Writer

CANARY = "sk-canary/8f3a+Qz\"7'%=\\x-0123456789"  # characters that JSON, addresses and Python write in other ways
WORD = "canary"  # in whatever form the rest of it is
VARIABLES = (
    *("BOWSTRING_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    *("TOGETHER_API_KEY", "OPENROUTER_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"),
    *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN", "MY_OWN_API_KEY"),
)
KEYS = dict.fromkeys(VARIABLES, CANARY)
BASIC = base64.b64encode(f"user:{CANARY}".encode()).decode()


def run(*arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Run a command with canaries and search its output at once."""
    ran = bowstring(*arguments, env=KEYS | (env or {}), cwd=cwd)
    assert_clean(ran.out + ran.err, "the command's words")
    return ran


def assert_clean(text: str | bytes, where: object) -> None:
    searched = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    for secret in (WORD, base64.b64encode(CANARY.encode()).decode()[:-4], BASIC[:-4]):
        at = searched.find(secret.encode())
        assert at < 0, f"{where}: {searched[max(0, at - 60) : at + 60]!r}"


def assert_clean_folder(folder: Path) -> None:
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert files
    for path in files:  # all of them before a database is opened, which would tidy its log away
        assert_clean(str(path.relative_to(folder)), "a name")
        assert_clean(path.read_bytes(), path)
    for path in files:
        if path.suffix == ".sqlite":
            assert_clean_database(path)
        if path.suffix == ".parquet":
            assert_clean(repr(pq.read_table(path).to_pylist()), path)


def assert_clean_database(path: Path) -> None:
    """Every value of every table, including compressed ones."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f"SELECT * FROM {table}"):
                assert_clean(repr(row), path)
                for value in row:
                    if isinstance(value, bytes):
                        assert_clean(zlib.decompress(value) if value[:1] == b"\x78" else value, path)


def repeated(request) -> str:
    """The answer of a careless server: everything it was sent, and the key in several encodings."""
    key = request.headers.get("authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key", "")
    return f"{json.dumps(request.headers)} {key} {quote(key, safe='')} {key!r}"


def careless(status: int, **headers: str):
    def reply(request):
        said = {"error": {"message": f"wrong: {repeated(request)}", "headers": request.headers, "type": "x"}}
        return Reply(status, json.dumps(said).encode(), headers)

    return reply


def gzipped(request):
    body = gzip.compress(json.dumps({"error": repeated(request)}).encode())
    return Reply(400, body, {"Content-Encoding": "gzip"})


def escaped_slashes(request):
    """JSON as PHP writes it."""
    return Reply(500, json.dumps({"error": {"message": repeated(request)}}).replace("/", r"\/").encode())


def cut_inside_the_key(request):
    key = request.headers.get("authorization", request.headers.get("x-api-key", "")).removeprefix("Bearer ")
    return Reply(500, ("x" * (300 - 12) + key).encode())


FAULTS = {
    "400": careless(400),
    "401": careless(401),
    "402": careless(402),
    "404": careless(404),
    "413": careless(413),
    "418": careless(418),
    "429": careless(429, **{"Retry-After": "0"}),
    "500": careless(500),
    "redirect": lambda r: Reply(302, b"", {"Location": f"http://x.test/?key={quote(CANARY, safe='')}&raw={CANARY}"}),
    "html": lambda r: Reply(502, f"<html><body>{repeated(r)}</body></html>".encode(), {"Content-Type": "text/html"}),
    "text": lambda r: Reply(503, repeated(r).encode(), {"Content-Type": "text/plain"}),
    "out of form": lambda r: Reply(200, json.dumps({r.headers.get("authorization", "x"): repeated(r)}).encode()),
    "not JSON": lambda r: Reply(200, repeated(r).encode()),
    "gzipped": gzipped,
    "escaped": escaped_slashes,
    "cut": cut_inside_the_key,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_repeats_the_key_in_its_errors(tmp_path, keys, fault):
    """Every protocol: output, stored files and exceptions."""
    for provider in ("openai", "anthropic", "bedrock"):
        with Server(faults=FAULTS[fault]) as server:
            assert_fails_cleanly(server.model("m", provider), tmp_path / provider)
            assert any(WORD in json.dumps(r.headers) for r in server.requests), "the key went where it belongs"
    assert_clean_folder(tmp_path)


def assert_fails_cleanly(model: str, out: Path) -> None:
    try:
        assert package.evaluate("hicupid", model=model, limit=2, attempts=1, out=out).metrics["failed"] == 2
    except BowstringError as error:
        assert_clean(str(error), "the error")


@pytest.fixture
def keys(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.setenv(variable, CANARY)


def test_a_command_that_is_refused(tmp_path):
    with Server(faults=careless(401)) as server:
        ran = run(*command(server, tmp_path / "r", "--limit", "2"))
        assert ran.code == 1
        assert "…" in ran.err
    assert_clean_folder(tmp_path)


def test_a_server_that_repeats_the_key_in_its_answers(tmp_path):
    """In stored, judged and displayed text, for an evaluated model, a judge and a synthesis model."""
    with Server() as server:

        def echo(messages, body):
            return f"{digest_answer(messages, body)}\n{repeated(server.requests[-1])}"

        server.answer = echo
        ran = run(*command(server, tmp_path / "runs" / "r", "--limit", "3"))
        assert ran.code == 0, ran.err
        assert (tmp_path / "runs" / "r" / "records.jsonl").read_text(encoding="utf-8").count("…") >= 3
        run("synth", "cupid", "--model", server.model("m"), "--personas", "1", "--out", tmp_path / "set")
    assert_clean_folder(tmp_path)


def test_labels_that_end_inside_the_key(tmp_path):
    """A finish reason and an id are cut where they are long: after the key is removed, not before."""
    with Server() as server:

        def reply(request):
            value = json.loads(server._answered(request).body)
            key = request.headers["authorization"].removeprefix("Bearer ")
            long = "x" * (201 - len(key)) + key
            value["id"] = value["model"] = value["choices"][0]["finish_reason"] = long
            return Reply(body=json.dumps(value).encode())

        server.faults = reply
        ran = run(*command(server, tmp_path / "runs" / "r", "--limit", "3"))
        assert ran.code == 0, ran.err
        assert "xxx" in (tmp_path / "runs" / "r" / "records.jsonl").read_text(encoding="utf-8"), "labels are kept"
        value = {"choices": [{"message": {"content": ""}, "finish_reason": "x" * (201 - len(CANARY)) + CANARY}]}
        server.faults = lambda request: Reply(body=json.dumps(value).encode())
        run(*command(server, tmp_path / "runs" / "s", "--limit", "3", "--attempts", "1", "--fresh"))
    assert_clean_folder(tmp_path)


def test_a_short_key_is_a_word_that_answers_may_hold(tmp_path):
    """`BOWSTRING_API_KEY=test` stands for no key; what a model says of tests is not touched."""
    with Server(lambda messages, body: "a test of tests") as server:
        arguments = ("eval", "hicupid", "--model", server.model("m"), "--out", tmp_path / "r", "--limit", "2")
        assert bowstring(*arguments, env={"BOWSTRING_API_KEY": "test"}).code == 0
    assert (tmp_path / "r" / "records.jsonl").read_text(encoding="utf-8").count("a test of tests") >= 2


@pytest.mark.parametrize("benchmark", ["cupid", "hicupid"])
def test_a_set_that_a_model_writes(tmp_path, benchmark):
    size = ("--personas", "1") if benchmark == "cupid" else tuple(SMALL)
    with Server(Writer().answer) as server:
        made = run("synth", benchmark, "--model", server.model("m"), *size, "--out", tmp_path / "set")
        assert made.code == 0, made.err
        server.faults = careless(500)
        arguments = ("--model", server.model("n"), *size, "--out", tmp_path / "other", "--attempts", "1")
        assert run("synth", benchmark, *arguments).code == 1
    assert_clean_folder(tmp_path)


def test_batches(tmp_path, keys):
    """The ledger, and the server's answers about a batch, its files and their lines."""

    def lines(n, body):
        error = {"code": "x", "message": f"no: {CANARY}"}
        return {"response": {"status_code": 400, "body": {"error": error}}, "error": None}

    with BatchServer() as server:
        ran = run(*command(server, tmp_path / "a" / "r", "--batch", "--limit", "2"))
        assert ran.code == 0, ran.err
        server.lines = lines
        assert run(*command(server, tmp_path / "b" / "r", "--batch", "--limit", "2")).code == 1
    for answered in ({"no id": CANARY}, {"id": f"../{CANARY}"}, [CANARY]):
        body = json.dumps(answered).encode()
        with Server(faults=lambda request, body=body: Reply(200, body)) as server:
            asked = {"model": server.model("m"), "out": tmp_path / "c" / "r", "batch": True, "limit": 2, "attempts": 1}
            with pytest.raises(BowstringError) as why:
                package.evaluate("hicupid", **asked)
            assert_clean(str(why.value), "the error")
    assert_clean_folder(tmp_path)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_key_in_a_servers_address_that_repeats_it(tmp_path, keys, fault):
    with Server(faults=FAULTS[fault]) as server:
        for provider in ("openai", "anthropic", "bedrock"):
            assert_fails_cleanly(f"{provider}/m@{with_key(server)}", tmp_path / provider)
            assert BASIC in server.requests[-1].headers["authorization"], "it is sent as the address says"
    assert_clean_folder(tmp_path)


def with_key(server: Server) -> str:
    return f"http://user:{quote(CANARY, safe='')}@127.0.0.1:{server.port}/v1"


def test_a_key_in_a_servers_address(tmp_path):
    with Server() as server:
        named = ("eval", "hicupid", "--limit", "1", "--model")
        assert run(*named, f"openai/m@{with_key(server)}", cwd=tmp_path).code == 0
        assert run(*named, f"openai/m@{with_key(server)}", "--fresh", "--dry-run", cwd=tmp_path).code == 0
        assert run(*named, "openai/n", cwd=tmp_path, env={"OPENAI_BASE_URL": with_key(server)}).code == 0
    assert len(server.requests) == 2
    assert_clean_folder(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        f"openai/m@user:{CANARY}@host:80/v1",
        f"openai/m@http://user:{CANARY}@host/v1",
        f"openai/m@http://user:{quote(CANARY, safe='')}@host:x/v1",
        f"openai/m@http://user:{quote(CANARY, safe='')}@host/v1?key={CANARY}",
        f"openai/m@http://user:with a space {CANARY}@host/v1",
        f"opnai/m@http://user:{CANARY}@host/v1",
        f"http://user:{quote(CANARY, safe='')}@host/v1",
    ],
)
def test_an_address_that_is_none_is_not_repeated(tmp_path, name):
    ran = run("eval", "hicupid", "--model", name, "--limit", "1", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("variable", "value", "model"),
    [
        ("OPENAI_API_KEY", f"{CANARY}\nx", "openai/m"),
        ("OPENAI_API_KEY", f"{CANARY}ü", "openai/m"),
        ("ANTHROPIC_API_KEY", f"{CANARY}\x07", "anthropic/m"),
        ("AWS_SESSION_TOKEN", f"{CANARY}\nx", "bedrock/m"),
        ("OPENAI_BASE_URL", f"http://user:{CANARY}\x01@host/v1", "openai/m"),
        ("OPENAI_BASE_URL", f"foo://user:{CANARY}@host/v1", "openai/m"),
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", f"user:{CANARY}", "bedrock/m"),
        ("HTTPS_PROXY", "foo://user:a-canary-of-its-own@host", "openai/m"),
        ("HTTPS_PROXY", "http://user:a-canary-of-its-own@127.0.0.1:9", "openai/m"),
    ],
)
def test_a_key_that_cannot_be_one(tmp_path, variable, value, model):
    env = {variable: value} | ({"AWS_BEARER_TOKEN_BEDROCK": ""} if model == "bedrock/m" else {})
    ran = run("eval", "hicupid", "--model", model, "--limit", "1", "--attempts", "1", cwd=tmp_path, env=env)
    assert ran.code in (1, 2)
    assert "Traceback" not in ran.err, ran.err


def test_a_hub_that_repeats_the_token(tmp_path):
    with Hub({"someone/set": {"test.parquet": b""}}) as hub:
        says = {"X-Error-Message": f"bad token {CANARY}", "X-Error-Code": "x", "X-Request-Id": CANARY}
        hub._answer = lambda request: hub._send(request, 400, repr(request.headers.items()).encode(), says)
        for command_ in (
            ("data", "info", "someone/set"),
            ("data", "pull", "someone/set", "--to", tmp_path / "to"),
            ("eval", "hicupid", "--model", "hf/someone/model", "--limit", "1", "--out", tmp_path / "r"),
            ("synth", "cupid", "--model", "python:json:dumps", "--seeds", "someone/set:x", "--out", tmp_path / "s"),
            ("data", "info", "mini", "--tokenizer", "someone/model"),
        ):
            ran = run(*command_, env=hub.env(tmp_path / "home"), cwd=tmp_path)
            assert ran.code != 0, command_
            assert "Traceback" not in ran.err, ran.err
    (tmp_path / "something").touch()
    assert_clean_folder(tmp_path)


OWN = '''
import os

KEY = os.environ["MY_OWN_API_KEY"]


def refused(messages):
    raise PermissionError(f"no such key: {KEY}")


class Unmakeable:
    def __init__(self):
        raise ValueError(KEY)


class Ending:
    """Raises an unexpected error."""

    name = identity = "ending"
    concurrency = 1

    async def complete(self, prompt, sampling):
        raise RuntimeError(f"unforeseen: {KEY}")

    async def close(self):
        raise RuntimeError(f"unforeseen, at the end: {KEY}")
'''


def test_code_of_ones_own_that_quotes_a_key(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "raising.py").write_text("import os\nraise ValueError(os.environ['MY_OWN_API_KEY'])\n")
    for name in ("own:refused", "own:Unmakeable", "raising:x"):
        model = ("--model", f"python:{name}", "--out", tmp_path / "r")
        ran = run("eval", "hicupid", *model, "--limit", "2", cwd=tmp_path)
        assert ran.code in (1, 2), ran.err
    assert_clean_folder(tmp_path)
