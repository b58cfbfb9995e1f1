"""Controls of HiCUPID: floor and ceiling beside every result, by the judge in use."""

import json

import pytest

from bowstring.api.calls import evaluate
from bowstring.benchmarks.baselines import Baseline
from bowstring.benchmarks.controls import Control, stored_controls
from bowstring.benchmarks.hicupid.controls import COIN, GENERAL, GOLD, OTHER, SWAPPED
from bowstring.benchmarks.hicupid.truth import swaps_of
from bowstring.benchmarks.loading import load_hicupid
from tests.e2e.test_audit import reply
from tests.e2e.test_eval import command
from tests.support.auditing import at, audit
from tests.support.command import bowstring
from tests.support.server import Server
from tests.support.sets import write_hicupid

NAMES = [GOLD, COIN, SWAPPED, OTHER, GENERAL]
SILENT = Baseline("silent", lambda prompt: "Nothing.")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_hicupid(tmp_path_factory.mktemp("sets") / "offline", users=12)


def controls(made, out, **settings):
    run = evaluate("hicupid", model=SILENT, data=str(made), out=out, splits=("test_2",), **settings)
    return {one["name"]: one for one in run.metrics.get("controls", [])}


def test_under_the_truth_judge_gold_is_the_ceiling_and_the_coin_has_half_of_it(made, tmp_path):
    found = controls(made, tmp_path / "r", judge="truth")
    assert list(found) == NAMES
    assert found[GOLD]["kind"] == "ceiling"
    assert found[GOLD]["scores"] == {
        "score.total": 50.0,
        "score.persona": 50.0,
        "score.profile": 50.0,
        "score.schedule": 100.0,
    }
    low, high = found[COIN]["intervals"]["score.total"]
    assert low < 25 < high
    for name in (SWAPPED, OTHER, GENERAL):
        assert found[name]["kind"] == "floor"
        assert found[name]["scores"]["score.total"] < 5
        assert found[name]["n"] == found[GOLD]["n"] == 80
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "Floor and ceiling" in page
    assert found[GENERAL]["about"] in page
    written = json.loads((tmp_path / "r" / "metrics.json").read_text())["controls"]
    assert written == list(found.values())


def test_the_builtin_judge_has_controls_that_show_its_blindness_to_stance(made, tmp_path):
    found = controls(made, tmp_path / "r")
    assert list(found) == NAMES
    assert found[SWAPPED]["scores"]["score.persona"] > 25


def test_without_a_truth_there_is_no_opposite_stance(tmp_path):
    run = evaluate("hicupid", model=SILENT, data="mini", out=tmp_path / "r")
    assert [one["name"] for one in run.metrics["controls"]] == [GOLD, OTHER, GENERAL]


def test_nothing_is_judged_so_there_are_no_controls(made, tmp_path):
    run = evaluate("hicupid", data=str(made), out=tmp_path / "r", splits=("test_2",), retrieval_only=True)
    assert "controls" not in run.metrics


def test_swapped_gold_has_the_other_side_of_the_same_pattern(made):
    swaps = swaps_of(str(made))
    options = {}
    for line in (made / "choices.jsonl").read_text().splitlines():
        row = json.loads(line)
        options[row["split"], row["user_id"], row["question_id"]] = {o["kind"]: o["text"] for o in row["options"]}
    n = 0
    for question in load_hicupid(str(made)).questions():
        swapped = swaps.swapped(question)
        assert swapped is not None
        assert swapped != question.personalized_answer
        if question.type == "persona":
            n += 1
            assert swapped == options[question.split, question.user_id, question.question_id]["wrong_side"]
    assert n == 12 * 25


def test_runs_of_one_store_compute_them_once(made, tmp_path):
    first = controls(made, tmp_path / "a", judge="truth")
    (stored,) = (tmp_path / "controls").iterdir()
    content = json.loads(stored.read_text())
    content["controls"][0]["n"] = 4711
    stored.write_text(json.dumps(content))
    assert controls(made, tmp_path / "b", judge="truth", history="none")[GOLD]["n"] == 4711 != first[GOLD]["n"]
    assert controls(made, tmp_path / "c", judge="truth", limit=7)[GOLD]["n"] == 7


def test_stored_controls_are_of_their_basis_and_bad_files_are_replaced(tmp_path):
    made = []

    def make():
        made.append(1)
        return [Control("x", "floor", "", {"s": 1.0})]

    first = stored_controls(tmp_path / "c", {"a": 1}, make)
    assert stored_controls(tmp_path / "c", {"a": 1}, make) == first
    assert len(made) == 1
    stored_controls(tmp_path / "c", {"a": 2}, make)
    next((tmp_path / "c").iterdir()).write_text("{")
    stored_controls(tmp_path / "c", {"a": 1}, make)
    stored_controls(tmp_path / "c", {"a": 2}, make)
    stored_controls(tmp_path / "c", None, make)
    assert len(made) == 4


def test_a_model_as_judge_scores_them_in_an_audit_and_they_are_beside_the_result(tmp_path):
    with Server(reply) as server:
        out = tmp_path / "r"
        ran = bowstring(*command(server, out), "--judge", server.model("fair"))
        assert ran.code == 0, ran.err
        assert "controls" not in json.loads((out / "metrics.json").read_text())
        found = audit(out, *at(server, "fair"), "--checks", "controls")
        by_name = {one["name"]: one["scores"] for one in found["controls"]}
        assert list(by_name) == [GOLD, OTHER, GENERAL]
        assert by_name[GOLD]["score.total"] == 50
        assert by_name[GENERAL]["score.total"] == 0
        assert found["by"]["gold answer of another user, score 0–100 (50 = as good as gold)"]["value"] < 25
        page = (out / "report.html").read_text(encoding="utf-8")
        assert "Floor and ceiling" in page
        shown = bowstring("audit", out, *at(server, "fair"), "--checks", "controls")
        assert "ceiling: gold" in shown.out
