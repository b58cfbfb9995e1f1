"""Runs on several servers of one model: openai/NAME@URL1,URL2 --served-as NAME."""

import json
import math
import sqlite3
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from bowstring.api.synthesize import prepare_synthesis
from bowstring.runs.folder import with_checksum
from tests.e2e.test_eval import metrics, records
from tests.support.auditing import audit
from tests.support.command import bowstring
from tests.support.replicas import model_of, replicas
from tests.support.server import Reply, Server, digest_answer, text_of
from tests.support.sets import write_hicupid

DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Path:
    """So many users that every server has some, whatever its port is."""
    sizes = {"users": 48, "dimensions": 2, "turns": 2, "schedules": 1, "profile_questions": 1}
    return write_hicupid(tmp_path_factory.mktemp("set") / "many", **sizes)


def command(model: str, out: Path, *more: object) -> list[str]:
    words = ("eval", "hicupid", "--model", model, "--judge", "builtin", "--served-as", "m", "--out", out, *more)
    return [str(word) for word in words]


def history_of(request) -> str:
    return "\n".join(text_of(m) for m in request.body["messages"][:-1])


def test_each_user_is_asked_at_one_server_one_branch_first(tmp_path, many):
    with replicas(3, delay=lambda: 0.03) as servers:
        ran = bowstring(*command(model_of(servers), tmp_path / "r", "--data", many))
        assert ran.code == 0, ran.err
        users = [{history_of(r) for r in server.requests} for server in servers]
        assert all(users)
        assert not users[0] & users[1]
        assert not users[1] & users[2]
        assert not users[0] & users[2]
        of_model = metrics(tmp_path / "r")["usage"]["model"]
    per_server = of_model["servers"]
    assert list(per_server) == [server.url for server in servers]
    for server in servers:
        used = per_server[server.url]
        assert used["requests"] == len(server.requests)
        assert used["cached_tokens"] >= used["prompt_tokens"] - uncached(server.requests), "all trunks were warm"
        share = f"{used['cached_tokens'] / used['prompt_tokens']:.0%} served from cache"
        assert f"{server.url}: {used['requests']} requests" in ran.out
        assert share in ran.out
        assert server.url in (tmp_path / "r" / "report.html").read_text()
    for field in ("requests", "prompt_tokens", "cached_tokens", "completion_tokens"):
        assert sum(used[field] for used in per_server.values()) == of_model[field]
    with closing(sqlite3.connect(tmp_path / "responses.sqlite")) as db:
        stored = dict(db.execute("SELECT address, count(*) FROM responses GROUP BY address").fetchall())
    assert stored == {server.url: len(server.requests) for server in servers}


def uncached(requests) -> int:
    """Words outside a warm trunk: every question, and each history once."""
    histories = defaultdict(int)
    for request in requests:
        histories[history_of(request)] += 1
    questions = sum(len(text_of(r.body["messages"][-1]).split()) for r in requests)
    return questions + sum(len(history.split()) for history in histories)


def test_the_addresses_are_not_part_of_the_run(tmp_path):
    with replicas(3) as servers:
        assert bowstring(*command(model_of(servers), tmp_path / "r", "--limit", "8")).code == 0
        files = (tmp_path / "r" / "records.jsonl").read_bytes()
        asked = sum(len(server.requests) for server in servers)
        assert asked == 8
        for others in (servers[::-1], servers[1:]):
            assert bowstring(*command(model_of(others), tmp_path / "r", "--limit", "8")).code == 0
        assert bowstring(*command(servers[0].model("m"), tmp_path / "r", "--limit", "8")).code == 0, "one is enough"
        assert sum(len(server.requests) for server in servers) == asked
        assert (tmp_path / "r" / "records.jsonl").read_bytes() == files
    ran = bowstring(*command(f"openai/m@{DEAD},http://127.0.0.1:19/v1", tmp_path / "r", "--limit", "8"))
    assert ran.code == 0, "nothing is asked"


def test_a_slow_server_does_not_hold_up_the_others(tmp_path, many):
    """It answers nothing until the others have done all of their work."""
    with replicas(3) as servers:
        words = command(model_of(servers), tmp_path / "r", "--data", many)
        assert bowstring(*words).code == 0
        slow, *fast = servers
        before = [len(server.requests) for server in servers]
        slow.allowed = slow.answered + 1  # it says which models it has

        def answer(messages, body) -> str:
            if sum(len(server.requests) for server in fast) == 2 * sum(before[1:]):
                slow.allowed = math.inf
            return digest_answer(messages, body)

        for server in fast:
            server.answer = answer
        assert bowstring(*words, "--fresh").code == 0
        assert [len(server.requests) for server in servers] == [2 * n for n in before], "every trunk stays"


def test_a_dry_run_asks_no_server(tmp_path):
    with replicas(2) as servers:
        ran = bowstring(*command(model_of(servers), tmp_path / "r", "--dry-run"))
        assert ran.code == 0, ran.err
        assert [server.listed + len(server.requests) for server in servers] == [0, 0]


def test_a_judge_is_spread_and_the_rate_is_that_of_the_model(tmp_path):
    times: list[float] = []

    def judge(messages, body) -> str:
        times.append(time.monotonic())
        return digest_answer(messages, body)

    with Server() as evaluated, replicas(2, answer=judge) as servers:
        words = command(evaluated.model("m"), tmp_path / "r", "--requests-per-minute", "3000")
        words[words.index("builtin")] = model_of(servers, "j")
        ran = bowstring(*words, "--served-as", "judge=j")
        assert ran.code == 0, ran.err
        assert all(len(server.requests) > 10 for server in servers), "its rubric is on both"
    assert len(times) == 60
    assert max(times) - min(times) > 0.9 * 59 / 50


def test_batches_are_refused(tmp_path):
    ran = bowstring(*command(f"openai/m@{DEAD},http://b/v1", tmp_path / "r", "--batch"))
    assert ran.code == 2
    assert ran.err == (
        "--batch: a batch belongs to one server, and openai/m@http://127.0.0.1:9/v1,http://b/v1 has several; "
        "give one of them\n"
    )


def test_several_servers_need_a_name(tmp_path):
    words = [
        word for word in command(f"openai/m@{DEAD},http://b/v1", tmp_path / "r") if word not in ("--served-as", "m")
    ]
    ran = bowstring(*words)
    said = "openai/m@…: several servers need a name for the model that they serve: --served-as NAME\n"
    assert (ran.code, ran.err) == (2, said)


def test_all_dead_end_the_run_with_one_line(tmp_path):
    ran = bowstring(*command(f"openai/m@{DEAD},http://127.0.0.1:19/v1", tmp_path / "r", "--limit", "2"))
    assert ran.code == 1
    lines = [line for line in ran.err.splitlines() if "servers" in line]
    assert len(lines) == 1
    assert "none of the 2 servers answers" in lines[0]


def run_with_judges(servers, folder: Path) -> None:
    words = command(servers[0].model("m"), folder, "--limit", "4")
    words[words.index("builtin")] = model_of(servers, "j")
    ran = bowstring(*words, "--served-as", "judge=j")
    assert ran.code == 0, ran.err


def test_the_servers_of_a_run_are_known_to_like_and_audit(tmp_path):
    with replicas(2) as servers:
        run_with_judges(servers, tmp_path / "r")
        manifest = json.loads((tmp_path / "r" / "run.json").read_text())
        assert manifest["models"]["judge"] == model_of(servers, "j")
        like = ("eval", "--like", tmp_path / "r", "--model", "embedded", "--dry-run", "--json", "--out", tmp_path / "s")
        ran = bowstring(*like)
        assert ran.code == 0, ran.err
        assert "served/j" in ran.out
        found = audit(tmp_path / "r", "--checks", "gold")
        assert found["judge"] == "served/j"
        given = ("--checks", "gold", "--judge", model_of(servers[::-1], "j"))
        ran = bowstring("audit", tmp_path / "r", *given)
        assert ran.code == 2
        assert "several servers need a name for the model that they serve: --served-as judge=NAME" in ran.err
        asked = sum(len(server.requests) for server in servers)
        ran = bowstring("audit", tmp_path / "r", *given, "--served-as", "judge=j")
        assert ran.code == 0, ran.err
        assert sum(len(server.requests) for server in servers) == asked, "they are known to be the same"


def test_a_key_goes_to_no_list_that_only_a_run_names(tmp_path, monkeypatch):
    monkeypatch.setenv("BOWSTRING_API_KEY", "sk-of-my-server")
    with replicas(2) as servers:
        run_with_judges(servers, tmp_path / "r")
        path = tmp_path / "r" / "run.json"
        manifest = json.loads(path.read_text())
        manifest["models"]["judge"] += ",http://collector.example:9/v1"
        path.write_text(json.dumps(with_checksum(manifest)))
        ran = bowstring("audit", tmp_path / "r", "--checks", "gold")
    assert ran.code == 2
    assert "collector.example:9/v1: give it with --judge if BOWSTRING_API_KEY may be sent there" in ran.err


def test_stored_answers_are_asked_again_at_a_list(tmp_path):
    with replicas(2) as servers, replicas(2) as others:
        assert bowstring(*command(model_of(servers), tmp_path / "r", "--limit", "4")).code == 0
        store = tmp_path / "responses.sqlite"
        words = ("store", "reask", "--store", store, "--model", "served/m", "--at", model_of(others))
        ran = bowstring(*words)
        assert ran.code == 0, ran.out + ran.err
        assert sum(len(server.requests) for server in others) == 4
        with closing(sqlite3.connect(store)) as db:
            addresses = {a for (a,) in db.execute("SELECT address FROM responses")}
        assert addresses <= {server.url for server in others}


def test_answers_of_one_address_are_not_asked_again_at_a_list(tmp_path):
    with replicas(2) as servers:
        one = servers[0].model("m")
        words = [word for word in command(one, tmp_path / "r", "--limit", "2") if word not in ("--served-as", "m")]
        assert bowstring(*words).code == 0
        store = ("--store", tmp_path / "responses.sqlite")
        ran = bowstring("store", "reask", *store, "--model", one, "--at", model_of(servers))
    assert ran.code == 2
    assert f"{one} is one server" in ran.err


def test_a_set_is_written_by_several_servers(tmp_path):
    with replicas(2) as servers:
        model = model_of(servers)
        words = ("synth", "hicupid", "--model", model, "--users", "2", "--dry-run")
        assert "--served-as NAME" in bowstring(*words).err
        assert bowstring(*words, "--served-as", "m").code == 0
        assert [server.listed + len(server.requests) for server in servers] == [0, 0]
        prepared = prepare_synthesis("hicupid", model=model, served_as="m", users=2)
        assert {one.identity for one in prepared.models.values()} == {"served/m"}


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_fails_for_a_moment_costs_no_item(tmp_path, status):
    left = [Reply(status)] * 5
    with replicas(2, faults=lambda r: left.pop() if left and "completions" in r.path else None) as servers:
        ran = bowstring(*command(model_of(servers), tmp_path / "r", "--limit", "20"))
        assert ran.code == 0, ran.err
        assert not any(record.get("failure") for record in records(tmp_path / "r"))
