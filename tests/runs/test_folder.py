"""A run's folder: who is at work in it, and what is said of one that cannot be read."""

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bowstring.errors import DataError, RunError, UsageError
from bowstring.runs.folder import RunFolder, is_at_work, read_records, read_run

SOURCE = str(Path(__file__).parents[2] / "src")


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A process whose modules may also lie in `folder`."""
    path = os.pathsep.join([str(folder), SOURCE])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def without_locks(folder: Path, number: int) -> None:
    """Processes that find modules in `folder` meet a file system whose answer to flock is this error."""
    code = f"""
        import fcntl, os

        def _refused(*arguments):
            raise OSError({number}, os.strerror({number}))

        fcntl.flock = _refused
    """
    (folder / "sitecustomize.py").write_text(textwrap.dedent(code))
    (folder / "mine.py").write_text("def answer(messages):\n    return 'yes'\n")


@pytest.mark.skipif(os.name == "nt", reason="there is no flock")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_where_there_are_no_locks_a_run_goes_on_and_says_so_once(tmp_path, number):
    without_locks(tmp_path, number)
    command = "-m bowstring eval hicupid --model python:mine:answer --judge builtin --limit 2 --out runs/r"
    for _ in range(2):  # the second finds the number of a process that has ended
        done = python(tmp_path, *command.split())
        assert done.returncode == 0, done.stderr
        said = [line for line in done.stderr.splitlines() if "locked" in line]
        why = os.strerror(number)
        assert said == [f"runs/r: files cannot be locked there ({why}), so nothing keeps two processes apart"], (
            done.stderr
        )


@pytest.mark.skipif(os.name == "nt", reason="there is no flock")
def test_where_there_are_no_locks_a_damaged_store_is_mended(tmp_path):
    without_locks(tmp_path, errno.ENOLCK)
    command = "-m bowstring eval hicupid --model python:mine:answer --judge builtin --limit 2 --out runs/r"
    assert python(tmp_path, *command.split()).returncode == 0
    store = tmp_path / "runs" / "responses.sqlite"
    store.write_bytes(store.read_bytes()[:-4096])
    done = python(tmp_path, *command.split())
    assert (done.returncode, "was damaged" in done.stderr) == (1, True), done.stderr
    assert python(tmp_path, *command.split()).returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="there is no flock")
def test_a_run_that_another_has_open_is_in_use(tmp_path):
    first = RunFolder(tmp_path / "r")
    assert is_at_work(tmp_path / "r")
    with pytest.raises(RunError, match=f"is in use: process {os.getpid()} is at work on this run"):
        RunFolder(tmp_path / "r")
    first.close()
    assert not is_at_work(tmp_path / "r")
    RunFolder(tmp_path / "r").close()


@pytest.mark.skipif(os.name == "nt", reason="there is no flock")
def test_without_locks_a_run_is_at_work_if_it_says_so(tmp_path, monkeypatch):
    import fcntl

    def refused(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    RunFolder(tmp_path / "r").close()
    monkeypatch.setattr(fcntl, "flock", refused)
    assert is_at_work(tmp_path / "r")


def test_records_that_are_missing_are_named_with_the_way_out(tmp_path):
    way_out = "cannot be read: No such file or directory; run the evaluation again: answers are in the store"
    with pytest.raises(DataError) as missing:
        list(read_records(tmp_path))
    assert str(missing.value) == f"{tmp_path / 'records.jsonl'} {way_out}"


def test_an_audit_of_a_run_is_not_taken_for_a_run(tmp_path):
    (tmp_path / "mine.py").write_text("def answer(messages):\n    return 'yes'\n")
    command = "-m bowstring eval hicupid --model python:mine:answer --judge builtin --limit 4 --out runs/r"
    assert python(tmp_path, *command.split()).returncode == 0
    done = python(tmp_path, "-m", "bowstring", "audit", "runs/r")
    assert done.returncode == 0, done.stderr
    (audit,) = (tmp_path / "runs" / "r" / "audit").iterdir()
    run = tmp_path / "runs" / "r"
    with pytest.raises(UsageError) as refused:
        read_run(audit)
    assert str(refused.value) == f"{audit} is an audit of a run, not a run; give the run's folder, {run}"
    assert read_run(run).configuration["benchmark"] == "hicupid"
