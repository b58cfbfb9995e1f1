"""Processes on a file system without locks."""

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

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
        said = [line for line in done.stderr.splitlines() if "locks" in line]
        why = os.strerror(number)
        assert said == [
            f"runs/r: the file system does not support locks ({why}), so two processes could write to the same run"
        ], done.stderr


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
