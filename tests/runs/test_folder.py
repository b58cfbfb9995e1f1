"""A run's folder: its lock, and the errors about folders that cannot be read."""

import errno
import os

import pytest

from bowstring.errors import DataError, RunError, UsageError
from bowstring.runs.folder import RunFolder, is_running, read_records, read_run
from tests.support.command import bowstring


@pytest.mark.skipif(os.name == "nt", reason="there is no flock")
def test_a_run_that_another_has_open_is_in_use(tmp_path):
    first = RunFolder(tmp_path / "r")
    assert is_running(tmp_path / "r")
    with pytest.raises(RunError, match=f"is in use: process {os.getpid()} is running it"):
        RunFolder(tmp_path / "r")
    first.close()
    assert not is_running(tmp_path / "r")
    RunFolder(tmp_path / "r").close()


@pytest.mark.skipif(os.name == "nt", reason="there is no flock")
def test_without_locks_a_run_is_at_work_if_it_says_so(tmp_path, monkeypatch):
    import fcntl

    def refused(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    RunFolder(tmp_path / "r").close()
    monkeypatch.setattr(fcntl, "flock", refused)
    assert is_running(tmp_path / "r")


def test_records_that_are_missing_are_named_with_the_way_out(tmp_path):
    way_out = "cannot be read: No such file or directory; run the evaluation again: answers are in the store"
    with pytest.raises(DataError) as missing:
        list(read_records(tmp_path))
    assert str(missing.value) == f"{tmp_path / 'records.jsonl'} {way_out}"


def test_an_audit_of_a_run_is_not_taken_for_a_run(tmp_path):
    (tmp_path / "mine.py").write_text("def answer(messages):\n    return 'yes'\n")
    command = "eval hicupid --model python:mine:answer --judge builtin --limit 4 --out runs/r"
    assert bowstring(*command.split(), cwd=tmp_path).code == 0
    done = bowstring("audit", "runs/r", cwd=tmp_path)
    assert done.code == 0, done.err
    (audit,) = (tmp_path / "runs" / "r" / "audit").iterdir()
    run = tmp_path / "runs" / "r"
    with pytest.raises(UsageError) as refused:
        read_run(audit)
    assert str(refused.value) == f"{audit} is an audit, not a run; give the run's folder, {run}"
    assert read_run(run).configuration["benchmark"] == "hicupid"
