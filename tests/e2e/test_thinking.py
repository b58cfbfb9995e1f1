"""--template-args and --thinking-tokens: what is sent, what is stored, and what a run says about it."""

import json

import pytest

import bowstring as package
from bowstring.api.evaluate import prepare
from bowstring.api.race import prepare_race
from bowstring.records import Message, Prompt, Sampling, Trunk, request_key
from bowstring.runs.plan import make_plan
from bowstring.studies.run_names import short_names
from tests.support.command import bowstring
from tests.support.server import Server
from tests.support.tiny import THINKING_TEMPLATE, write_model

ARGS = '{"enable_thinking": false}'
BOTH = ("--template-args", ARGS, "--thinking-tokens", "64")


def run(server, tmp_path, *more):
    asked = ["eval", "hicupid", "--model", server.model("m"), "--limit", "4", "--max-tokens", "10"]
    ran = bowstring(*asked, *more, cwd=tmp_path)
    assert ran.code == 0, ran.err


def runs_in(tmp_path):
    return {path.parent: json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/run.json")}


def test_settings_of_thoughts_are_sent_to_the_model_alone_and_are_part_of_the_run(tmp_path):
    with Server() as server:
        judge = ("--judge", server.model("judge"))
        run(server, tmp_path, *judge)
        before = len(server.requests)
        run(server, tmp_path, *judge, *BOTH)
        run(server, tmp_path, *judge, *BOTH)
        sent = [request.body for request in server.requests[before:]]
    to_model, to_judge = ([body for body in sent if body["model"] == name] for name in ("m", "judge"))
    assert len(to_model) == 4, "other settings are other requests; the same ones are in the store"
    for body in to_model:
        assert body["chat_template_kwargs"] == {"enable_thinking": False}
        assert body["thinking_token_budget"] == body["thinking_budget_tokens"] == 64
        assert body["max_tokens"] == 10 + 64
    assert not any("chat_template_kwargs" in body or "thinking_token_budget" in body for body in to_judge)
    configurations = [run["config"] for run in runs_in(tmp_path).values()]
    assert len(configurations) == 2
    plain, thinking = sorted(configurations, key=len)
    assert thinking == plain | {"template_args": {"enable_thinking": False}, "thinking_tokens": 64}
    names = short_names([plain, thinking], ["a", "b"])
    assert names == ["a", "enable_thinking=false, thinking tokens 64"]


def test_the_history_stage_of_the_same_model_thinks_likewise(tmp_path):
    with Server() as server:
        run(server, tmp_path, "--history", "summary", *BOTH)
        run(server, tmp_path, "--history", "summary", "--history-model", server.model("noter"), *BOTH)
        with_args = {(r.body["model"], "chat_template_kwargs" in r.body) for r in server.requests}
    assert with_args == {("m", True), ("noter", False)}


def test_a_plan_finds_stored_answers_and_counts_thoughts(tmp_path):
    with Server() as server:
        settings = {"model": server.model("m"), "limit": 4, "runs": tmp_path / "runs", "history": "summary"}
        thinking = {"template_args": json.loads(ARGS), "thinking_tokens": 64}
        plain, planned = (
            make_plan(prepare("hicupid", **settings)),
            make_plan(prepare("hicupid", **settings, **thinking)),
        )
        role, other = planned.roles["model"], plain.roles["model"]
        assert role.completion_tokens == other.completion_tokens + 4 * 64
        package.evaluate("hicupid", **settings, **thinking)
        done, still = make_plan(prepare("hicupid", **settings, **thinking)), make_plan(prepare("hicupid", **settings))
    assert (done.roles["model"].requests, done.roles["model"].stored) == (0, 4)
    assert done.roles["history"].requests == 0
    assert still.roles["model"].stored == 0


def test_a_run_is_repeated_with_its_settings_and_a_race_has_them_on_both_sides(tmp_path):
    with Server() as server:
        first = package.evaluate(
            "hicupid", model=server.model("m"), limit=4, out=tmp_path / "a" / "r", template_args=ARGS
        )
        other = package.evaluate(like=first, model=server.model("other"), out=tmp_path / "b" / "r")
        without = package.evaluate(like=first, model=server.model("m"), template_args={}, out=tmp_path / "c" / "r")
        swept = package.sweep(
            "hicupid", model=server.model("m"), history=["none", "full"], limit=4, out=tmp_path / "s", thinking_tokens=0
        )
        names = {"model": server.model("m"), "against": server.model("other")}
        sides = prepare_race("hicupid", **names, runs=tmp_path, thinking_tokens=7).sides
    assert other.metrics["config"]["template_args"] == {"enable_thinking": False}
    assert "template_args" not in without.metrics["config"]
    assert [side.evaluations[0].configuration["thinking_tokens"] for side in sides] == [7, 7]
    assert all(run.metrics["config"]["thinking_tokens"] == 0 for run in swept.points.values())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"template_args": "[1]"}, "--template-args '[1]': expected a JSON object, such as '{"),
        ({"template_args": "{x"}, "--template-args '{x': expected a JSON object"),
        ({"template_args": {"a": float("nan")}}, "expected a JSON object"),
        ({"template_args": '{"messages": []}'}, "--template-args: messages is not an argument of a chat template"),
        ({"thinking_tokens": -1}, "--thinking-tokens -1: expected a whole number of at least 0"),
        ({"thinking_tokens": 1.5}, "--thinking-tokens 1.5: expected a whole number"),
        ({"model": "embedded", "thinking_tokens": 9}, "--thinking-tokens: embedded does not think"),
        ({"model": "embedded", "template_args": ARGS}, "--template-args: embedded does not think"),
        ({"model": "anthropic/c", "template_args": ARGS}, "--template-args: anthropic/c has no template"),
        ({"model": "anthropic/c", "thinking_tokens": 9}, "--thinking-tokens 9: anthropic/c takes 0, or at least 1,024"),
        ({"model": "openai/gpt-4o", "template_args": ARGS}, "--template-args: openai/gpt-4o takes no such setting"),
        ({"model": "bedrock/x", "thinking_tokens": 9}, "--thinking-tokens: bedrock/x is asked by Converse"),
        ({"model": lambda messages: "x", "thinking_tokens": 9}, "takes no settings: give it a second argument"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_refused_before_anything_is_sent(given, message, tmp_path, monkeypatch):
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.setenv(key, "k")
    with pytest.raises(package.BowstringError) as error:
        prepare("hicupid", **({"model": "openai/m@http://127.0.0.1:9/v1", "runs": tmp_path} | given))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_code_of_the_user_gets_the_settings(tmp_path):
    seen = []

    def answer(messages, sampling):
        seen.append((sampling.template_args, sampling.thinking_tokens))
        return "x"

    package.evaluate("hicupid", model=answer, limit=1, out=tmp_path / "r", template_args=ARGS, thinking_tokens=5)
    assert seen == [(ARGS, 5)]


def test_a_budget_of_none_is_another_request_than_no_budget():
    prompt = Prompt(Trunk([]), (Message("user", ("a",)),))
    plain, zero, args = Sampling(9), Sampling(9, thinking_tokens=0), Sampling(9, template_args=ARGS)
    assert len({request_key("m", prompt, sampling) for sampling in (plain, zero, args)}) == 3


def test_anthropic_thinks_within_its_budget(monkeypatch, tmp_path):
    with Server() as server:
        model = f"anthropic/c@{server.url}"
        for n, budget in enumerate((2048, 0, None)):
            package.evaluate(
                "hicupid", model=model, limit=1, max_tokens=10, out=tmp_path / str(n) / "r", thinking_tokens=budget
            )
        thinking, off, plain = (request.body for request in server.requests)
    assert thinking["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert thinking["max_tokens"] == 2058
    assert not thinking.keys() & {"temperature", "top_k", "top_p"}
    assert (off["thinking"], off["max_tokens"]) == ({"type": "disabled"}, 10)
    assert "temperature" in off
    assert "thinking" not in plain


def test_local_weights_answer_after_their_budget_is_spent(tmp_path):
    folder = write_model(tmp_path / "m", template=THINKING_TEMPLATE, tokens=("<think>", "</think>"))
    settings = {"model": f"hf/{folder}", "limit": 4, "max_tokens": 6, "history": "none"}
    cut = package.evaluate("hicupid", out=tmp_path / "a" / "r", **settings)
    budget = package.evaluate("hicupid", out=tmp_path / "b" / "r", thinking_tokens=5, **settings)
    plain = package.evaluate("hicupid", out=tmp_path / "c" / "r", template_args={"enable_thinking": False}, **settings)
    assert cut.metrics["failures"]["model"] == {"empty": 4}
    for run in (budget, plain):
        assert all(record["answer"] for record in run.records())
        assert run.metrics["failures"]["model"] == {}
