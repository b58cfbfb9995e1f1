"""Runs in a folder are listed, whatever else is there; nothing in the folder is trusted."""

import json
import os
from datetime import UTC, datetime

import pytest

from bowstring.runs.catalogue import Catalogue, FileCache, Unreadable, read_json_object
from bowstring.runs.folder import RunFolder

CONFIG = {"benchmark": "hicupid", "model": "m", "judge": "j", "data": {"name": "mini"}, "settings": {"history": "full"}}


def write_run(folder, status="complete", written="2026-01-01T00:00:00+00:00", metrics="{}", **more):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"status": status, "written": written, "config": CONFIG, **more}))
    if metrics is not None:
        (folder / "metrics.json").write_text(metrics)
    return folder


def found(root):
    return {entry.name: entry for entry in Catalogue(root).entries()}


def test_runs_are_found_newest_first_also_one_level_down(tmp_path):
    write_run(tmp_path / "old", written="2026-01-01T00:00:00+00:00")
    write_run(tmp_path / "group" / "new", written="2026-03-01T00:00:00+00:00")
    write_run(tmp_path / "middle", written="2026-02-01T00:00:00+00:00")
    write_run(tmp_path / "group" / "deeper" / "too deep")
    (tmp_path / "no run").mkdir()
    (tmp_path / "responses.sqlite").write_bytes(b"x")
    entries = Catalogue(tmp_path).entries()
    assert [entry.name for entry in entries] == ["group/new", "middle", "old"]
    assert entries[0].when == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_sweep_is_found_with_the_runs_inside_it(tmp_path):
    write_run(tmp_path / "group" / "sweep" / "full")
    summary = {"benchmark": "hicupid", "points": {"full": {"complete": False}}, "config": CONFIG}
    (tmp_path / "group" / "sweep" / "sweep.json").write_text(json.dumps(summary))
    entries = found(tmp_path)
    assert entries.keys() == {"group/sweep", "group/sweep/full"}
    assert (entries["group/sweep"].kind, entries["group/sweep"].status) == ("sweep", "stopped")


def test_a_run_runs_as_long_as_its_process_does(tmp_path):
    catalogue = Catalogue(tmp_path)
    write_run(tmp_path / "r", "running")
    process = RunFolder(tmp_path / "r")
    assert catalogue.entry("r").status == "running"
    process.close()
    assert catalogue.entry("r").status == "interrupted"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (
            "run.json",
            '{"status": "compl',
            "run.json is not JSON: Unterminated string starting at: line 1 column 12 (char 11)",
        ),
        ("run.json", "[]", "run.json is not a JSON object"),
        ("run.json", '{"status": "resting"}', "run.json has no valid status"),
        ("run.json", '{"status": ["complete"]}', "run.json has no valid status"),
        ("run.json", '{"status": "complete", "config": {}}', "run.json has no run configuration"),
        ("run.json", b"\xff\xfe\x00", "run.json is not UTF-8"),
        ("run.json", "[" * 100_000, "run.json is nested too deeply"),
        ("run.json", None, "run.json is missing"),
        ("metrics.json", None, "metrics.json is missing"),
        ("sweep.json", "{}", "run.json and sweep.json are in one folder"),
    ],
)
def test_a_broken_run_says_what_is_wrong_and_breaks_nothing(tmp_path, name, content, reason):
    write_run(tmp_path / "sound")
    path = write_run(tmp_path / "broken") / name
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    entries = found(tmp_path)
    assert entries["sound"].status == "complete"
    assert (entries["broken"].status, entries["broken"].reason) == ("broken", reason)


@pytest.mark.parametrize("content", ["{}", '{"points": [], "config": {}}', '{"points": {"a": 1}, "config": {}}', "x"])
def test_a_broken_sweep_is_one(tmp_path, content):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "sweep.json").write_text(content)
    assert found(tmp_path)["s"].status == "broken"


def test_links_are_not_followed(tmp_path):
    outside = write_run(tmp_path / "outside")
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "link").symlink_to(outside)
    write_run(runs / "inside").joinpath("run.json").unlink()
    (runs / "inside" / "run.json").symlink_to(outside / "run.json")
    (runs / "elsewhere").symlink_to(tmp_path)
    entries = found(runs)
    assert entries.keys() == {"link", "inside"}
    assert entries["link"].reason == "is a link: links are not followed"
    assert entries["inside"].reason == "run.json is not a regular file"


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path):
    write_run(tmp_path / "r").joinpath("run.json").unlink()
    os.mkfifo(tmp_path / "r" / "run.json")
    os.mkfifo(tmp_path / "r" / ".lock")
    assert found(tmp_path)["r"].reason == "run.json is not a regular file"


@pytest.mark.parametrize("name", ["..", "../outside", "/etc", "r/..", "r/../../outside", "", ".", "r/", "r\x00"])
def test_only_names_that_were_found_are_names(tmp_path, name):
    write_run(tmp_path / "outside")
    write_run(tmp_path / "runs" / "r")
    catalogue = Catalogue(tmp_path / "runs")
    assert catalogue.entry("r") is not None
    assert catalogue.entry(name) is None


def test_a_name_that_is_no_text_can_still_be_written_down(tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/run.json", "w") as file:
        file.write("{}")
    catalogue = Catalogue(tmp_path)
    (entry,) = catalogue.entries()
    assert entry.name == "caf\\udce9"
    assert catalogue.entry(entry.name) == entry


def test_a_name_steers_nothing(tmp_path):
    write_run(tmp_path / "two\nlines\x1b[2J")
    catalogue = Catalogue(tmp_path)
    assert [entry.name for entry in catalogue.entries()] == ["two\\x0alines\\x1b[2J"]
    assert catalogue.entry("two\\x0alines\\x1b[2J") is not None


def test_what_was_made_of_a_file_is_kept_until_it_changes(tmp_path):
    made = []
    path = tmp_path / "a.json"
    kept = FileCache(lambda folder: made.append(folder) or read_json_object(folder / "a.json"), ("a.json",), most=2)
    path.write_text('{"n": 1}')
    assert [kept.of(tmp_path)["n"] for _ in range(3)] == [1, 1, 1]
    assert len(made) == 1
    (tmp_path / "b").write_text('{"n": 2}')
    (tmp_path / "b").replace(path)
    assert kept.of(tmp_path) == {"n": 2}
    path.unlink()
    with pytest.raises(Unreadable, match=r"a\.json is missing"):
        kept.of(tmp_path)


@pytest.mark.parametrize(
    "written", ["0001-01-01T00:00:00+14:00", "0001-01-01", "9999-12-31T23:59:59-12:00", "1969-12-31T23:59:59+00:00"]
)
def test_a_date_that_cannot_be_is_replaced_by_that_of_the_file(tmp_path, written):
    write_run(tmp_path / "sound", written="2026-02-01T00:00:00+00:00")
    write_run(tmp_path / "odd", written=written)
    changed = datetime(2026, 3, 1, tzinfo=UTC)
    os.utime(tmp_path / "odd" / "run.json", (changed.timestamp(),) * 2)
    entries = Catalogue(tmp_path).entries()
    assert [(entry.name, entry.when.year) for entry in entries] == [("odd", 2026), ("sound", 2026)]
