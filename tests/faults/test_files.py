"""Paths, files and terminals that nobody has foreseen: one line, or all numbers; earlier files stay as they are."""

import fcntl
import json
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import termios
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bowstring as package
from tests.cli.test_narrow import NUMBER
from tests.support.command import PROGRAM, bowstring
from tests.support.processes import LIMIT, start
from tests.support.viewer import copied


def test_a_small_file_holds_a_large_table(hicupid_folder):
    """50,000 answers of 100 kB each in a file of a few kB. The limit of memory protects the machine from the test."""
    path = hicupid_folder / "qa" / "test_2.parquet"
    table = pq.read_table(path)
    rows = pa.array([0] * 50_000, pa.int32())
    long = pa.DictionaryArray.from_arrays(rows, pa.array(["z" * 100_000]))
    columns = {name: long if name == "question" else table[name].take(rows) for name in table.column_names}
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 30_000
    gigabytes = 4 << 30
    done = subprocess.run(
        [PROGRAM, "data", "info", hicupid_folder, "--tokenizer", "none"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (gigabytes, gigabytes)),
    )
    assert done.returncode == 2
    assert "qa/test_2.parquet: cannot be read as parquet: its table takes more than 2 GB of memory" in done.stderr
    assert len(done.stderr.splitlines()) == 1


NOT_UTF8 = b"caf\xe9"


@pytest.mark.parametrize(
    "words",
    [
        b"eval hicupid --model embedded --out %s",
        b"eval hicupid --model embedded --store %s/s.sqlite",
        b"eval hicupid --model python:%s:answer",
        b"eval hicupid --like %s",
        b"synth hicupid --offline --users 3 --out %s",
        b"compare %s %s --out %s.html",
        b"report %s",
        b"view %s",
        b"annotate %s",
        b"data info %s",
        b"data export mini/hicupid %s",
        b"%s",
        b"eval --debug %s",
    ],
)
def test_a_name_is_not_utf8(words, tmp_path):
    arguments = words.replace(b"%s", NOT_UTF8).split()
    done = subprocess.run([PROGRAM, *arguments], cwd=tmp_path, capture_output=True, timeout=LIMIT, check=False)
    assert done.returncode == 2
    assert done.stdout == b""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith(b" is not UTF-8; rename the file or folder\n")
    assert not list(tmp_path.iterdir())


def test_a_page_of_a_comparison_cannot_be_written(tmp_path):
    """The page that was there stays, whole."""
    for name, answer in (("a", "Try plums."), ("b", "Try pears instead.")):
        package.evaluate("hicupid", model=lambda messages, answer=answer: answer, out=tmp_path / name, limit=20)
    page = tmp_path / "compare.html"
    page.write_text("earlier")
    done = subprocess.run(
        [PROGRAM, "compare", tmp_path / "a", tmp_path / "b", "--out", page],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)),
    )
    assert done.returncode == 1
    assert done.stderr == "bowstring: File too large\n"
    assert page.read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir() if "compare" in path.name] == ["compare.html"], "no draft is left"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--store", "."), "--store . is a folder; expected a file"),
        (("--store", "/"), "--store / is a folder; expected a file"),
        (("--store", ""), "'--store': expected a path, got an empty text"),
        (("--out", ""), "'--out': expected a path, got an empty text"),
        (("--out=",), "'--out': expected a path, got an empty text"),
        (("--like", ""), "'--like': expected a path, got an empty text"),
    ],
)
def test_a_path_that_cannot_be_meant_is_refused(words, message, tmp_path):
    ran = bowstring("eval", "hicupid", "--model", "embedded", *words, cwd=tmp_path)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_runs_of_impossible_days_are_in_the_folder(tmp_path, record_property):
    """The list has them, with all other runs."""
    runs = tmp_path / "runs"
    package.evaluate("hicupid", model=lambda messages: "Try plums.", out=runs / "sound", limit=5)
    days = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "0000", "", 17, None)
    names = ["sound", *(copied(runs / "sound", runs / f"odd-{n}", written=day).name for n, day in enumerate(days))]
    process = start("view", runs)
    link = process.stdout.readline().strip()
    with httpx.Client(follow_redirects=True, timeout=LIMIT) as client:
        listed = client.get(link)
        opened = [client.get(listed.url.join(f"/run/{name}")).status_code for name in names]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert listed.status_code == 200, err
    assert opened == [200] * len(names), err
    assert all(f"/run/{name}" in listed.text for name in names)
    record_property("tally", {"runs": len(names), "listed": len(names)})


def on_a_terminal(columns: int, *words: str | Path) -> str:
    """Return what a command prints on a terminal of this width."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
    process = subprocess.Popen([PROGRAM, *words], stdout=its, stderr=subprocess.DEVNULL, stdin=its, env=env)
    os.close(its)
    said = b""
    try:
        while part := os.read(ours, 1 << 16):
            said += part
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    assert process.wait(LIMIT) == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode())


def test_a_terminal_of_twenty_columns(tmp_path, record_property):
    package.evaluate("hicupid", model=lambda messages: "Try plums.", out=tmp_path / "a", limit=30)
    package.evaluate("hicupid", model=lambda messages: messages[-1]["content"], out=tmp_path / "b", limit=30)
    words = ("compare", tmp_path / "a", tmp_path / "b")
    wide, narrow = (on_a_terminal(columns, *words) for columns in (250, 20))
    numbers = set(NUMBER.findall(wide))
    assert json.loads((tmp_path / "a" / "metrics.json").read_text())["n"] == 30
    assert len(numbers) > 5
    assert numbers <= set(NUMBER.findall(narrow)), narrow
    record_property("tally", {"numbers": len(numbers), "cut": 0})
