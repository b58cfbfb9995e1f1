"""`bowstring eval --against`: two models, user by user, until the difference is clear."""

import json
from contextlib import ExitStack

import pytest

import bowstring as package
from bowstring.api.race import RaceResult
from bowstring.runs.race import RaceOutcome
from tests.e2e.test_eval import records
from tests.support.command import bowstring
from tests.support.replicas import Replica, model_of
from tests.support.server import Server, digest_answer, random_delay, text_of


def reply(messages, body):
    """`good` solves all conflicts, `fair` and `other` about half of them; the judge reads that from the answer."""
    last = text_of(messages[-1])
    if "Satisfaction:" in last:
        return f"1. Conflict.\nSatisfaction: {'YES' if 'SOLVED' in last else 'NO'}"
    solved = body["model"] == "good" or int(digest_answer(messages, body)[-4:], 16) % 2
    return f"{body['model']} SOLVED" if solved else f"{body['model']} missed"


def command(server, data, runs, first, second, *more):
    models = ["--model", server.model(first), "--against", server.model(second), "--judge", server.model("judge")]
    store = ["--store", str(runs / "responses.sqlite")]
    return ["eval", "hicupid", "--data", str(data), "--type", "schedule", *models, *store, *more]


def raced(server, data, tmp_path, *models, more=()):
    ran = bowstring(*command(server, data, tmp_path, *models, *more, "--json"), cwd=tmp_path)
    return ran, json.loads(ran.out) if ran.out else None


def test_a_clear_difference_stops_the_race_and_saves_the_rest(thirty_users, tmp_path):
    with Server(reply) as server:
        ran, found = raced(server, thirty_users, tmp_path, "fair", "good")
        assert ran.code == 0, ran.err
        asked = [r for r in server.requests if r.body["model"] != "judge"]
    assert found["metric"] == "score.schedule"
    assert (found["established"], found["better"]) == (True, server.model("good"))
    assert 6 <= found["users"] < found["of_users"] == 30
    assert found["low"] > 0
    assert found["value"] > 20
    assert found["items"] < found["of_items"]
    assert 2 * found["items"] <= len(asked) <= 2 * found["items"] + 2 * 16, "few answers in vain"
    for place in found["runs"]:
        metrics = json.loads((tmp_path / place / "metrics.json").read_text())
        assert metrics["n"] == found["items"]
        assert any("in a race with" in note for note in metrics["notes"])
        users = {row["user"] for row in records(tmp_path / place)}
        assert len(users) == found["users"]
    saved = json.loads((tmp_path / found["runs"][0] / "race.json").read_text())
    assert saved == found


def test_two_models_with_several_servers_each(thirty_users, tmp_path):
    with ExitStack() as stack:
        good, fair = ([stack.enter_context(Replica(answer=reply)) for _ in range(2)] for _ in range(2))
        judge = stack.enter_context(Server(reply))
        models = (
            "--model",
            model_of(fair, "fair"),
            "--against",
            model_of(good, "good"),
            "--judge",
            judge.model("judge"),
        )
        store = ("--store", tmp_path / "responses.sqlite")
        words = (
            "eval",
            "hicupid",
            "--data",
            thirty_users,
            "--type",
            "schedule",
            *models,
            *store,
            "--served-as",
            "fair",
        )
        ran = bowstring(*words, cwd=tmp_path)
        said = "--against: several servers need a name for the model that they serve: --served-as against=NAME"
        assert (ran.code, said in ran.err) == (2, True)
        ran = bowstring(*words, "--served-as", "against=good", "--json", cwd=tmp_path)
        assert ran.code == 0, ran.err
        assert all(server.requests for server in (*good, *fair))
    assert json.loads(ran.out)["better"] == "served/good"


def test_the_result_does_not_depend_on_which_answer_comes_first(thirty_users, tmp_path):
    outcomes = []
    with Server(reply) as server:
        for seed in range(3):
            (tmp_path / str(seed)).mkdir()
            server.delay = random_delay(0, 0.02, seed)
            _, found = raced(server, thirty_users, tmp_path / str(seed), "fair", "good")
            outcomes.append({key: value for key, value in found.items() if key not in ("runs",)})
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_models_that_do_not_differ_are_asked_about_all_users(thirty_users, tmp_path):
    with Server(reply) as server:
        ran, found = raced(server, thirty_users, tmp_path, "fair", "other")
        again = bowstring(*command(server, thirty_users, tmp_path, "fair", "other"), cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert (found["established"], found["better"], found["stopped"]) == (False, None, None)
    assert found["users"] == found["of_users"] == 30
    assert found["low"] < 0 < found["high"]
    assert "Not decided: score.schedule is not shown to differ, with all 30 users." in again.out
    metrics = json.loads((tmp_path / found["runs"][0] / "metrics.json").read_text())
    assert not any("race" in note for note in metrics["notes"]), "a run of all users is like any other"


def test_a_race_that_ran_out_of_money_goes_on_where_it_was(thirty_users, tmp_path):
    prices = tmp_path / "prices.yaml"
    names = ("fair", "good", "judge")
    prices.write_text("".join(f"openai/{name}@127.0.0.1/v1: {{input: 10, output: 10}}\n" for name in names))
    with Server(reply) as server:
        more = ("--prices", str(prices))
        ran, found = raced(server, thirty_users, tmp_path, "fair", "good", more=(*more, "--max-cost", "4"))
        assert ran.code == 1
        assert "run the same command again to resume" in ran.err
        assert not found["established"]
        assert "max-cost" in found["stopped"]
        before = len(server.requests)
        assert before
        ran, found = raced(server, thirty_users, tmp_path, "fair", "good", more=more)
        assert found["established"]
        bodies = [json.dumps([r.body["model"], r.body["messages"]]) for r in server.requests]
        assert len(set(bodies)) == len(bodies), "nothing was asked twice"
        known = len(bodies)
        _, again = raced(server, thirty_users, tmp_path, "fair", "good", more=more)
        assert again == found
        assert len(server.requests) == known
        (tmp_path / "whole").mkdir()
        _, whole = raced(server, thirty_users, tmp_path / "whole", "fair", "good")
    assert {**whole, "runs": 0} == {**found, "runs": 0}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--until", "0.7"), "--until 0.7: expected the share of errors that is allowed, such as 0.05"),
        (("--limit", "4"), "--limit and --until exclude each other"),
        (("--history", "none", "--history", "full"), "--against: a sweep cannot be compared"),
    ],
)
def test_what_cannot_be_raced_is_said(thirty_users, tmp_path, more, said):
    with Server(reply) as server:
        ran = bowstring(*command(server, thirty_users, tmp_path, "fair", "good", *more))
        assert server.requests == []
    assert ran.code == 2
    assert said in ran.err


def test_a_model_is_not_raced_against_itself_and_until_needs_another(thirty_users, tmp_path):
    with Server(reply) as server:
        ran = bowstring(*command(server, thirty_users, tmp_path, "fair", "fair"))
        assert "this is the model itself" in ran.err
        alone = bowstring("eval", "hicupid", "--model", server.model("fair"), "--until", "0.05")
        assert "--until needs --against NAME" in alone.err
    assert ran.code == alone.code == 2


def test_python_calls_it_race(thirty_users, tmp_path):
    def weak(messages):
        return "missed"

    def strong(messages):
        return "SOLVED"

    def judge(messages):
        return f"Satisfaction: {'YES' if 'SOLVED' in messages[-1]['content'] else 'NO'}"

    found = package.race(
        "hicupid", model=weak, against=strong, judge=judge, data=str(thirty_users), types=["schedule"], runs=tmp_path
    )
    assert found.outcome.established
    assert found.outcome.value == pytest.approx(100)
    assert found.outcome.users == 7, "fewer users could agree by chance"


def test_the_lower_score_is_the_better_one_where_lower_is_better():
    outcome = RaceOutcome(0.05, value=3.3, established=True)
    assert RaceResult("slips", False, ("few", "many"), outcome, None).better == "few"
    assert RaceResult("score", True, ("low", "high"), outcome, None).better == "high"


def test_each_model_writes_its_own_summaries(thirty_users, tmp_path):
    with Server(reply) as server:
        ran = bowstring(
            *command(server, thirty_users, tmp_path, "fair", "good", "--history", "summary", "--users", "6"),
            cwd=tmp_path,
        )
        assert ran.code == 0, ran.err
        asked = {name: [r for r in server.requests if r.body["model"] == name] for name in ("fair", "good")}
    assert len(asked["fair"]) == len(asked["good"]), "summaries and answers of each"


def test_a_race_of_some_users_is_the_beginning_of_one_of_all(thirty_users, tmp_path):
    with Server(reply) as server:
        _, whole = raced(server, thirty_users, tmp_path, "fair", "good")
        asked = len(server.requests)
        _, part = raced(server, thirty_users, tmp_path, "fair", "good", more=("--users", str(whole["users"])))
        assert len(server.requests) == asked, "the same users"
        for place in part["runs"]:
            assert len(records(tmp_path / place)) == part["items"]
    assert {**part, "of_users": 0, "of_items": 0} == {**whole, "of_users": 0, "of_items": 0}
