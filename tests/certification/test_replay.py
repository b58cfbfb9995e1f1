"""`bowstring certify --replay`: what is asked and counted is what the authors' code asked and counted.

The recordings are of runs of their code with prompts in our own words (`record.py`).
"""

import json
import shutil
from pathlib import Path

import pytest

from bowstring.api.certify import certify
from bowstring.errors import DataError, UsageError
from tests.certification import CHECKOUTS, RECORDINGS
from tests.support.command import bowstring


@pytest.mark.parametrize(("benchmark", "results"), [("cupid", 5), ("hicupid", 3)])
def test_every_request_and_every_number_is_that_of_the_authors(benchmark, results):
    found = certify(benchmark, CHECKOUTS / benchmark, replay=RECORDINGS / f"{benchmark}.json")
    assert [(row.case, row.what, row.cause) for row in found.rows if row.different] == []
    asked = sum(row.compared for row in found.rows if row.what.startswith("requests"))
    recorded = json.loads((RECORDINGS / f"{benchmark}.json").read_text())["cases"]
    counted = [name for name, case in recorded.items() if case["items"] and "verdict" not in name]
    assert asked == sum(len(case["requests"]) for case in recorded.values() if not case["ended"])
    assert len([name for name in counted if "malformed" in name or name == "clean"]) == results
    assert all(len({row.compared for row in found.rows if row.case == name}) >= 2 for name in counted)


@pytest.fixture
def changed(tmp_path):
    """A recording of CUPID in which something was changed."""

    def change(edit) -> Path:
        whole = json.loads((RECORDINGS / "cupid.json").read_text())
        edit(whole)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(whole))
        return path

    return change


def test_another_number_is_found_and_named(changed):
    def edit(whole):
        case = whole["cases"]["40% malformed"]
        key = next(iter(case["items"]))
        case["items"][key]["score"] += 0.5
        case["totals"]["f1"] += 0.00001

    found = certify("cupid", CHECKOUTS / "cupid", replay=changed(edit))
    differing = {row.what: row for row in found.rows if row.different}
    assert set(differing) == {"items: score", "totals, 6 digits"}
    assert differing["items: score"].different == 1
    assert "f1: theirs" in differing["totals, 6 digits"].cause
    assert not found.equal


def test_a_request_that_is_not_sent_is_found(changed):
    def edit(whole):
        requests = whole["cases"]["clean"]["requests"]
        key = next(key for key, one in requests.items() if one["stage"] == "judge")
        requests["0" * 64] = requests.pop(key)

    found = certify("cupid", CHECKOUTS / "cupid", replay=changed(edit))
    differing = [(row.case, row.what, row.compared, row.equal) for row in found.rows if row.different]
    assert differing == [("clean", "requests: judge", 13, 11)]


def test_other_words_are_found_and_shown(tmp_path):
    """A control: one letter of one prompt."""
    checkout = shutil.copytree(CHECKOUTS / "hicupid", tmp_path / "HiCUPID")
    path = checkout / "src" / "constants.py"
    path.write_text(path.read_text().replace("Keep it to one sentence.", "Keep it to one Sentence."))
    ran = bowstring("certify", "hicupid", checkout, "--replay", RECORDINGS / "hicupid.json", "--json")
    assert ran.code == 1
    rows = {(row["case"], row["what"]): row for row in json.loads(ran.out)["rows"]}
    assert rows["clean", "requests: answer"]["equal"] == 0
    assert rows["few/user/3", "requests: answer"]["different"] == 0


def test_a_number_of_ours_that_is_wrong_is_found(monkeypatch):
    """The simplest wrong program: one that repairs what the authors' code does not read."""
    from bowstring.benchmarks.hicupid import published
    from bowstring.judging.verdicts import read_pairwise

    right = published.read_score

    def forgiving(kind, said, side):
        choice = None if kind == "schedule" else read_pairwise(said)
        return right(kind, said, side) if choice in (None, "tie") else published.Read(float(choice == side), True)

    monkeypatch.setattr(published, "read_score", forgiving)
    found = certify("hicupid", CHECKOUTS / "hicupid", replay=RECORDINGS / "hicupid.json")
    differing = {row.what for row in found.rows if row.different}
    assert "items: score" in differing
    assert "totals, 6 digits" in differing


def test_a_recording_of_other_data_is_refused(changed):
    def edit(whole):
        whole["data"]["fingerprint"] = "0" * 64

    with pytest.raises(DataError, match="was recorded with data"):
        certify("cupid", CHECKOUTS / "cupid", replay=changed(edit))


@pytest.mark.parametrize(
    ("text", "says"),
    [("no json", "not a recording"), ('{"schema": 2, "cases": {}}', "schema 2"), ('{"schema": 1}', "not a recording")],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path, text, says):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(DataError, match=says):
        certify("cupid", CHECKOUTS / "cupid", replay=path)


def test_wrong_usage_is_one_line(tmp_path):
    checkout = CHECKOUTS / "cupid"
    for more, says in (
        ((), "--python"),
        (("--python", tmp_path / "none"), "no such file"),
        (("--python", tmp_path / "none", "--replay", RECORDINGS / "cupid.json"), "--python"),
        (("--record", tmp_path / "r", "--replay", RECORDINGS / "cupid.json"), "--record"),
    ):
        ran = bowstring("certify", "cupid", checkout, *more)
        assert ran.code == 2
        assert says in ran.err
        assert ran.err.count("\n") <= 2
    with pytest.raises(UsageError, match="no such folder"):
        certify("cupid", tmp_path / "nowhere", replay=RECORDINGS / "cupid.json")
