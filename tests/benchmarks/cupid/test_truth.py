"""The truth judge of CUPID: exact on generated sets, and not to be had by tricks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bowstring.api.calls import evaluate
from bowstring.benchmarks.baselines import Baseline
from bowstring.benchmarks.controls import Control
from bowstring.benchmarks.cupid.controls import controls_of
from bowstring.benchmarks.cupid.rules import rules
from bowstring.benchmarks.cupid.truth import load_truth
from bowstring.benchmarks.loading import load_cupid
from bowstring.errors import DataError, UsageError
from bowstring.judging.sections import read_rating
from tests.support.command import bowstring
from tests.support.sets import write_cupid


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return write_cupid(tmp_path_factory.mktemp("sets") / "rules", personas=12)


@pytest.fixture(scope="module")
def data(made):
    return load_cupid(str(made))


@pytest.fixture(scope="module")
def truth(made):
    return load_truth(str(made))


def answering(states, answers, name: str = "scripted") -> Baseline:
    """A model that states preferences and answers requests, given the prompt's text."""

    def answer(prompt):
        text = "\n".join(m.text for m in prompt.messages)
        return states(text) if "Most Likely Preference" in text else answers(text)

    return Baseline(name, answer)


def of_request(data, make):
    """What `make` makes of the instance whose log and request are in a prompt."""

    def answer(text: str) -> str:
        shown = [
            i
            for i in data.instances
            if i.request in text and all(s.dialogue.messages[1].text in text for s in i.sessions)
        ]
        return make(shown[0])

    return answer


def accepted(instance) -> str:
    """A reply that meets the gold preference: that of the newest session in the context."""
    session = instance.sessions[instance.evidence[-1]]
    assert session.preference == instance.preference
    return session.dialogue.messages[-2].text


def values(run) -> dict[str, float]:
    return {name: one["value"] for name, one in run.metrics["metrics"].items()}


def test_the_gold_preference_gets_100_and_its_opposite_nothing(made, data, truth, tmp_path):
    def said(preference: str) -> str:
        return f"The log shows it.\n\n### Most Likely Preference\n\n{preference}"

    def reversed_(instance) -> str:
        opposites = [rules()[rules()[one].opposite].clauses[1] for one in truth.rules_of(instance)]
        return said(f"The answer must {' and must '.join(opposites)}.")

    for name, make, expected in (("gold", lambda i: said(i.preference), 100.0), ("reversed", reversed_, 0.0)):
        model = answering(of_request(data, make), lambda text: "", name)
        run = evaluate("cupid", model=model, data=str(made), judge="truth", task="inference", out=tmp_path / name)
        found = values(run)
        assert found["inference.f1"] == found["inference.precision"] == found["inference.recall"] == expected
        assert run.metrics["unparsed"] == 0


def test_a_statement_that_names_no_known_rule_is_unparsed_and_counted(made, tmp_path):
    model = answering(lambda text: "### Most Likely Preference\nClear, helpful and friendly answers.", lambda text: "")
    run = evaluate("cupid", model=model, data=str(made), judge="truth", task="inference", out=tmp_path / "r", limit=5)
    assert run.metrics["unparsed"] == 5
    assert run.metrics["unparsed_parts"] == {"checklist": 5}
    assert "inference.f1" not in run.metrics["metrics"]


def test_a_list_of_all_rules_is_scored_and_gains_nothing(made, tmp_path):
    everything = "; ".join(rule.clauses[0] for rule in rules().values())
    model = answering(lambda text: f"### Most Likely Preference\n{everything}", lambda text: everything)
    run = evaluate("cupid", model=model, data=str(made), judge="truth", out=tmp_path / "r")
    assert run.metrics["unparsed"] == 0
    assert values(run)["inference.recall"] > 95
    assert values(run)["inference.f1"] < 12
    assert values(run)["generation.score"] == 1


def test_an_answer_gets_its_share_of_the_rules(data, truth):
    """The drafts of a session are answers to its own request, with more and more rules met."""
    for instance in data.instances:
        wanted = truth.rules_of(instance)
        drafts = [m.text for m in instance.sessions[instance.evidence[-1]].dialogue.messages if m.role == "assistant"]
        request = instance.sessions[instance.evidence[-1]].dialogue.messages[0].text
        subject = replace(instance, persona_id="unknown", request=request)  # no subject: any is accepted
        scores = [truth.verdict(subject, draft).score for draft in drafts]
        assert scores[-1] == 10
        assert scores == sorted(scores)
        shares = [1 + 9 * n / len(wanted) for n in range(len(wanted) + 1)]
        assert all(any(abs(score - share) < 1e-9 for share in shares) for score in scores)
        judged = truth.judgement(subject, drafts[0])
        assert read_rating(judged) == pytest.approx(scores[0], abs=1e-4)


@pytest.mark.parametrize("answer", ["", "Yes.", "The roof? " * 5])
def test_what_is_no_answer_meets_no_rule(data, truth, answer):
    for instance in data.instances[:6]:
        verdict = truth.verdict(instance, answer)
        assert verdict.score == 1
        assert verdict.problem


def test_the_request_and_what_is_copied_from_it_do_not_count(data, truth):
    for instance in data.instances:
        for copied in (instance.request, f"Here you are:\n\n{instance.request}", instance.request.split("\n\n")[1]):
            assert truth.verdict(instance, copied).score == 1


def test_an_answer_to_another_request_is_none_to_this_one(data, truth):
    scores = []
    for instance in data.instances:
        about = truth.subject(instance).partition(":")[0]
        others = [s for s in instance.sessions if about not in s.dialogue.messages[0].text]
        scores += [truth.verdict(instance, s.dialogue.messages[-2].text).score for s in others]
    assert sum(score > 1 for score in scores) < 0.1 * len(scores)


def test_controls_are_exact_and_beside_the_result(made, data, tmp_path):
    model = answering(
        of_request(data, lambda i: f"### Most Likely Preference\n{i.preference}"), of_request(data, accepted)
    )
    run = evaluate("cupid", model=model, data=str(made), judge="truth", out=tmp_path / "r")
    controls = {one["name"]: one for one in json.loads((tmp_path / "r" / "metrics.json").read_text())["controls"]}
    assert controls.keys() == {
        *("no answer", "echo", "every rule", "one for all", "last answer", "last preference", "most frequent"),
        *("another context", "gold"),
    }
    gold = controls["gold"]
    assert gold["kind"] == "ceiling"
    assert set(gold["scores"].values()) == {100.0, 10.0}
    for name, one in controls.items():
        if name == "gold":
            continue
        assert one["kind"] == "floor"
        assert (one["scores"]["inference.f1"] or 0) < 45, name
        assert one["scores"]["generation.score"] < 6.5, name
    assert controls["no answer"]["scores"] == {
        "inference.f1": None,
        "inference.precision": None,
        "inference.recall": None,
        "generation.score": 1.0,
    }
    assert run.metrics["groups"]["rules"].keys() == {"seen", "held-out"}
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "Floor and ceiling" in page
    assert all(one["about"] in page for one in controls.values())
    assert run.metrics["controls"] == list(controls.values())


def test_controls_are_of_the_items_and_the_task_of_the_run(made, tmp_path):
    model = answering(lambda text: "", lambda text: "")
    run = evaluate("cupid", model=model, data=str(made), judge="truth", task="generation", out=tmp_path / "r", limit=3)
    assert all(one["scores"].keys() == {"generation.score"} for one in run.metrics["controls"])
    builtin = evaluate("cupid", model=model, data=str(made), task="generation", out=tmp_path / "b", limit=3)
    assert "controls" not in builtin.metrics


def test_the_terminal_shows_floor_and_ceiling(made, tmp_path):
    (tmp_path / "mine.py").write_text("def answer(messages):\n    return 'Nothing.'\n")
    ran = bowstring(
        *("eval", "cupid", "--data", made, "--judge", "truth", "--model", "python:mine:answer"),
        *("--out", tmp_path / "r", "--limit", "4"),
        cwd=tmp_path,
    )
    assert ran.code == 0, ran.err
    assert "What answers of known quality get from this judge on these items" in ran.out
    assert "ceiling: gold" in ran.out
    assert "floor: no answer" in ran.out


def test_audit_uses_the_truth_as_well(made, data, tmp_path):
    model = answering(
        of_request(data, lambda i: f"### Most Likely Preference\n{i.preference}"), of_request(data, accepted)
    )
    evaluate("cupid", model=model, data=str(made), judge="truth", out=tmp_path / "r")
    ran = bowstring("audit", tmp_path / "r", "--checks", "gold,vague", "--json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    gold = next(f for f in json.loads(ran.out)["findings"] if f["check"] == "gold")
    assert gold["value"] == 100


def test_truth_is_asked_for_where_it_is_and_of_its_version(made, tmp_path):
    with pytest.raises(UsageError, match=r"has no truth\.json; expected a set from bowstring synth cupid --offline"):
        load_truth(str(tmp_path))
    known = json.loads((made / "truth.json").read_text())
    for change, said in (
        ({"rules": 0}, "made for version 0 of the rules"),
        ({"preferences": {"x": ["nonsense"]}}, "'nonsense' is not a rule"),
        ({"preferences": {"x": []}}, "a preference has no rules"),
        ({"subjects": 3}, "cannot be read as a generator's truth: subjects"),
    ):
        (tmp_path / "truth.json").write_text(json.dumps(known | change))
        with pytest.raises(DataError, match=said):
            load_truth(str(tmp_path))


def test_controls_need_the_truth(data):
    class Without:
        truth = None
        settings = None

    assert controls_of(Without(), []) == []
    assert Control("x", "floor", "", {}).scores == {}
