"""A batch outlives the process that sent it."""

import signal

import pytest

from tests.e2e.test_eval import command, metrics, records
from tests.support.batches import BatchServer
from tests.support.command import bowstring
from tests.support.processes import LIMIT, start, wait_until


def wait_for_batch(server: BatchServer, n: int = 1) -> None:
    wait_until(lambda: len(server.batches) >= n and server.batches[n - 1]["looks"] > 0)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_batch_is_collected_by_a_later_process_and_never_sent_twice(tmp_path, how):
    with BatchServer(polls=10**9) as server:
        args = command(server, tmp_path / "r", "--batch")
        first = start(*args)
        wait_for_batch(server)
        first.send_signal(how)
        _, err = first.communicate(timeout=LIMIT)
        if how == signal.SIGINT:
            assert first.returncode == 130
            assert "batch_0 is still running at the server; run the same command again to collect it." in err
            assert not metrics(tmp_path / "r")["complete"]
            assert metrics(tmp_path / "r")["failed"] == 0
        server.polls = 0
        ran = bowstring(*args)
        assert ran.code == 0, ran.err
        assert len(server.batches) == 2, "one for the answers, one for the verdicts"
    assert len(records(tmp_path / "r")) == 60
    assert metrics(tmp_path / "r")["complete"]


def test_a_fresh_run_that_was_stopped_finds_its_own_batch_and_no_older_one(tmp_path):
    with BatchServer() as server:
        args = command(server, tmp_path / "r", "--batch", "--limit", "5")
        assert bowstring(*args).code == 0
        server.polls = 10**9
        first = start(*args, "--fresh")
        wait_for_batch(server, 3)
        first.send_signal(signal.SIGKILL)
        first.communicate(timeout=LIMIT)
        server.polls = 0
        ran = bowstring(*args, "--fresh")
        assert ran.code == 0, ran.err
        assert len(server.batches) == 4, "two of the first run, two of the fresh one"
