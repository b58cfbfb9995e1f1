"""`bowstring data audit`: the table, the file beside the set, and what runs on the set say."""

import json
import os

import pytest

from tests.support.audited import write_hicupid_of_words
from tests.support.command import bowstring
from tests.support.plugin import install, installed, write_diaries

MODEL = "async def answer(messages):\n    return 'perhaps'\n"


@pytest.fixture(scope="module")
def leaky(tmp_path_factory):
    """A set with a leak, audited, and a model beside it."""
    folder = tmp_path_factory.mktemp("leaky")
    write_hicupid_of_words(folder / "set", users=80, leak="gold longer")
    (folder / "models.py").write_text(MODEL)
    ran = bowstring("data", "audit", "set", cwd=folder)
    assert ran.code == 0, ran.err
    (folder / "out.txt").write_text(ran.out)
    return folder


def evaluated(folder, name, *more):
    command = ["eval", "hicupid", "--data", "set", "--model", "python:models:answer", "--history", "none"]
    ran = bowstring(*command, "--limit", "6", "--out", name, *more, cwd=folder)
    assert ran.code == 0, ran.err
    return ran.out, json.loads((folder / name / "metrics.json").read_text())["notes"]


def audit_of(folder):
    return json.loads((folder / "set" / "audit.json").read_text())


def test_problems_come_first_with_chance_interval_and_a_sentence(leaky):
    out = " ".join((leaky / "out.txt").read_text().split())
    assert "HiCUPID: 80 users, 480 questions" in out
    assert out.index("problem ") < out.index("fine ") < out.index("info ")
    assert "chance 50.0)" in out
    assert "Length, opening and cue words show which answer is gold." in out
    assert out.endswith("set/audit.json")


def test_the_file_has_the_fingerprint_and_all_findings(leaky):
    audit = audit_of(leaky)
    assert set(audit["files"]) == {f"dialogue/{s}.parquet" for s in ("train", "test")} | {
        f"qa/{s}.parquet" for s in ("train", "test_2")
    }
    style = next(one for one in audit["findings"] if one["name"].endswith("from the style of one answer"))
    assert style["verdict"] == "problem"
    assert style["low"] > 55 > style["chance"] == 50
    order = [one["verdict"] for one in audit["findings"]]
    assert order == sorted(order, key=["problem", "unclear", "fine", "info"].index)


def test_the_same_set_gives_the_same_bytes_anywhere(leaky, tmp_path):
    write_hicupid_of_words(tmp_path / "elsewhere", users=80, leak="gold longer")
    ran = bowstring("data", "audit", tmp_path / "elsewhere", "--out", tmp_path / "a.json", "--json")
    assert ran.code == 0, ran.err
    assert (tmp_path / "a.json").read_bytes() == (leaky / "set" / "audit.json").read_bytes()
    assert json.loads(ran.out) == audit_of(leaky)
    assert not (tmp_path / "elsewhere" / "audit.json").exists()


def test_a_run_names_the_leaks_of_its_set(leaky):
    out, notes = evaluated(leaky, "named")  # reads test_2 alone, the audit was of all splits
    (leak,) = [note for note in notes if note.startswith("data audit: ")]
    assert "gold can be told from general by " in leak
    assert "chance 50%" in leak
    assert "more of this kind" in leak
    assert "gold can be told from general" in " ".join(out.split())
    assert leak in (leaky / "named" / "report.html").read_text()


def test_a_run_on_a_changed_set_says_so(leaky, tmp_path):
    write_hicupid_of_words(tmp_path / "set", users=80, leak="side in question")
    (tmp_path / "models.py").write_text(MODEL)
    (tmp_path / "set" / "audit.json").write_bytes((leaky / "set" / "audit.json").read_bytes())
    _, notes = evaluated(tmp_path, "changed")
    assert "the data set has changed since its audit: audit the set again (bowstring data audit)" in notes
    assert not any(note.startswith("data audit: ") for note in notes)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 99}', '{"fingerprint": 1, "files": 2, "beside": 3}'])
def test_an_audit_that_cannot_be_read_does_not_fail_a_run(content, tmp_path):
    write_hicupid_of_words(tmp_path / "set", users=5)
    (tmp_path / "models.py").write_text(MODEL)
    (tmp_path / "set" / "audit.json").write_text(content)
    _, notes = evaluated(tmp_path, "run")
    assert "the audit beside the data set cannot be read: audit the set again (bowstring data audit)" in notes


def test_a_run_without_an_audit_says_nothing(tmp_path):
    write_hicupid_of_words(tmp_path / "set", users=5)
    (tmp_path / "models.py").write_text(MODEL)
    _, notes = evaluated(tmp_path, "run")
    assert not any("audit" in note for note in notes)


def test_changed_choices_make_an_audit_outdated(tmp_path):
    write_hicupid_of_words(tmp_path / "set", users=12, choices="gold longer")
    (tmp_path / "models.py").write_text(MODEL)
    assert bowstring("data", "audit", "set", cwd=tmp_path).code == 0
    assert list(audit_of(tmp_path)["beside"]) == ["choices.jsonl"]
    assert not any("changed" in note for note in evaluated(tmp_path, "before")[1])
    with (tmp_path / "set" / "choices.jsonl").open("a") as file:
        file.write("\n")
    assert any("changed since its audit" in note for note in evaluated(tmp_path, "after")[1])


def test_choices_that_cannot_be_read_are_named(tmp_path):
    write_hicupid_of_words(tmp_path / "set", users=5, choices="clean")
    (tmp_path / "set" / "choices.jsonl").write_text('{"split": "train"}\n')
    ran = bowstring("data", "audit", "set", cwd=tmp_path)
    assert ran.code == 2
    assert "choices.jsonl line 1 is not a choice" in ran.err
    assert ran.err.count("\n") <= 3


def test_the_bundled_sets_have_no_folder_and_too_few_users(tmp_path):
    ran = bowstring("data", "audit", "mini", cwd=tmp_path)
    assert ran.code == 0, ran.err
    out = " ".join(ran.out.split())
    assert out.count("not written: the set has no folder of its own (give --out FILE)") == 2
    assert "personas needed" in out.lower()
    assert os.listdir(tmp_path) == []
    ran = bowstring("data", "audit", "mini", "--out", "x.json", cwd=tmp_path)
    assert (ran.code, "mini is 2 data sets" in ran.err) == (2, True)
    assert bowstring("data", "audit", "mini/cupid", "--out", "x.json", cwd=tmp_path).code == 0
    assert json.loads((tmp_path / "x.json").read_text())["benchmark"] == "cupid"


def test_an_audit_beside_instance_files_is_not_an_instance(tmp_path):
    assert bowstring("data", "export", "mini/cupid", "set", "--format", "json", cwd=tmp_path).code == 0
    assert bowstring("data", "audit", "set", cwd=tmp_path).code == 0
    assert (tmp_path / "set" / "audit.json").is_file()
    ran = bowstring("data", "validate", "set", cwd=tmp_path)
    assert (ran.code, ran.out.strip()) == (0, "set: no problems")


def test_a_set_of_a_plugin_in_its_own_words(tmp_path):
    site = install(tmp_path / "site")
    write_diaries(tmp_path / "diaries")
    with installed(site):
        ran = bowstring("data", "audit", "diaries", cwd=tmp_path)
    assert ran.code == 0, ran.err
    out = " ".join(ran.out.split())
    assert "Diary: 6 diarists" in out
    assert "gold or the answer of another diarist, from question and answer" in out
    assert "persona" not in out
