"""Start and end of `bowstring view`."""

import re
import signal

import httpx
import pytest

import bowstring as package
from tests.support.command import bowstring
from tests.support.processes import LIMIT, start


def end(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err


@pytest.fixture
def runs(tmp_path):
    package.evaluate("hicupid", model=lambda messages: "hello", out=tmp_path / "runs" / "one run", limit=2)
    return tmp_path / "runs"


def test_it_prints_a_link_serves_and_ends_with_one_line(runs):
    process = start("view", cwd=runs.parent)
    link = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{20,}", link)
    with httpx.Client(follow_redirects=True, timeout=LIMIT) as client:
        shown = client.get(link)
    assert shown.status_code == 200
    assert "one run" in shown.text
    assert httpx.get(link.partition("?")[0], timeout=LIMIT).status_code == 403
    assert end(process) == (130, "", "Press Ctrl-C to stop.\nstopped\n")


@pytest.mark.parametrize("given", ["runs/one run", "runs/one run/"])
def test_a_run_that_is_given_is_opened(runs, given):
    process = start("view", given, cwd=runs.parent)
    link = process.stdout.readline().strip()
    with httpx.Client(follow_redirects=True, timeout=LIMIT) as client:
        shown = client.get(link)
    end(process)
    assert shown.url.path == "/run/one run"
    assert "<h1>" in shown.text


def test_an_empty_folder_is_served(tmp_path):
    process = start("view", tmp_path, cwd=tmp_path)
    link = process.stdout.readline().strip()
    with httpx.Client(follow_redirects=True, timeout=LIMIT) as client:
        assert "No runs here yet" in client.get(link).text
    assert end(process)[0] == 130


def test_a_folder_that_is_not_there_is_one_line(tmp_path):
    ran = bowstring("view", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "runs does not exist; expected a folder of runs (bowstring demo creates one)\n"
    (tmp_path / "file").write_text("x")
    assert bowstring("view", "file", cwd=tmp_path).err.startswith("file is not a folder; expected")


def test_a_port_that_is_taken_is_one_line(tmp_path):
    process = start("view", tmp_path, cwd=tmp_path)
    port = re.search(r":(\d+)/", process.stdout.readline())[1]
    ran = bowstring("view", tmp_path, "--port", port, cwd=tmp_path)
    end(process)
    assert ran.code == 2
    assert ran.err == f"cannot listen on 127.0.0.1:{port}: Address already in use; try another --port\n"
