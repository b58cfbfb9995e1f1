"""`bowstring eval` killed, interrupted, and started twice: real processes, real signals."""

import json
import math
import random
import signal
import sqlite3

import pytest

from tests.e2e.test_eval import command, metrics
from tests.e2e.test_eval_cupid import answer, assert_right
from tests.e2e.test_eval_cupid import command as cupid_command
from tests.support.command import bowstring
from tests.support.processes import LIMIT, is_stopping, kill_at_random_moments, start, wait_for_requests, wait_until
from tests.support.server import Reply, Server, random_delay


@pytest.mark.slow
def test_killed_at_20_random_moments_the_records_are_those_of_an_undisturbed_run(tmp_path):
    with Server(delay=random_delay(0.05, 0.15)) as server:
        args = command(server, tmp_path / "killed" / "r", "--concurrency", "2")
        asked_again = kill_at_random_moments(args, 20, tmp_path / "killed" / "r", server, random.Random(5))
        assert asked_again == set(), "a committed response was asked for again"
        reached = len(server.requests)
        assert reached > 40, "the kills came too early to prove anything"
        assert bowstring(*args).code == 0
        server.delay = lambda: 0.0
        assert bowstring(*command(server, tmp_path / "whole" / "r")).code == 0
    killed, whole = tmp_path / "killed" / "r" / "records.jsonl", tmp_path / "whole" / "r" / "records.jsonl"
    assert killed.read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_the_right_answer_comes_out_after_kills(tmp_path):
    def unique(messages, body):
        mark = f" {abs(hash(json.dumps(messages)))}" if body["model"] == "m" else ""
        return answer(messages, body) + mark

    with Server(unique, delay=random_delay(0.05, 0.15)) as server:
        args = cupid_command(server, tmp_path / "r", "--concurrency", "2")
        kill_at_random_moments(args, 5, tmp_path / "r", server, random.Random(2))
        assert bowstring(*args).code == 0
    assert_right(tmp_path / "r")


def test_ctrl_c_once_finishes_what_is_in_flight_and_says_how_to_go_on(tmp_path):
    with Server(delay=lambda: 0.4) as server:
        args = command(server, tmp_path / "r", "--concurrency", "3")
        process = start(*args)
        wait_for_requests(server, 5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
        asked = len(server.requests)
        assert process.returncode == 130
        assert "run the same command again to resume" in err
        with sqlite3.connect(tmp_path / "responses.sqlite") as db:
            assert db.execute("SELECT count(*) FROM responses").fetchone() == (asked,), "nothing in flight was lost"
        assert not metrics(tmp_path / "r")["complete"]
        server.delay = lambda: 0.0
        assert bowstring(*args).code == 0
        assert len(server.requests) == 120
    assert metrics(tmp_path / "r")["complete"]


def test_ctrl_c_twice_ends_at_once(tmp_path):
    with Server() as server:
        server.allowed = 0
        process = start(*command(server, tmp_path / "r"))
        wait_for_requests(server, 1)
        process.send_signal(signal.SIGINT)
        wait_until(lambda: is_stopping(tmp_path / "r"), process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "stopped"


def test_ctrl_c_ends_retries_and_pauses(tmp_path):
    with Server(faults=lambda request: Reply(429, b"{}", {"Retry-After": "50"})) as server:
        process = start(*command(server, tmp_path / "r"))
        wait_for_requests(server, 1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=45)  # a pause that goes on takes longer
        asked = len(server.requests)
    assert process.returncode == 130
    assert asked < 20


def test_a_model_that_never_returns_can_be_left(tmp_path):
    code = "import time\ndef answer(messages):\n    print('asked', flush=True)\n    time.sleep(86400)\n"
    (tmp_path / "slow.py").write_text(code)
    process = start("eval", "hicupid", "--model", "python:slow:answer", "--out", tmp_path / "r", cwd=tmp_path)
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    wait_until(lambda: is_stopping(tmp_path / "r"), process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT)
    assert process.returncode == 130


def test_a_second_process_on_a_run_says_so_and_stops(tmp_path):
    with Server() as server:
        args = command(server, tmp_path / "r", "--concurrency", "1")
        server.allowed = 0
        first = start(*args)
        wait_for_requests(server, 1)
        second = bowstring(*args)
        assert second.code == 1
        assert f"{tmp_path / 'r'} is in use: process {first.pid} is running it" in second.err
        server.allowed = math.inf
        other = bowstring(*command(server, tmp_path / "other", "--limit", "2"))
        assert other.code == 0, "another run of the same store goes on"
        first.communicate(timeout=LIMIT)
        assert first.returncode == 0
