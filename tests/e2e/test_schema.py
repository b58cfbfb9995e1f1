"""Files of a later version are refused in one line, and never overwritten."""

import json

import pytest

import bowstring as package
from bowstring.errors import BowstringError, UsageError
from tests.support.command import bowstring

EVAL = ("eval", "hicupid", "--retrieval-only", "--history", "bm25/dialogue/1", "--limit", "4")
NEWER = "has schema 9, but this version reads up to 1; use a newer version of Bowstring"


def set_schema(path, schema):
    found = json.loads(path.read_text())
    found.pop("sum", None)
    path.write_text(json.dumps({**found, "schema": schema}))


@pytest.fixture
def run(tmp_path):
    assert bowstring(*EVAL, "--out", tmp_path / "run").code == 0
    return tmp_path / "run"


def test_a_newer_run_is_refused_and_kept(run):
    set_schema(run / "run.json", 9)
    before = (run / "run.json").read_bytes()
    for command in (("report", run), ("compare", run, run), (*EVAL, "--out", run)):
        ran = bowstring(*command)
        assert ran.code == 2, command
        assert f"{run / 'run.json'} {NEWER}" in ran.err
        assert len(ran.err.splitlines()) == 1
    assert (run / "run.json").read_bytes() == before


def test_a_newer_sweep_is_refused(tmp_path):
    sweep = tmp_path / "sweep"
    assert bowstring(*EVAL, "--history", "bm25/dialogue/2", "--out", sweep).code == 0
    set_schema(sweep / "sweep.json", 9)
    ran = bowstring("report", sweep)
    assert ran.code == 2
    assert ran.err == f"{sweep / 'sweep.json'} {NEWER}\n"


@pytest.mark.parametrize("schema", [None, "1", True])
def test_a_schema_that_is_no_number_is_not_called_newer(run, schema):
    set_schema(run / "run.json", schema)
    ran = bowstring("report", run)
    assert ran.code == 2
    assert f"has schema {schema!r}; expected a number" in ran.err


def test_a_run_without_a_schema_is_read(run):
    found = json.loads((run / "run.json").read_text())
    for name in ("schema", "sum"):
        found.pop(name)
    (run / "run.json").write_text(json.dumps(found))
    assert bowstring("report", run, "--figures", "none").code == 0


def test_a_sweep_is_not_a_run_to_repeat(tmp_path):
    sweep = tmp_path / "sweep"
    assert bowstring(*EVAL, "--history", "bm25/dialogue/2", "--out", sweep).code == 0
    with pytest.raises(UsageError, match=r"this is a sweep; give one of its runs: .*bm25-dialogue-1"):
        package.evaluate(like=sweep)
    ran = bowstring("eval", "--like", sweep, "--model", "embedded")
    assert ran.code == 2
    assert "this is a sweep; give one of its runs" in ran.err


def test_training_names_what_is_missing_and_what_was_meant(tmp_path):
    with pytest.raises(BowstringError, match=r"train\(\) has no setting 'outt'; did you mean out\?"):
        package.train("sft", data="mini", outt=tmp_path)
    with pytest.raises(BowstringError, match=r"train\(\) needs out"):
        package.train("sft", data="mini")
