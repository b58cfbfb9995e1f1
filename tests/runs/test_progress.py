"""Progress is written during a run, and checking whether a run is active does not disturb it."""

import json
import threading
import time
from itertools import pairwise

import pytest

import bowstring
from bowstring.errors import ModelError, RunError
from bowstring.runs.folder import RunFolder, is_running
from tests.support.server import Reply, Server


class Looking:
    """A slow model that looks at the run's files while it runs."""

    def __init__(self, *folders, seconds=0.3):
        self.folders, self.seconds, self.seen = folders, seconds, []

    def __call__(self, messages):
        time.sleep(self.seconds)
        self.seen.append([json.loads((folder / "progress.json").read_text()) for folder in self.folders])
        return f"answer {len(self.seen)}"


def test_a_run_leaves_how_far_it_is_and_takes_it_away_at_the_end(tmp_path):
    out = tmp_path / "r"
    model = Looking(out)
    run = bowstring.evaluate("hicupid", model=model, out=out, limit=8, concurrency=1)
    first, last = model.seen[0][0], model.seen[-1][0]
    assert (first["done"], first["total"]) == (0, 8)
    assert 0 < last["done"] < 8
    assert last["usage"]["model"]["requests"] == last["done"]
    assert last["usage"].keys() == run.metrics["usage"].keys()
    assert last["usage"]["model"].keys() == run.metrics["usage"]["model"].keys()
    assert last["seconds_left"] > 0
    assert sorted(p.name for p in out.iterdir()) == [
        ".lock",
        "metrics.json",
        "records.jsonl",
        "report.html",
        "run.json",
    ]


def test_it_is_written_at_most_once_a_second(tmp_path):
    out = tmp_path / "r"
    model = Looking(out, seconds=0.1)
    bowstring.evaluate("hicupid", model=model, out=out, limit=15, concurrency=1)
    notes = {(progress["seconds"], progress["done"]) for (progress,) in model.seen}
    seconds = sorted(s for s, _ in notes)
    assert len(seconds) > 1
    assert all(later - earlier >= 0.9 for earlier, later in pairwise(seconds))


def test_the_runs_of_a_sweep_count_for_themselves(tmp_path):
    out = tmp_path / "s"
    model = Looking(out / "none", out / "gold")
    bowstring.sweep("hicupid", model=model, out=out, history=["none", "gold"], limit=5, concurrency=1)
    none, gold = model.seen[-1]
    assert none["total"] == gold["total"] == 5
    assert none["done"] + gold["done"] == none["usage"]["model"]["requests"] + gold["usage"]["model"]["requests"] > 0


def test_a_run_that_failed_says_why_and_how_far_it_came(tmp_path):
    out = tmp_path / "r"
    with Server(faults=lambda request: Reply(404, b"{}")) as server, pytest.raises(ModelError) as raised:
        bowstring.evaluate("hicupid", model=server.model("m"), out=out, limit=3)
    manifest = json.loads((out / "run.json").read_text())
    assert (manifest["status"], manifest["reason"]) == ("failed", str(raised.value))
    assert json.loads((out / "progress.json").read_text())["total"] == 3


def test_who_is_at_work_can_be_seen(tmp_path):
    assert not is_running(tmp_path)
    folder = RunFolder(tmp_path)
    assert is_running(tmp_path)
    with pytest.raises(RunError, match="is in use"):
        RunFolder(tmp_path)
    folder.close()
    assert not is_running(tmp_path)


def test_looking_keeps_nobody_from_starting(tmp_path):
    RunFolder(tmp_path).close()
    ended = threading.Event()

    def look():
        while not ended.is_set():
            is_running(tmp_path)
            time.sleep(0.0005)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(400):
            RunFolder(tmp_path).close()
    finally:
        ended.set()
        looking.join()
