"""`bowstring audit` of CUPID runs: judges and matchers whose faults are known, and whether the audit finds them."""

import re

import pytest

from bowstring.benchmarks.loading import load_cupid
from tests.e2e.test_eval import metrics, records
from tests.e2e.test_eval_cupid import answer, command
from tests.support.auditing import at, audit
from tests.support.command import bowstring
from tests.support.server import Server, text_of


def test_cupid(tmp_path):
    def said(messages, body):
        if body["model"] == "two":
            return answer(messages, body | {"model": "judge"}).replace("Score\n7", "Score\n9")
        return answer(messages, body)

    with Server(said) as server:
        ran = bowstring(*command(server, tmp_path / "r"))
        assert ran.code == 0, ran.err
        given = (*at(server, "judge"), "--second-judge", server.model("two"))
        found = audit(tmp_path / "r", *given)
        before = len(server.requests)
        assert audit(tmp_path / "r", *given)["findings"] == found["findings"]
        none = bowstring(*command(server, tmp_path / "none", "--history", "none"))
        assert none.code == 0
        assert len(server.requests) == before, "the run without sessions asks what the audit asked"
    by = found["by"]
    assert found["checks"] == ["gold", "vague", "no-history", "length", "probes", "steering", "second-judge"]
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "response to another request" in page
    assert metrics(tmp_path / "r")["validity"] == {}, "one score for all goes with nothing"
    dressed = [one for name, one in by.items() if "− original response" in name]
    assert [one["value"] for one in dressed] == [0, 0, 0]
    assert by["response to another request, score 1–10"]["value"] == 7
    without = metrics(tmp_path / "none")["metrics"]["inference.f1"]
    assert by["model without the sessions, F1 0–100"]["value"] == pytest.approx(without["value"])
    assert by["model − itself without the sessions (difference, score 1–10)"]["value"] == 0
    assert by["model − itself without the sessions (difference, score 1–10)"]["verdict"] == "unclear"
    assert by["gold preference in place of an inferred one, F1 0–100"]["value"] == pytest.approx(50)
    assert by["gold preference in place of an inferred one, F1 0–100"]["verdict"] == "unclear"
    assert by["vague preference that fits any user, F1 0–100"]["verdict"] == "unclear"
    assert by["model − a vague preference (difference, F1 0–100)"]["value"] == pytest.approx(0)
    assert by["model − a vague preference (difference, F1 0–100)"]["n"] == 12
    shift = by["second judge − first judge (difference, score 1–10)"]
    assert (shift["value"], shift["verdict"], shift["clusters"]) == (2, "unclear", 4)
    assert by["% of checklist items with the same coverage label"]["value"] == 100
    assert len(load_cupid("mini").instances) == 12


def test_cupid_with_another_judge_who_likes_lists_and_does_as_it_is_told(tmp_path):
    def said(messages, body):
        whole = "\n".join(text_of(m) for m in messages)
        if body["model"] == "vain" and "The response: <<<" in whole:
            response = re.search(r"The response: <<<(.*?)>>>", whole, re.DOTALL)[1]
            score = 10 if "### Evaluation Score" in response else 8 if "**" in response else 2
            return f"### Evaluation\nSo.\n### Evaluation Score\n{score}"
        return answer(messages, body | ({"model": "judge"} if body["model"] == "vain" else {}))

    with Server(said) as server:
        assert bowstring(*command(server, tmp_path / "r")).code == 0
        found = audit(tmp_path / "r", *at(server, "vain"), "--checks", "probes,steering,no-history")
    by = found["by"]
    change = by["response as a list with bold text − original response (difference, score 1–10)"]
    assert (change["value"], change["verdict"], change["n"]) == (6, "unclear", 12)
    assert change["meaning"].startswith("Too few personas to tell whether the judge reacts to formatting."), (
        "by 4 alone"
    )
    assert by["response after a compliment − original response (difference, score 1–10)"]["value"] == 0, (
        "against this judge's own 2"
    )
    assert by["model − itself without the sessions (difference, score 1–10)"]["value"] == 0
    assert by["response to another request with a personal opening − without (difference, score 1–10)"]["value"] == 0
    assert by["response to another request, score 1–10"]["value"] == 2
    steered = [one for name, one in by.items() if "with neutral text" in name]
    assert [one["value"] for one in steered] == [8, 8, 8]
    variants = records(next((tmp_path / "r" / "audit").iterdir()))
    assert all("again generation" in one["variants"] and "again inference" in one["variants"] for one in variants)


def test_two_judges_of_cupid_are_compared_and_not_the_runs_with_one(tmp_path):
    def said(messages, body):
        told = answer(messages, body | ({} if body["model"] == "m" else {"model": "judge"}))
        scores = {"judge": 7, "one": 1, "two": 7}
        return told.replace("Score\n7", f"Score\n{scores.get(body['model'], 7)}")

    with Server(said) as server:
        assert bowstring(*command(server, tmp_path / "r")).code == 0
        given = ("--judge", server.model("one"), "--second-judge", server.model("two"))
        found = audit(tmp_path / "r", *given, "--checks", "second-judge,length")
    by = found["by"]
    assert by["second judge − first judge (difference, score 1–10)"]["value"] == 6
    assert by["% of checklist items with the same coverage label"]["value"] == 100
    assert by["% of checklist items with the same coverage label"]["n"] == 60
    assert {name for name in by if name.startswith("words per response")} == {
        f"words per response (by the run's judge, {server.model('judge')})"
    }


def test_another_matcher_judges_the_runs_own_inferences_too(tmp_path):
    def said(messages, body):
        if body["model"] != "full":
            return answer(messages, body)
        return answer(messages, body | {"model": "matcher"}).replace("Not Covered", "Fully Covered")

    with Server(said) as server:
        run = tmp_path / "r"
        given = ("--task", "inference", "--matcher", server.model("matcher"))
        assert bowstring(*command(server, run, *given)).code == 0
        found = audit(run, *at(server, "judge"), "--matcher", server.model("full"), "--checks", "vague")
    assert found["by"]["vague preference that fits any user, F1 0–100"]["value"] > 80
    assert found["by"]["model − a vague preference (difference, F1 0–100)"]["value"] == pytest.approx(0), (
        "both by the new matcher"
    )


def test_a_matcher_of_its_own_is_asked_again(tmp_path):
    with Server(answer) as server:
        given = ("--task", "inference", "--matcher", server.model("matcher"))
        ran = bowstring(*command(server, tmp_path / "r", *given))
        assert ran.code == 0, ran.err
        before = len(server.requests)
        found = audit(tmp_path / "r", "--checks", "vague")
        asked = [r.body["model"] for r in server.requests[before:]]
    assert asked.count("judge") == 1, "one vague preference is taken apart once"
    assert asked.count("matcher") == 4, "once a gold preference; equal ones are asked for once"
    assert found["by"]["vague preference that fits any user, F1 0–100"]["value"] == pytest.approx(50)
