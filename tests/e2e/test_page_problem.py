"""A page that cannot be created does not fail a finished run: results are written, and the message names a fix."""

import json
import sys

import pytest

from bowstring.benchmarks.hicupid.view import HicupidView
from bowstring.reports import sweep_page
from tests.support.command import bowstring

EVAL = ("eval", "hicupid", "--retrieval-only", "--history", "bm25/dialogue/1", "--limit", "4")


def fails(*_, **__):
    raise RuntimeError("no ink\nleft")


@pytest.fixture
def broken_view(monkeypatch):
    monkeypatch.setattr(HicupidView, "item", fails)


@pytest.mark.parametrize("json_", [False, True])
def test_a_run(tmp_path, broken_view, json_):
    run = tmp_path / "run"
    ran = bowstring(*EVAL, "--out", run, *(["--json"] if json_ else []))
    assert ran.code == 0, ran.err
    said = (
        f"{run / 'report.html'} could not be written (RuntimeError: no ink left); to try again: bowstring report {run}"
    )
    assert said in ran.err.splitlines()
    assert not (run / "report.html").exists()
    assert json.loads((run / "metrics.json").read_text())["n"] == 4
    assert json.loads((run / "run.json").read_text())["status"] == "complete"
    if not json_:
        assert ran.out.splitlines()[-1] == str(run)


def test_an_older_page_does_not_stay_behind(tmp_path, monkeypatch):
    run = tmp_path / "run"
    assert bowstring(*EVAL, "--out", run).code == 0
    assert (run / "report.html").exists()
    monkeypatch.setattr(HicupidView, "item", fails)
    assert bowstring(*EVAL, "--out", run).code == 0
    assert not (run / "report.html").exists()
    monkeypatch.undo()
    assert bowstring("report", run, "--figures", "none").code == 0
    assert (run / "report.html").exists()


def test_a_page_that_cannot_be_written(tmp_path):
    run = tmp_path / "run"
    (run / "report.html").mkdir(parents=True)
    ran = bowstring(*EVAL, "--out", run)
    assert ran.code == 0, ran.err
    assert f"{run / 'report.html'} could not be written" in ran.err
    assert json.loads((run / "run.json").read_text())["status"] == "complete"


def test_a_view_that_exits(tmp_path, monkeypatch):
    monkeypatch.setattr(HicupidView, "item", lambda *_, **__: sys.exit(9))
    run = tmp_path / "run"
    ran = bowstring(*EVAL, "--out", run)
    assert ran.code == 0, ran.err
    assert json.loads((run / "run.json").read_text())["status"] == "complete"


def test_a_report_that_cannot_be_drawn_does_not_blame_a_file(tmp_path, monkeypatch):
    run = tmp_path / "run"
    assert bowstring(*EVAL, "--out", run).code == 0
    monkeypatch.setattr(HicupidView, "item", fails)
    ran = bowstring("report", run)
    assert ran.code == 2
    assert f"{run}: the report cannot be drawn (RuntimeError: no ink left); if metrics.json was changed" in ran.err


def test_a_sweep_and_its_points(tmp_path, broken_view, monkeypatch):
    monkeypatch.setattr(sweep_page, "rendered", fails)
    sweep = tmp_path / "sweep"
    ran = bowstring(*EVAL, "--history", "bm25/dialogue/2", "--out", sweep)
    assert ran.code == 0, ran.err
    folders = [sweep, sweep / "bm25-dialogue-1", sweep / "bm25-dialogue-2"]
    lines = [line for line in ran.err.splitlines() if "could not be written" in line]
    assert [line.partition(" could")[0] for line in lines] == [str(folder / "report.html") for folder in folders]
    assert [line.partition("; ")[2] for line in lines] == [
        f"to try again: bowstring report {folder}" for folder in folders
    ]
    assert len(json.loads((sweep / "sweep.json").read_text())["points"]) == 2
    assert not any((folder / "report.html").exists() for folder in folders)
