"""`bowstring report`: a run's page, figures and tables, from its folder."""

import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

import bowstring as api
from bowstring.benchmarks.hicupid.data import write
from bowstring.benchmarks.loading import load_hicupid
from tests.support.command import bowstring
from tests.support.run_files import without_sums


def answer(messages):
    return f"An answer to: {messages[-1]['content']}"


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "set"
    write(load_hicupid("mini"), folder)
    return folder


@pytest.fixture
def run(tmp_path, data):
    return api.evaluate("hicupid", model=answer, data=str(data), runs=tmp_path / "runs").folder


def test_page_figures_and_tables(run, tmp_path):
    before = (run / "report.html").read_text()
    (run / "report.html").unlink()
    ran = bowstring("report", run)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1] == str(run / "report.html")
    assert (run / "report.html").read_text() == before
    names = {path.name for path in (run / "figures").iterdir()}
    assert {"score.svg", "score.pdf", "score.png", "verdicts.pdf", "score-total-by-age.svg"} <= names
    assert {"scores.md", "scores.csv", "scores.tex", "by-type.csv"} <= {p.name for p in (run / "tables").iterdir()}


def test_without_matplotlib_page_and_tables_are_written(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (run / "report.html").unlink()
    ran = bowstring("report", run)
    assert ran.code == 0, ran.err
    assert ran.err.splitlines() == ["No figures: figures need matplotlib: pip install 'bowstring[plots]'"]
    assert (run / "report.html").is_file()
    assert (run / "tables" / "scores.md").is_file()
    assert not (run / "figures").exists()
    assert bowstring("report", run, "--figures", "none").err == ""


def test_figures_that_are_asked_for_need_matplotlib(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = bowstring("report", run, "--out", tmp_path / "o", "--figures", "pdf")
    assert ran.code == 2
    assert ran.err.splitlines()[-1].endswith("--figures pdf: figures need matplotlib: pip install 'bowstring[plots]'")
    assert not (tmp_path / "o").exists()


def test_a_smoke_test_is_called_one_under_every_table(run):
    assert bowstring("report", run, "--figures", "none").code == 0
    for path in (run / "tables").iterdir():
        said = "Note: judged by builtin, which compares words: a smoke test, not a measurement." in path.read_text()
        assert said == (path.suffix != ".csv"), path.name


def test_only_what_is_asked_for(run, tmp_path):
    ran = bowstring("report", run, "--out", tmp_path / "o", "--figures", "none", "--tables", "csv", "--tables", "md")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["report.html", "tables"]
    assert {path.suffix for path in (tmp_path / "o" / "tables").iterdir()} == {".csv", ".md"}


def test_a_file_in_the_place_of_the_reports_folder_is_left_as_it_is(run, tmp_path):
    store = run.parent / "responses.sqlite"
    before = store.read_bytes()
    ran = bowstring("report", run, "--out", store)
    assert (ran.code, ran.err.splitlines()) == (2, [f"{store} is not a folder; choose another path"])
    assert store.read_bytes() == before


def test_a_set_that_moved_is_found_where_it_is_now(run, data, tmp_path):
    before = (run / "report.html").read_text()
    ran = bowstring("report", run, "--figures", "none", "--tables", "none", cwd="/")
    assert (ran.code, ran.err) == (0, ""), "wherever one is, a set lies where it lay"
    data.rename(tmp_path / "elsewhere")
    ran = bowstring("report", run, "--figures", "none", "--tables", "none")
    assert ran.code == 0
    assert "No histories" in ran.err
    page = (run / "report.html").read_text()
    assert "history-0" not in page
    assert "Histories are not shown: " in page
    ran = bowstring("report", run, "--data", tmp_path / "elsewhere", "--figures", "none", "--tables", "none")
    assert (ran.code, ran.err) == (0, "")
    assert (run / "report.html").read_text() == before


def test_a_set_that_changed_is_not_shown_as_what_was_asked(run, data):
    write(load_hicupid("mini"), data, users=2)
    ran = bowstring("report", run, "--figures", "none", "--tables", "none")
    assert ran.code == 0
    assert "has changed since the run" in ran.err
    assert "history-0" not in (run / "report.html").read_text()


def test_a_sweep(tmp_path):
    swept = api.sweep("hicupid", model=answer, history=["none", "gold", "full"], runs=tmp_path / "runs", limit=12)
    ran = bowstring("report", swept.folder)
    assert ran.code == 0, ran.err
    assert (swept.folder / "figures" / "context.pdf").is_file()
    lines = (swept.folder / "tables" / "sweep.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["history", "none", "gold", "full"]
    ran = bowstring("report", swept.folder, "--out", tmp_path / "elsewhere" / "deep", "--figures", "none")
    assert ran.code == 0, ran.err
    page = (tmp_path / "elsewhere" / "deep" / "report.html").read_text()
    links = re.findall(r'href="([^"]+)"', page)
    assert len(links) == 3
    assert all((tmp_path / "elsewhere" / "deep" / unquote(link)).is_file() for link in links)


def test_data_that_is_not_the_runs_is_wrong_usage(run, tmp_path):
    for data in (tmp_path / "nothing", "mini/cupid"):
        ran = bowstring("report", run, "--data", data)
        assert ran.code == 2
        assert f"--data {data}: " in ran.err


def test_records_that_do_not_fit_are_said(run):
    path = run / "records.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-3]))
    assert "records.jsonl cannot be read: its checksum does not match" in bowstring("report", run).err
    without_sums(run)
    assert "has 57 of 60 records" in bowstring("report", run).err
    path.write_text("".join([*lines[:-1], '{"key": 1}\n']))
    ran = bowstring("report", run)
    assert ran.code == 2
    assert "records.jsonl line 60: key is 1: " in ran.err


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("run.json", "is not a run"),
        ("metrics.json", "metrics.json cannot be read"),
        ("records.jsonl", "records.jsonl"),
    ],
)
@pytest.mark.parametrize("how", ["gone", "cut"])
def test_what_is_broken_is_said_in_a_line(run, broken, said, how):
    path = Path(run) / broken
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-40])
    ran = bowstring("report", run)
    assert ran.code in (1, 2)
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_what_is_no_run_is_said_so(tmp_path):
    ran = bowstring("report", tmp_path / "nothing")
    assert ran.code == 2
    assert "is not a run" in ran.err
    shutil.rmtree(tmp_path, ignore_errors=True)
