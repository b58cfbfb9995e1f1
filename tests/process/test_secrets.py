"""No key is found anywhere when a process serves pages, ends with a traceback, or is killed."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from tests.e2e.test_eval import command, records
from tests.e2e.test_eval_cupid import answer as cupid_answer
from tests.e2e.test_eval_cupid import command as cupid_command
from tests.e2e.test_secrets import KEYS, OWN, assert_clean, assert_clean_folder, run
from tests.support.processes import LIMIT, start, wait_for_requests
from tests.support.server import Server


def test_everything_that_takes_a_key_when_all_is_well(tmp_path):
    """Both benchmarks, a sweep, everything that is made from runs, and served pages."""
    runs = tmp_path / "runs"
    with Server() as server:
        for name in ("a", "b"):
            seed = ["--seed", "1"] if name == "b" else []
            assert run(*command(server, runs / name, "--limit", "4", *seed)).code == 0
        swept = run(*command(server, runs / "sweep", "--limit", "2", "--history", "none", "--history", "gold"))
        assert swept.code == 0, swept.err
        assert run(*command(server, runs / "dry", "--dry-run")).code == 0
        judge = ("--judge", server.model("judge"))
        audited = run("audit", runs / "a", "--model", server.model("m"), *judge)
        assert audited.code == 0, audited.err
    with Server(cupid_answer) as server:
        assert run(*cupid_command(server, runs / "cupid", "--limit", "2")).code == 0
    reported = run("report", runs / "a", "--figures", "svg", "--tables", "csv", "--tables", "tex", "--tables", "md")
    assert reported.code == 0, reported.err
    assert run("report", runs / "sweep").code == 0
    assert run("compare", runs / "a", runs / "b", "--out", tmp_path / "compare.html").code == 0
    assert run("agree", runs / "a", runs / "b").code in (0, 2)
    assert run("data", "export-judgements", runs / "a", "--out", tmp_path / "judgements").code == 0
    assert run("models").code == 0
    key = records(runs / "a")[0]["key"]
    viewed = served("view", runs, pages=("/run/a", "/run/b", "/run/sweep", "/run/cupid", f"/run/a?item={key}"))
    assert viewed.count("</html>") == 5
    assert "time stored" in viewed, "with what the store has"
    assert_clean(viewed, "view")
    assert_clean(served("annotate", runs / "a", "--annotators", "anna"), "annotate")
    assert_clean_folder(tmp_path)


def served(*arguments: str | Path, pages: Sequence[str] = ()) -> str:
    """Pages of `view` or `annotate`, with what the command has said until its end."""
    process = start(*arguments, "--port", "0", env=KEYS)
    said = ""
    while not (link := re.search(r"(http://\S+?)/\S*\?token=\S+", said)):
        line = process.stdout.readline()
        assert line, process.stderr.read()
        said += line
    with httpx.Client(follow_redirects=True, timeout=LIMIT) as client:
        text = client.get(link[0]).text
        for page in pages:
            text += client.get(link[1] + page).raise_for_status().text
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    return text + said + out + err


def test_a_process_that_ends_in_a_trace(tmp_path):
    """An unexpected error is one line; --debug and the log have its traceback, without a key."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "main.py").write_text(
        "import sys\nimport bowstring.models.user_code, own\nfrom bowstring.cli import main\n"
        "bowstring.models.user_code.load_user_model = lambda *given: own.Ending()\nmain(sys.argv[1:])\n"
    )
    words = ("eval", "hicupid", "--model", "python:own:Ending", "--limit", "2", "--out", "r")
    for more, trace in (((), False), (("--debug",), True)):
        done = subprocess.run(
            [sys.executable, "main.py", *words, *more],
            cwd=tmp_path,
            env=os.environ | KEYS,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 1
        assert ("Traceback" in done.stderr) == trace
        *_, last = done.stderr.splitlines()
        assert re.match(r"bowstring: unexpected error \(own.py line \d+\): RuntimeError: unforeseen", last)
        assert last.endswith("; for a traceback to report, run the command again with --debug") == (not trace)
        assert_clean(done.stdout + done.stderr, "the trace")
    assert "unforeseen" in (tmp_path / "r" / "log.txt").read_text()
    assert_clean_folder(tmp_path)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_a_process_that_is_killed(tmp_path, how):
    with Server(delay=lambda: 0.05) as server:
        process = start(*command(server, tmp_path / "r", "--concurrency", "2"), env=KEYS)
        wait_for_requests(server, 20, process)
        process.send_signal(how)
        out, err = process.communicate(timeout=LIMIT)
    assert len(server.requests) >= 20
    assert_clean(out + err, "the command's words")
    assert_clean_folder(tmp_path)
