"""Which model a response is of: a server by its address or by a name of the user, weights by what they are."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bowstring.models.names import open_model
from bowstring.records import Message, Prompt, Sampling, Trunk, request_key
from bowstring.runs.folder import with_checksum
from tests.e2e.test_eval import command, metrics, records
from tests.support.auditing import audit
from tests.support.command import bowstring
from tests.support.server import Server
from tests.support.tiny import write_model

PASSWORD = "canary-8f3a"


def manifest(run: Path) -> dict:
    return json.loads((run / "run.json").read_text(encoding="utf-8"))


def by_builtin(model: str, out: Path, *more: str) -> list[str]:
    """An evaluation of ten items without a judge that is asked."""
    return ["eval", "hicupid", "--model", model, "--judge", "builtin", "--limit", "10", "--out", str(out), *more]


def stored_models(store: Path) -> set[str]:
    with closing(sqlite3.connect(store)) as db:
        return {name for (name,) in db.execute("SELECT DISTINCT model FROM responses")}


def test_a_mock_behind_a_variable_is_not_taken_for_the_hosted_model(tmp_path):
    with Server() as mock, Server(lambda messages, body: "hosted") as hosted:
        for server, name in ((mock, "mock"), (hosted, "hosted"), (mock, "mock")):
            env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-1"}
            ran = bowstring(*by_builtin("openai/m", tmp_path / name), env=env)
            assert ran.code == 0, ran.err
        assert (len(mock.requests), len(hosted.requests)) == (10, 10), "each is asked once, by nobody's answers"
    assert {r["answer"] for r in records(tmp_path / "hosted")} == {"hosted"}
    assert "hosted" not in {r["answer"] for r in records(tmp_path / "mock")}
    assert manifest(tmp_path / "mock")["config"]["model"] == mock.model("m")
    assert stored_models(tmp_path / "responses.sqlite") == {mock.model("m"), hosted.model("m")}


def test_a_name_served_at_two_ports_is_two_models(tmp_path):
    with Server() as first, Server() as second:
        for server, name in ((first, "a"), (second, "b")):
            assert bowstring(*command(server, tmp_path / name, "--limit", "10")).code == 0
        assert len(first.requests) == len(second.requests) == 20
        other = bowstring(*command(second, tmp_path / "a", "--limit", "10"))
    assert other.code == 2
    assert "contains a run with a different configuration" in other.err


def test_addresses_that_serve_the_same_model_share_its_answers(tmp_path):
    served = ("--served-as", "weights-1", "--served-as", "judge=weights-2", "--limit", "10")
    with Server() as first, Server() as second:
        assert bowstring(*command(first, tmp_path / "a", *served)).code == 0
        assert len(first.requests) == 20
        ran = bowstring(*command(second, tmp_path / "b", *served))
        assert ran.code == 0, ran.err
        moved = bowstring(*command(second, tmp_path / "a", *served))
        assert moved.code == 0, moved.err
        assert second.requests == [], "nothing is asked twice"
    assert records(tmp_path / "b") == records(tmp_path / "a")
    said = manifest(tmp_path / "b")
    assert (said["config"]["model"], said["config"]["judge"]) == ("served/weights-1", "served/weights-2")
    assert said["served_as"] == {"model": "weights-1", "judge": "weights-2"}
    assert said["models"] == {"model": second.model("m"), "judge": second.model("judge")}


def test_a_name_for_one_role_is_not_that_of_another_role_at_the_same_server(tmp_path):
    with Server() as server:
        args = ("eval", "hicupid", "--model", server.model("m"), "--judge", server.model("m"), "--limit", "10")
        ran = bowstring(*args, "--served-as", "weights", "--out", tmp_path / "r")
        assert ran.code == 0, ran.err
    usage = metrics(tmp_path / "r")["usage"]
    assert (usage["model"]["model"], usage["judge"]["model"]) == ("served/weights", server.model("m"))
    assert stored_models(tmp_path / "responses.sqlite") == {"served/weights", server.model("m")}


def test_a_run_like_another_has_the_names_that_its_judge_was_given(tmp_path):
    with Server() as server:
        served = ("--served-as", "judge=weights-2", "--limit", "10")
        assert bowstring(*command(server, tmp_path / "a", *served)).code == 0
        like = ("eval", "--like", tmp_path / "a", "--model", server.model("m"))
        assert bowstring(*like, "--out", tmp_path / "b").code == 0
        assert len(server.requests) == 20, "the same run again"
        assert bowstring(*like, "--served-as", "weights-1", "--out", tmp_path / "c").code == 0
        assert bowstring(*like, "--served-as", "judge=weights-3", "--out", tmp_path / "e").code == 0
        other = bowstring(*like, "--judge", server.model("other"), "--out", tmp_path / "d")
        assert other.code == 0, other.err
    assert manifest(tmp_path / "b")["served_as"] == {"judge": "weights-2"}
    assert manifest(tmp_path / "c")["served_as"] == {"judge": "weights-2", "model": "weights-1"}
    assert manifest(tmp_path / "d")["config"]["judge"] == server.model("other")
    assert manifest(tmp_path / "e")["served_as"] == {"judge": "weights-3"}


def test_a_password_in_an_address_is_in_no_file(tmp_path):
    with Server() as server:
        name = server.model("m").replace("http://", f"http://me:{PASSWORD}@")
        judge = ("--judge", name.replace("/m@", "/judge@"))
        ran = bowstring("eval", "hicupid", "--model", name, *judge, "--limit", "10", "--out", tmp_path / "r")
        assert ran.code == 0, ran.err
        assert all(r.headers["authorization"].startswith("Basic ") for r in server.requests), "the server is given it"
        again = bowstring(*command(server, tmp_path / "r", "--limit", "10"))
        assert again.code == 0, again.err
        assert len(server.requests) == 20, "the model is the same without it"
    assert manifest(tmp_path / "r")["models"]["model"] == server.model("m")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"run.json", "records.jsonl", "responses.sqlite"} <= {path.name for path in files}
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []
    listed = bowstring("store", "list", "--each", "--json", "--store", tmp_path / "responses.sqlite")
    assert PASSWORD not in ran.out + ran.err + listed.out
    assert {row["address"] for row in json.loads(listed.out)} == {server.url}


@pytest.mark.parametrize("served", [(), ("--served-as", "weights-1", "--served-as", "judge=weights-2")])
def test_an_audit_opens_the_models_of_a_run_again_without_their_addresses(tmp_path, served):
    with Server() as server:
        assert bowstring(*command(server, tmp_path / "r", "--limit", "10", *served)).code == 0
        before = len(server.requests)
        found = audit(tmp_path / "r", "--checks", "gold,no-history")
        asked = {r.body["model"] for r in server.requests[before:]}
    assert asked == {"m", "judge"}
    assert found["skipped"] == {}
    assert not any("this audit uses" in note for note in found["notes"]), "they are the models of the run"
    assert found["judge"] == manifest(tmp_path / "r")["config"]["judge"]


@pytest.mark.parametrize("command_of", ["audit", "eval"])
def test_the_key_of_a_server_goes_to_no_address_that_only_a_run_names(tmp_path, monkeypatch, command_of):
    monkeypatch.setenv("BOWSTRING_API_KEY", "sk-of-my-server")
    with Server() as server:
        assert bowstring(*command(server, tmp_path / "r", "--limit", "4")).code == 0
        stranger = "openai/judge@http://collector.example:9/v1"
        found = manifest(tmp_path / "r")
        found["models"]["judge"] = stranger
        (tmp_path / "r" / "run.json").write_text(json.dumps(with_checksum(found)))
        like = ("eval", "--like", tmp_path / "r", "--model", server.model("other"), "--out", tmp_path / "s")
        words = like if command_of == "eval" else ("audit", tmp_path / "r", "--checks", "gold")
        ran = bowstring(*words)
        assert ran.code == 2
        assert f"{stranger}: give it with --judge if BOWSTRING_API_KEY may be sent there" in ran.err
        assert bowstring(*words, "--judge", server.model("judge")).code == 0, "unless the user names a judge"


@pytest.mark.parametrize("model", ["embedded", "python:mine:answer", "hf/folder", "vllm/folder"])
def test_what_has_no_address_is_known_by_what_it_is(tmp_path, model):
    ran = bowstring(*by_builtin(model, tmp_path / "r"), "--served-as", "weights", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err == f"--served-as weights: {model} is not behind an address; it is known by what it is\n"


def test_a_name_for_a_role_that_is_not_there_is_refused(tmp_path):
    for given, message in [
        ("judge=weights", "--served-as judge=weights: there is no judge here; expected model"),
        (" ", "--served-as ' ': expected a name"),
    ]:
        ran = bowstring(*by_builtin("openai/m@http://127.0.0.1:1/v1", tmp_path / "r"), "--served-as", given)
        assert (ran.code, ran.err) == (2, f"{message}\n")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("modle=x",), "modle=x: 'modle' is not a role; did you mean model?"),
        (("=x",), "=x: '' is not a role; expected model, judge, matcher, history"),
        (("model=x=y",), "model=x=y: a name may not contain '='"),
        (("x", "y"), "y: the model already has the name x; did you mean judge=y?"),
        (("model=x", "judge=y", "judge=z"), "judge=z: the judge already has the name y; give one name per role"),
    ],
)
def test_names_that_are_not_clear_are_refused(tmp_path, given, message):
    address = "@http://127.0.0.1:1/v1"
    words = [
        "eval",
        "hicupid",
        "--model",
        f"openai/m{address}",
        "--judge",
        f"openai/j{address}",
        "--out",
        tmp_path / "r",
    ]
    ran = bowstring(*words, *(word for one in given for word in ("--served-as", one)))
    assert (ran.code, ran.err) == (2, f"--served-as {message}\n")


def key_of(identity: str) -> str:
    prompt = Prompt(Trunk([Message("user", ("I like tea.",))]), (Message("user", ("What do I like?",)),))
    return request_key(identity, prompt, Sampling(10))


def test_weights_are_known_by_what_they_are_wherever_they_are(tmp_path, monkeypatch):
    write_model(tmp_path / "x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    identity = open_model("hf/x").identity
    assert identity.startswith("hf/x#")
    assert identity.endswith(",float32")
    for name in ("hf/./x", f"hf/{tmp_path / 'x'}", "hf/x/"):
        assert open_model(name).identity == identity
    shutil.copytree("x", "elsewhere/y")
    renamed = open_model("hf/elsewhere/y").identity
    assert renamed == identity.replace("hf/x#", "hf/y#")
    assert key_of(renamed) == key_of(identity), "the name of a folder is for people"

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert open_model("hf/x").identity == identity.replace("float32", "bfloat16")
    assert key_of(open_model("hf/x").identity) != key_of(identity), "another precision answers differently"
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    config = json.loads(Path("x/config.json").read_text())
    Path("x/config.json").write_text(json.dumps(config | {"rope_theta": 5000.0}))
    assert key_of(open_model("hf/x").identity) != key_of(identity), "another model in the same folder"


def test_one_address_is_sent_the_same_however_it_is_given(tmp_path, monkeypatch):
    with Server() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
        assert bowstring(*by_builtin(server.model("m"), tmp_path / "a"), "--limit", "2").code == 0
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert bowstring(*by_builtin("openai/m", tmp_path / "b"), "--limit", "4").code == 0
        asked = [{**r.body, "messages": None, "seed": None} for r in server.requests]
    assert len(asked) == 4, "two were in the store"
    assert all(one == asked[0] for one in asked)
    assert asked[0]["top_k"] == 50
    assert manifest(tmp_path / "a")["config"]["model"] == manifest(tmp_path / "b")["config"]["model"]


def test_a_run_keeps_the_address_that_the_environment_gave(tmp_path, monkeypatch):
    """Opened again without the variable, it would be the provider's own model."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # nothing may go there
    with Server() as server, Server() as other:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        words = ("--model", "openai/m", "--judge", "openai/judge", "--limit", "6")
        assert bowstring("eval", "hicupid", *words, "--out", tmp_path / "r").code == 0
        assert {r.headers["authorization"] for r in server.requests} == {"Bearer sk-of-openai"}
        for address in (None, other.url):
            monkeypatch.delenv("OPENAI_BASE_URL") if address is None else monkeypatch.setenv("OPENAI_BASE_URL", address)
            before = len(server.requests)
            checks = "gold" if address is None else "no-history"
            found = audit(tmp_path / "r", "--checks", checks)
            assert found["skipped"] == {}
            assert not any("this audit uses" in note for note in found["notes"])
            assert len(server.requests) > before
            assert not any("authorization" in r.headers for r in server.requests[before:]), "the key is the provider's"
        assert not other.requests
        like = ("eval", "--like", tmp_path / "r", "--model", server.model("n"), "--out", tmp_path / "s")
        assert bowstring(*like).code == 0
        assert not other.requests


@pytest.mark.parametrize("address", ["https://API.OpenAI.com/v1/", "https://api.openai.com:443/v1"])
def test_the_providers_own_address_is_the_provider(monkeypatch, address):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("BOWSTRING_API_KEY", "sk-of-my-server")
    named = open_model(f"openai/m@{address}")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    assert named.identity == open_model("openai/m").identity == "openai/m"


@pytest.mark.parametrize("address", ["{}", "{}/", "{}/v1"])
def test_anthropics_variable_may_lack_the_version(tmp_path, monkeypatch, address):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-anthropic")
    with Server() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address.format(server.url.removesuffix("/v1")))
        assert bowstring(*by_builtin("anthropic/m", tmp_path / "r"), "--limit", "1").code == 0
    assert {r.path for r in server.requests} == {"/v1/messages"}
    assert manifest(tmp_path / "r")["config"]["model"] == f"anthropic/m@{server.url}"
