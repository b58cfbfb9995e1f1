"""Processes that share a store: no question is asked twice, whoever asks it and however a process ends."""

import itertools
import json
import math
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from itertools import count
from pathlib import Path

from tests.e2e.test_eval import command, metrics, records
from tests.faults.oracle import Trial
from tests.faults.proxy import Proxy
from tests.support.command import bowstring
from tests.support.processes import LIMIT, start, wait_for_requests, wait_until
from tests.support.server import Server, digest_answer, random_delay
from tests.support.stores import change_rows


def asked(server: Server) -> list[str]:
    return [json.dumps(request.body, sort_keys=True) for request in server.requests]


def requests_of(run: Path) -> int:
    return sum(usage["requests"] for usage in metrics(run)["usage"].values())


def by_builtin(server: Server, out: Path, *more: str) -> list[str]:
    return [*command(server, out, "--judge", "builtin"), *more]


def leases(store: Path) -> int:
    with closing(sqlite3.connect(store.with_name(f"{store.name}.leases"))) as db:
        return db.execute("SELECT count(*) FROM leases").fetchone()[0]


def test_two_processes_at_the_same_time_ask_every_question_once(tmp_path):
    with Server(delay=random_delay(0.0, 0.05)) as server:
        server.allowed = 0
        args = [command(server, tmp_path / name, "--concurrency", "4") for name in ("a", "b")]
        processes = [start(*one) for one in args]
        wait_until(lambda: server.in_flight > 4)  # more than one of them sends at a time
        server.allowed = math.inf
        for process in processes:
            _, err = process.communicate(timeout=LIMIT)
            assert process.returncode == 0, err
    assert len(asked(server)) == len(set(asked(server))) == 120
    assert requests_of(tmp_path / "a") + requests_of(tmp_path / "b") == 120
    assert min(requests_of(tmp_path / "a"), requests_of(tmp_path / "b")) > 0
    assert (tmp_path / "a" / "records.jsonl").read_bytes() == (tmp_path / "b" / "records.jsonl").read_bytes()
    assert leases(tmp_path / "responses.sqlite") == 0


def test_a_server_that_never_says_the_same_twice(tmp_path, record_property):
    """Three runs share a store, and one of them is killed. All come to the stored responses, and stay as they are."""
    said, at_once = itertools.count(), 4
    with (
        Server(lambda messages, body: f"{next(said)}. {digest_answer(messages, body)}", delay=lambda: 0.02) as server,
        Proxy(server, seed=5, share=0.0) as proxy,
    ):
        server.allowed = 10
        trial = Trial(proxy, tmp_path / "responses.sqlite")
        models = ["--model", proxy.model("m"), "--judge", proxy.model("judge"), "--concurrency", str(at_once)]
        runs = {name: ["eval", "hicupid", *models, "--out", str(tmp_path / name)] for name in ("a", "b", "c")}
        killed = trial.start(runs["a"])
        wait_until(lambda: server.answered == 10 and server.in_flight >= at_once, killed)
        others = [trial.start(runs[name]) for name in ("b", "c")]
        wait_until(lambda: all((tmp_path / name / "progress.json").is_file() for name in ("b", "c")))
        killed.kill()
        killed.communicate()
        trial.kills += 1
        server.allowed = math.inf
        for process in others:
            _, err = process.communicate(timeout=LIMIT)
            assert process.returncode == 0, err
        finished = (tmp_path / "b" / "records.jsonl").read_bytes()
        for words in (*runs.values(), runs["b"]):
            trial.until_done(words)
        record_property("tally", trial.check())
    assert [(tmp_path / name / "records.jsonl").read_bytes() for name in runs] == [finished] * 3
    twice = sum(n - 1 for n in Counter(event.asked for event in proxy.events).values())
    assert 0 < twice <= 2 * at_once, "what was in flight when it was killed, to the model and to the judge"


def test_processes_with_different_settings_do_not_wait_for_each_other(tmp_path):
    with Server() as server:
        server.allowed = 0
        first = start(*by_builtin(server, tmp_path / "a", "--limit", "1"))
        wait_for_requests(server, 1, first)
        second = start(*by_builtin(server, tmp_path / "b", "--limit", "1", "--seed", "9"))
        wait_for_requests(server, 2, second)
        server.allowed = math.inf
        for process in (first, second):
            _, err = process.communicate(timeout=LIMIT)
            assert process.returncode == 0, err
    assert len(server.requests) == 2


def test_a_killed_process_holds_up_nobody(tmp_path):
    with Server() as server:
        server.allowed = 0
        killed = start(*command(server, tmp_path / "a", "--concurrency", "4"))
        wait_for_requests(server, 4, killed)
        killed.kill()
        killed.communicate()
        store = tmp_path / "responses.sqlite"
        assert leases(store) >= 4
        with closing(sqlite3.connect(f"{store}.leases")) as db, db:  # as if it had said so just now, and for long
            db.execute("UPDATE owners SET until = ?", (time.time() + 86_400,))
        server.allowed = math.inf
        other = start(*command(server, tmp_path / "b"))
        _, err = other.communicate(timeout=LIMIT)
        assert other.returncode == 0, err
    assert len(records(tmp_path / "b")) == 60
    assert requests_of(tmp_path / "b") == 120
    assert len(set(asked(server))) == 120


def test_a_process_that_waits_for_another_can_be_stopped(tmp_path):
    with Server() as server:
        server.allowed = 0
        first = start(*by_builtin(server, tmp_path / "a", "--limit", "1"))
        wait_for_requests(server, 1, first)
        args = by_builtin(server, tmp_path / "b", "--limit", "1")
        second = start(*args)
        wait_until((tmp_path / "b" / "progress.json").is_file, second)
        second.send_signal(signal.SIGINT)
        second.communicate(timeout=LIMIT)
        assert second.returncode == 130
        assert first.poll() is None
        server.allowed = math.inf
        _, err = first.communicate(timeout=LIMIT)
        assert first.returncode == 0, err
        assert bowstring(*args).code == 0
    assert len(server.requests) == 1
    assert records(tmp_path / "a") == records(tmp_path / "b")


def test_a_process_that_waits_takes_over_when_the_other_is_killed(tmp_path):
    with Server() as server:
        server.allowed = 0
        first = start(*by_builtin(server, tmp_path / "a", "--limit", "1"))
        wait_for_requests(server, 1, first)
        second = start(*by_builtin(server, tmp_path / "b", "--limit", "1"))
        wait_until((tmp_path / "b" / "progress.json").is_file, second)
        first.kill()
        first.communicate()
        server.allowed = math.inf
        _, err = second.communicate(timeout=LIMIT)
        assert second.returncode == 0, err
    assert requests_of(tmp_path / "b") == 1


def test_fresh_replaces_what_is_stored_and_says_how_much(tmp_path):
    words = {"now": "before"}
    with Server(lambda messages, body: f"{words['now']}: {digest_answer(messages, body)}") as server:
        args = command(server, tmp_path / "r", "--limit", "10")
        assert bowstring(*args).code == 0
        assert not any("--fresh" in note for note in metrics(tmp_path / "r")["notes"])
        words["now"] = "after"
        ran = bowstring(*args, "--fresh")
        assert ran.code == 0, ran.err
        # Ten answers are replaced; the judge is asked about other answers, which replaces nothing.
        assert "--fresh replaced 10 responses in the store" in metrics(tmp_path / "r")["notes"]
        assert len(server.requests) == 40
        again = bowstring(*args)
        assert again.code == 0, again.err
        assert len(server.requests) == 40
    assert all(r["answer"].startswith("after: ") for r in records(tmp_path / "r"))


def ever_new():
    """Answers that are never the same."""
    number = count()
    return lambda messages, body: f"answer {next(number)}"


def test_two_runs_with_fresh_at_the_same_time_have_the_same_answers(tmp_path):
    with Server(ever_new()) as server:
        args = [by_builtin(server, tmp_path / name, "--limit", "12", "--concurrency", "2") for name in "ab"]
        assert bowstring(*args[0]).code == 0
        old = records(tmp_path / "a")
        server.requests.clear()
        server.allowed = server.answered
        processes = [start(*one, "--fresh") for one in args]
        wait_until(lambda: server.in_flight > 2)  # both have begun
        server.allowed = math.inf
        for process in processes:
            _, err = process.communicate(timeout=LIMIT)
            assert process.returncode == 0, err
        assert len(server.requests) == 12
        assert records(tmp_path / "a") == records(tmp_path / "b")
        assert not {r["answer"] for r in records(tmp_path / "a")} & {r["answer"] for r in old}
        before = (tmp_path / "a" / "records.jsonl").read_bytes()
        assert bowstring(*args[0]).code == 0
        assert (tmp_path / "a" / "records.jsonl").read_bytes() == before
        assert len(server.requests) == 12


def test_a_run_with_fresh_that_was_stopped_goes_on(tmp_path):
    with Server(ever_new()) as server:
        args = by_builtin(server, tmp_path / "r", "--limit", "12", "--concurrency", "1")
        assert bowstring(*args).code == 0
        old = {r["answer"] for r in records(tmp_path / "r")}
        server.requests.clear()
        server.allowed = server.answered + 6
        process = start(*args, "--fresh")
        wait_for_requests(server, 7, process)
        process.kill()
        process.communicate(timeout=LIMIT)
        server.allowed = math.inf
        wait_until(lambda: server.in_flight == 0)
        assert bowstring(*args, "--fresh").code == 0
        # The one in flight when the process was killed is asked again; one more may not have been written yet.
        assert len(server.requests) <= 12 + 2
        assert not {r["answer"] for r in records(tmp_path / "r")} & old
        server.requests.clear()
        assert bowstring(*args, "--fresh").code == 0
        assert len(server.requests) == 12, "a run that is complete begins again"


def test_fresh_does_not_take_responses_that_seem_to_come_from_the_future(tmp_path):
    with Server(ever_new()) as server:
        args = by_builtin(server, tmp_path / "r", "--limit", "6")
        assert bowstring(*args).code == 0
        later = lambda row: {"stored_at": row["stored_at"] + 3600}  # noqa: E731
        change_rows(tmp_path / "responses.sqlite", later)
        server.requests.clear()
        assert bowstring(*args, "--fresh").code == 0
        assert len(server.requests) == 6


def test_a_race_with_fresh_asks_once(tmp_path):
    with Server(ever_new()) as server:
        models = ("--model", server.model("m"), "--against", server.model("n"), "--judge", "builtin")
        ran = bowstring("eval", "hicupid", *models, "--users", "2", "--fresh", cwd=tmp_path)
        assert ran.code in (0, 1), ran.err
        said = asked(server)
    assert len(said) == len(set(said))
