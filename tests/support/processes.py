"""Processes of the command that are killed or interrupted at a moment that does not depend on the machine's speed.

process = start(*command(server, tmp_path / "r"))
wait_until(lambda: len(server.requests) >= 5, process)
process.send_signal(signal.SIGINT)
_, err = process.communicate(timeout=LIMIT)
"""

import json
import os
import random
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.command import PROGRAM, SETTINGS
from tests.support.server import Server

LIMIT = 300.0  # seconds after which a test has failed, however busy the machine is


def start(*arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=os.environ | SETTINGS | (env or {}),
        cwd=cwd,
    )


def wait_until(reached: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Return when something holds, or when the process has ended."""
    end = time.monotonic() + LIMIT
    while not reached() and (process is None or process.poll() is None):
        assert time.monotonic() < end, "what was waited for never came"
        time.sleep(0.01)


def wait_for_requests(server: Server, n: int, process: subprocess.Popen[str] | None = None) -> None:
    wait_until(lambda: len(server.requests) >= n, process)


def is_stopping(run: Path) -> bool:
    """Whether a run has received the first Ctrl-C."""
    note = run / "progress.json"
    return note.is_file() and json.loads(note.read_text(encoding="utf-8"))["stopping"]


def kill_at_random_moments(args: list[str], times: int, out: Path, server: Server, rng: random.Random) -> set[str]:
    """Start and SIGKILL repeatedly; return the answers that were requested although they were committed."""
    asked_again: set[str] = set()
    store = out.parent / "responses.sqlite"
    for _ in range(times):
        committed = set()
        if store.exists():
            with sqlite3.connect(store) as db:
                committed = {row[0] for row in db.execute("SELECT text FROM responses")}
            db.close()
        before = len(server.requests)
        process = start(*args)
        if rng.random() < 0.2:
            time.sleep(rng.uniform(0.05, 0.5))  # most often while it is still starting
        else:
            wait_for_requests(server, before + rng.randint(1, 9), process)
            time.sleep(rng.uniform(0.0, 0.1))
        process.kill()
        process.communicate()
        wait_until(lambda: server.in_flight == 0)  # what it had asked for is answered
        asked_again |= committed & {r.answer for r in server.requests[before:] if r.answer}
    return asked_again
