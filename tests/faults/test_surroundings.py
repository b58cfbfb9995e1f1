"""Faults of what surrounds a run: code of its user, signals, streams, files that others move, programs beside it.

Nothing that was committed is lost, what went wrong is said in one line, and the exit code is not that of a success.
"""

import json
import re
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.faults.oracle import committed
from tests.support.annotating import AnnotatingProcess, exported
from tests.support.command import PROGRAM, bowstring, bowstring_process
from tests.support.listening import Listening
from tests.support.processes import LIMIT, is_stopping, start, wait_until

MODELS = '''
import asyncio, sys, time

class Odd(BaseException):
    """Not an Exception, as few errors are."""

def failing(messages):
    raise ValueError(f"no answer to {len(messages)} messages")

async def cancelled(messages):
    raise asyncio.CancelledError("not by the run")

async def cancelling(messages):
    asyncio.current_task().cancel()
    await asyncio.sleep(0)
    return "never"

async def with_a_cancelled_task(messages):
    task = asyncio.create_task(asyncio.sleep(3600))
    task.cancel()
    await task

def cancelled_on_its_thread(messages):
    raise asyncio.CancelledError

def leaving(messages):
    sys.exit()

async def leaving_too(messages):
    sys.exit(0)

def interrupting(messages):
    raise KeyboardInterrupt

async def interrupting_too(messages):
    raise KeyboardInterrupt

def odd(messages):
    raise Odd("a rare one")

async def odd_too(messages):
    raise Odd("a rare one")

async def closing(messages):
    raise GeneratorExit

def sleeping(messages):
    print("asked", flush=True)
    time.sleep(86400)

async def sleeping_async(messages):
    print("asked", flush=True)
    await asyncio.sleep(86400)

async def blocking(messages):
    print("asked", flush=True)
    time.sleep(86400)

async def deaf(messages):
    print("asked", flush=True)
    while True:
        try:
            await asyncio.sleep(86400)
        except asyncio.CancelledError:
            pass
'''
CANCELLED = ("cancelled", "cancelling", "with_a_cancelled_task", "cancelled_on_its_thread")
RAISING = (
    "failing",
    *CANCELLED,
    "leaving",
    "leaving_too",
    "interrupting",
    "interrupting_too",
    "odd",
    "odd_too",
    "closing",
)
STUCK = ("sleeping", "sleeping_async", "blocking", "deaf")


@pytest.fixture
def models(tmp_path) -> Path:
    (tmp_path / "models.py").write_text(MODELS)
    return tmp_path


def of_model(name: str, folder: Path, *more: str) -> list[str]:
    return ["eval", "hicupid", "--model", f"python:models:{name}", "--out", str(folder / "r"), *more]


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "r" / "records.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", RAISING)
def test_a_model_raises(name, models, record_property):
    """Whatever it raises, every item is there, failed by the code, and the log has the traceback once."""
    ran = bowstring(*of_model(name, models, "--limit", "5"), cwd=models)
    assert ran.code == 1, ran.err
    assert "5 of 5 items failed; run the same command again to retry them." in ran.err
    assert [r["failure"]["kind"] for r in records(models)] == ["code"] * 5
    log = (models / "r" / "log.txt").read_text()
    assert log.count("Traceback") == 1
    assert log.startswith(f"5 times, the first of them: python:models:{name} raised:\n")
    assert f", in {name}\n" in log
    record_property("tally", {"items": 5, "failed, and said so": 5, "lost": 0})


@pytest.mark.parametrize("name", STUCK)
def test_a_model_never_answers(name, models, record_property):
    process = start(*of_model(name, models, "--limit", "2", "--timeout", "1"), cwd=models)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1, err
    assert f" of them: python:models:{name} did not answer within 1 s" in err
    assert [r["failure"]["kind"] for r in records(models)] == ["code"] * 2
    assert not (models / "r" / "log.txt").exists(), "there is nothing to say"
    record_property("tally", {"items": 2, "given up, and said so": 2, "lost": 0})


@pytest.mark.parametrize("name", STUCK)
def test_ctrl_c_while_a_model_never_answers(name, models):
    process = start(*of_model(name, models), cwd=models)
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    wait_until(lambda: is_stopping(models / "r"), process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "stopped"


@pytest.mark.parametrize("code", ["import sys\nsys.exit()", "raise KeyboardInterrupt"])
def test_code_ends_the_program_when_it_is_imported(code, models, record_property):
    (models / "leaving.py").write_text(code)
    words = ("eval", "hicupid", "--model", "python:leaving:answer", "--out", models / "r")
    ran = bowstring_process(*words, cwd=models)
    assert ran.code not in (0, 1)
    assert len(ran.err.splitlines()) == 1
    assert not (models / "r").exists()
    record_property("tally", {"commands": 1, "refused in one line": 1})


STAGE = """
import signal, time

class Blocking:
    def open(self, user): ...
    def ingest(self, dialogue): ...
    async def retrieve(self, question):
        handle = signal.getsignal(signal.SIGINT)

        def noticed(*given):
            print("noticed", flush=True)
            handle(*given)

        signal.signal(signal.SIGINT, noticed)
        print("asked", flush=True)
        time.sleep(86400)
"""


def test_ctrl_c_while_a_stage_blocks_the_event_loop(models):
    """Nothing can handle the first one; the second ends the process."""
    (models / "stages.py").write_text(STAGE)
    process = start(*of_model("failing", models, "--history", "python:stages:Blocking"), cwd=models)
    for line in ("asked\n", "noticed\n"):
        assert process.stdout.readline() == line
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    assert json.loads((models / "r" / "run.json").read_text())["reason"] == "interrupted"


def test_ctrl_c_twice_with_the_embedded_model(tmp_path, record_property):
    out = tmp_path / "r"
    words = ("eval", "hicupid", "--model", "embedded", "--split", "test_2", "--history", "none", "--max-tokens", "2000")
    process = start(*words, "--out", out)
    wait_until(lambda: committed(tmp_path / "responses.sqlite"), process)
    before = committed(tmp_path / "responses.sqlite")
    process.send_signal(signal.SIGINT)
    wait_until(lambda: is_stopping(out), process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    assert before
    assert before.items() <= committed(tmp_path / "responses.sqlite").items()
    record_property("tally", {"committed": len(before), "lost": 0})


def test_ctrl_c_twice_in_the_demo(tmp_path):
    """It ends the demo, whether it comes in time for the request in flight or not."""
    process = start("demo", "--out", tmp_path)
    leases = tmp_path / "responses.sqlite.leases"

    def embedded_is_asked() -> bool:
        if not list(tmp_path.glob("*embedded*/progress.json")):
            return False
        with closing(sqlite3.connect(leases)) as db:
            return db.execute("SELECT 1 FROM leases").fetchone() is not None

    wait_until(embedded_is_asked, process)
    (run,) = (path.parent for path in tmp_path.glob("*embedded*/progress.json"))
    process.send_signal(signal.SIGINT)
    wait_until(lambda: is_stopping(run), process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    assert "CUPID, small" not in out.replace("HiCUPID, small", ""), "what comes after it is not started"


GONE = "This is not saved: the file of the study is missing. Tell the owner of the study, leave this page open"


def disappear(how: str, db: Path) -> None:
    """What people do to a file: with or without the files that SQLite has beside it."""
    beside = [db.with_name(f"{db.name}{end}") for end in ("-wal", "-shm")]
    if how == "deleted":
        db.unlink()
    elif how == "deleted with what is beside it":
        for path in (db, *beside):
            path.unlink(missing_ok=True)
    elif how == "moved":
        db.rename(db.with_name("elsewhere.sqlite"))
    elif how == "its folder moved":
        db.parent.rename(db.parent.with_name("elsewhere"))
    elif how == "its log deleted":
        beside[0].unlink()
    else:
        content = db.read_bytes()
        db.unlink()
        db.write_bytes(content)


@pytest.mark.parametrize(
    "how",
    ["deleted", "deleted with what is beside it", "moved", "its folder moved", "its log deleted", "replaced by a copy"],
)
def test_the_file_of_a_study_disappears(how, asked, tmp_path, record_property):
    """An annotator who answers meanwhile is told so, and what was saved before is found again."""
    db = tmp_path / "study" / "s.sqlite"
    arguments = (asked["secret-alpha"], "--annotators", "anna", "--limit", "4", "--db", db)
    with AnnotatingProcess(*arguments) as study, httpx.Client(follow_redirects=True, timeout=LIMIT) as anna:
        page = anna.get(study.links["anna"]).url.join("/next")
        first = anna.get(page)
        ours = {"Origin": study.origin}
        second = anna.post(first.url, data={"choice": "A", "comment": "plums"}, headers=ours)
        assert second.status_code == 200
        disappear(how, db)
        lost = anna.post(second.url, data={"choice": "B", "comment": "my <thoughts>"}, headers=ours)
        assert lost.status_code == 503
        assert GONE in lost.text
        assert "my &lt;thoughts&gt;" in lost.text, "what was entered is in the form"
        assert anna.get(second.url).status_code == (200 if how == "its log deleted" else 503)
        study.process.send_signal(signal.SIGINT)
        _, err = study.process.communicate(timeout=LIMIT)
        assert f"{db} was moved, deleted or replaced while it was open, so nothing more is saved" in err
    copy = re.search(r"all that was saved before is in (\S+);", err)
    saved = Path(copy[1]) if copy else db.parent.with_name("elsewhere") / db.name
    assert [line["comment"] for line in exported(saved)[:1]] == ["plums"]
    record_property("tally", {"annotations": 2, "saved": 1, "refused, and said so": 1, "lost": 0})


class OtherProgram(Listening):
    """It answers every request with cookies."""

    def __init__(self, cookies: list[str]) -> None:
        super().__init__()
        self._cookies = cookies

    async def _serve_one(self, reader, writer) -> bool:
        await reader.readuntil(b"\r\n\r\n")
        fields = ["HTTP/1.1 200 OK", *(f"Set-Cookie: {one}" for one in self._cookies), "Content-Length: 0", "", ""]
        writer.write("\r\n".join(fields).encode())
        await writer.drain()
        return True


@pytest.mark.parametrize("command", ["view", "annotate"])
def test_other_programs_have_set_cookies(browser, command, asked, tmp_path):
    """A program on another port of the same machine fills the browser with cookies, malformed and of our own name."""
    run = asked["secret-alpha"]
    words = (
        ("view", run.parent) if command == "view" else ("annotate", run, "--db", tmp_path / "s.sqlite", "--port", "0")
    )
    process = start(*words)
    said = ""
    while not (link := re.search(r"(http://127\.0\.0\.1:(\d+))/\S*\?token=\S+", said)):
        line = process.stdout.readline()
        assert line, process.stderr.read()
        said += line
    with closing(browser.new_context()) as session:
        page = session.new_page()
        page.goto(link[0])
        heading = page.inner_text("h1")
        (ours,) = (cookie for cookie in session.cookies() if cookie["name"].startswith("bowstring_"))
        odd = ['session={"user": "ann"}', "odd name=x", "=nameless", "bowstring=y", f"bowstring_{link[2]}=z", 'q="open']
        same = [f"{ours['name']}=wrong; Path={path}" for path in ("/item", "/run", "/next")]
        with OtherProgram([*odd, *same, *(f"large{n}={'w' * 3900}" for n in range(30))]) as other:
            page.goto(f"http://127.0.0.1:{other.port}/")
        assert len(session.cookies()) > 30
        page.goto(f"{link[1]}/")
        assert page.inner_text("h1") == heading
        page.goto(f"{link[1]}/next" if command == "annotate" else f"{link[1]}/run/{run.name}")
        assert page.locator("h1").count() == 1, page.inner_text("body")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT)


PRINTING = """
import os

def answer(messages):
    os.system("echo from the shell; echo from the shell >&2")
    return "Try plums."
"""


@pytest.mark.parametrize(
    "streams", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", "2> >(true)", "> >(true) 2> >(true)"]
)
def test_a_stream_is_closed_or_nobody_reads_it(streams, models, record_property):
    """The run is complete, and nothing that was printed is in its files."""
    (models / "fine.py").write_text(PRINTING)
    words = " ".join(map(str, (PROGRAM, "eval", "hicupid", "--model", "python:fine:answer", "--out", models / "r")))
    done = subprocess.run(["bash", "-c", f"{words} --limit 20 {streams}"], cwd=models, timeout=LIMIT, check=False)
    assert done.returncode == 0
    assert len(records(models)) == 20
    assert len(committed(models / "responses.sqlite")) == 20
    with closing(sqlite3.connect(models / "responses.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    written = [path for path in models.rglob("*") if path.is_file() and "fine" not in path.name]
    assert not any(b"from the shell" in path.read_bytes() for path in written)
    record_property("tally", {"committed": 20, "lost": 0})
