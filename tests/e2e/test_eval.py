"""The whole `bowstring eval` command, against a server with known answers."""

import json
import os
import random
from pathlib import Path

import pytest

import bowstring as package
import bowstring.records
from tests.support.command import bowstring
from tests.support.server import Reply, Server, digest_answer, random_delay, text_of

FILES = ["metrics.json", "records.jsonl", "report.html", "run.json"]


def command(server: Server, out: Path, *more: str) -> list[str]:
    judge = ["--judge", server.model("judge")]
    return ["eval", "hicupid", "--model", server.model("m"), *judge, "--out", str(out), *more]


def records(out: Path) -> list[dict]:
    with (out / "records.jsonl").open(encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def metrics(out: Path) -> dict:
    return json.loads((out / "metrics.json").read_text(encoding="utf-8"))


def test_a_run_leaves_what_it_promises(tmp_path):
    with Server() as server:
        ran = bowstring(*command(server, tmp_path / "runs" / "r"))
    assert ran.code == 0, ran.err
    out = tmp_path / "runs" / "r"
    assert sorted(p.name for p in out.iterdir() if not p.name.startswith(".")) == FILES
    assert (tmp_path / "runs" / "responses.sqlite").is_file()
    assert len(server.requests) == 120
    found = metrics(out)
    assert found["n"] == 60
    assert found["complete"]
    assert found["failed"] == found["unparsed"] == 0
    rows = records(out)
    pairwise = [r for r in rows if r["type"] != "schedule"]
    wins = sum(r["verdict"] == "win" for r in pairwise)
    assert found["metrics"]["win"]["value"] == pytest.approx(100 * wins / len(pairwise))
    by_type = {t: [r["score"] for r in rows if r["type"] == t] for t in ("persona", "profile", "schedule")}
    mean = {t: sum(s) / len(s) for t, s in by_type.items()}
    total = 100 * (25 * mean["persona"] + 5 * mean["profile"] + 5 * mean["schedule"]) / 40
    assert found["metrics"]["score.total"]["value"] == pytest.approx(total)
    assert found["metrics"]["score.total"]["low"] <= total <= found["metrics"]["score.total"]["high"]
    assert not found["metrics"]["score.total"]["trusted"]
    assert {"type", "split", "sentiment", "category"} <= found["groups"].keys()
    assert 0.3 < found["answer_is_a"] < 0.7
    manifest = json.loads((out / "run.json").read_text())
    assert manifest["status"] == "complete"
    assert manifest["config"]["model"] == server.model("m")
    assert str(out / "report.html") in ran.out


def test_the_judge_sees_both_answers_on_the_recorded_side(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "r", "--type", "persona"))
    prompts = [text_of(r.body["messages"][-1]) for r in server.requests if r.body["model"] == "judge"]
    for record in records(tmp_path / "r"):
        (prompt,) = [p for p in prompts if record["question"] in p and record["answer"] in p]
        mine, gold = prompt.index(record["answer"]), prompt.index(record["personalized_answer"])
        assert (mine < gold) == (record["answer_is"] == "A")


def test_the_same_command_asks_nothing_again_and_a_new_judge_only_the_judge(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "a"))
        before = (tmp_path / "a" / "records.jsonl").read_bytes()
        again = bowstring(*command(server, tmp_path / "a"))
        assert again.code == 0
        assert len(server.requests) == 120
        assert (tmp_path / "a" / "records.jsonl").read_bytes() == before
        assert metrics(tmp_path / "a")["usage"]["model"]["from_store"] == 60
        other = ["--judge", server.model("other"), "--out", str(tmp_path / "b")]
        bowstring("eval", "hicupid", "--model", server.model("m"), *other)
        assert [r.body["model"] for r in server.requests[120:]] == ["other"] * 60
        bowstring(*command(server, tmp_path / "a", "--fresh"))
        assert len(server.requests) == 300, "--fresh asks everything again"


def test_the_default_folder_comes_from_the_configuration(tmp_path):
    with Server() as server:
        base = ["eval", "hicupid", "--model", server.model("m")]
        for more in ([], ["--limit", "5"], ["--concurrency", "2"], ["--seed", "1"], ["--temperature", "0.1"]):
            assert bowstring(*base, *more, cwd=tmp_path).code == 0
    folders = [p.parent for p in (tmp_path / "runs").glob("*/run.json")]
    assert len(folders) == 3, "limit and concurrency change no result; seed and temperature do"
    assert all(p.name.startswith(f"hicupid-openai-m-http-127.0.0.1-{server.port}-v1-") for p in folders)


def test_a_limited_run_grows(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "r", "--limit", "7"))
        few = records(tmp_path / "r")
        assert len(few) == 7
        assert len(server.requests) == 14
        bowstring(*command(server, tmp_path / "r", "--limit", "20"))
        assert records(tmp_path / "r")[:7] == few
        assert len(server.requests) == 40


def test_64_in_flight_with_random_delays_and_every_answer_lands_on_its_own_request(tmp_path):
    def echo(messages, body):
        return f"You asked: {text_of(messages[-1])}"

    with Server(echo, delay=random_delay(1.0, 2.0)) as server:
        more = ["--out", str(tmp_path), "--concurrency", "64", "--history", "gold"]
        ran = bowstring("eval", "hicupid", "--model", server.model("m"), *more)
    assert ran.code == 0, ran.err
    assert server.most_in_flight > 40
    rows = records(tmp_path)
    assert len(rows) == 60
    assert all(r["answer"] == f"You asked: {r['question']}" for r in rows)


def test_one_branch_of_a_trunk_goes_first_and_the_others_follow_its_answer(tmp_path):
    """The second prompt with a history is sent only after the first one was answered."""
    answered: set[str] = set()
    early: list[str] = []

    def answer(messages, body):
        trunk = json.dumps(messages[:-1])
        answered.add(trunk)
        return "x"

    def fault(request):
        trunk = json.dumps(request.body["messages"][:-1])
        seen = [json.dumps(r.body["messages"][:-1]) for r in server.requests[:-1]]
        if trunk in seen and trunk not in answered:
            early.append(trunk)
        return

    with Server(answer, delay=lambda: 0.05, faults=fault) as server:
        bowstring("eval", "hicupid", "--model", server.model("m"), "--out", str(tmp_path), "--concurrency", "32")
    assert len(server.requests) == 60
    assert early == []


def flaky(share: float, seed: int = 1):
    rng = random.Random(seed)
    kinds = [
        Reply(429, b'{"error": {"message": "slow"}}', {"Retry-After": "0.05"}),
        Reply(500, b"oops"),
        Reply(close=True),
        Reply(200, b'{"choices": [{"mess', cut=True),
        Reply(200, b'{"choices": []}'),
        Reply(wait=0.7, then_answer=True),
    ]
    return lambda request: rng.choice(kinds) if rng.random() < share else None


def test_a_server_that_fails_one_request_in_ten_changes_nothing(tmp_path):
    with Server(faults=flaky(0.1)) as server:
        assert bowstring(*command(server, tmp_path / "flaky")).code == 0
        server.faults = lambda request: None
        assert bowstring(*command(server, tmp_path / "good", "--store", tmp_path / "other.sqlite")).code == 0
    assert (tmp_path / "flaky" / "records.jsonl").read_bytes() == (tmp_path / "good" / "records.jsonl").read_bytes()


def test_what_finally_fails_is_recorded_counted_and_tried_again(tmp_path):
    broken = {"on": True}

    def fault(request):
        bad = broken["on"] and "tomatoes" in text_of(request.body["messages"][-1])
        return Reply(500, b"the tomatoes are off") if bad else None

    with Server(faults=fault) as server:
        args = command(server, tmp_path / "r", "--attempts", "2")
        ran = bowstring(*args)
        assert ran.code == 1
        assert "1 of 60 items failed; run the same command again to retry them" in ran.err
        (failed,) = [r for r in records(tmp_path / "r") if "failure" in r]
        assert failed["failure"]["stage"] == "answer"
        assert "500 the tomatoes are off" in failed["failure"]["reason"]
        assert metrics(tmp_path / "r")["failed"] == 1
        assert metrics(tmp_path / "r")["metrics"]["score.persona"]["n"] == 35
        broken["on"] = False
        asked = len(server.requests)
        assert bowstring(*args).code == 0
        assert len(server.requests) == asked + 2, "the one that failed, and its judge"
    assert metrics(tmp_path / "r")["failed"] == 0


def test_verdicts_that_cannot_be_read_are_counted_and_are_no_ties(tmp_path):
    def vague(messages, body):
        return "Both have merit." if body["model"] == "judge" else digest_answer(messages, body)

    with Server(vague) as server:
        ran = bowstring(*command(server, tmp_path / "r"))
    assert metrics(tmp_path / "r")["unparsed"] == 60
    assert metrics(tmp_path / "r")["metrics"].keys() == {"bleu", "rouge_l"}, "what needs no judge"
    assert "60 unparsed" in ran.out


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(401, b'{"error": {"message": "bad key"}}'), "is the key correct"),
        (Reply(404, b'{"error": {"message": "no such model"}}'), "is the model name correct?"),
    ],
)
def test_a_model_that_cannot_be_used_ends_the_run_with_one_line(tmp_path, reply, said):
    with Server(faults=lambda request: reply) as server:
        ran = bowstring(*command(server, tmp_path / "r"))
    assert ran.code == 1
    assert said in ran.err.splitlines()[-1]
    assert len(server.requests) < 20
    assert json.loads((tmp_path / "r" / "run.json").read_text())["status"] == "failed"


def test_a_dry_run_asks_nothing_and_says_what_it_would_cost(tmp_path):
    prices = tmp_path / "prices.yaml"
    with Server() as server:
        prices.write_text(f"{server.model('m')}: {{input: 1.0, cached: 0.1, output: 2.0}}\n")
        args = command(server, tmp_path / "r", "--prices", str(prices))
        ran = bowstring(*args, "--dry-run", "--json")
        assert ran.code == 0, ran.err
        assert server.requests == []
        assert not (tmp_path / "r").exists()
        plan = json.loads(ran.out)
        model, judge = plan["roles"]["model"], plan["roles"]["judge"]
        assert model["requests"] == judge["requests"] == 60
        assert 6 * 1000 < model["after_sharing"] < 6 * 1800 < 60 * 1000 < model["prompt_tokens"] < 60 * 1800
        assert model["cost"] < model["cost_unshared"]
        assert judge["cost"] is None, "a price that is not known is not guessed"
        assert (plan["clusters"], plan["items_each"]) == (6, 10)
        assert plan["detectable"] is None, "six users find no difference with 80% power"
        bowstring(*args, "--limit", "10")
        after = json.loads(bowstring(*args, "--dry-run", "--json").out)
        assert after["roles"]["model"]["stored"] == 10
        assert after["roles"]["model"]["requests"] == 50
    shown = bowstring(*args, "--dry-run").out
    assert "unknown" in shown
    assert "6 users with 10 items each are too few to find that two models differ" in " ".join(shown.split())
    few = " ".join(bowstring(*args, "--dry-run", "--limit", "20").out.split())
    assert "2 users cannot show that two models differ: that takes 6 users at least." in few


def test_a_run_stops_before_it_passes_its_budget_and_can_be_resumed(tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "openai/m@127.0.0.1/v1: {input: 1000, output: 1000}\nopenai/judge@127.0.0.1/v1: {input: 10, output: 10}\n"
    )
    with Server() as server:
        args = command(server, tmp_path / "r", "--prices", str(prices), "--max-tokens", "20", "--concurrency", "2")
        ran = bowstring(*args, "--max-cost", "10")
        assert ran.code == 1
        assert "--max-cost 10" in ran.err
        spent = sum(u["cost"] for u in metrics(tmp_path / "r")["usage"].values())
        assert 0 < spent <= 10
        asked = len(server.requests)
        assert 0 < asked < 120
        assert bowstring(*args).code == 0
        assert len(server.requests) == 120, "what the first run bought was not bought again"
        unknown = bowstring("eval", "hicupid", "--model", server.model("dear"), "--max-cost", "1", cwd=tmp_path)
    assert unknown.code == 2
    assert f"--max-cost needs the price of {server.model('dear')}: set it with --prices FILE" in unknown.err


def test_keys_are_in_no_file(tmp_path):
    canary = "sk-canary-8f3a"
    with Server() as server:
        env = {"BOWSTRING_API_KEY": canary, "OPENAI_API_KEY": canary, "ANTHROPIC_API_KEY": canary}
        ran = bowstring(*command(server, tmp_path / "r", "--limit", "3"), env=env)
        server.faults = lambda request: Reply(401, b'{"error": {"message": "bad key"}}')
        refused = bowstring(*command(server, tmp_path / "s", "--limit", "3", "--store", tmp_path / "t.sqlite"), env=env)
    assert server.requests[0].headers["authorization"] == f"Bearer {canary}"
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert canary.encode() not in path.read_bytes(), path
    assert canary not in ran.out + ran.err + refused.out + refused.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model", "gpt-4o"], "'gpt-4o' is not a model name"),
        (["--model", "openai/gpt-4o"], "needs OPENAI_API_KEY in the environment (or try --model embedded)"),
        (
            ["--model", "embedded", "--history", "everything"],
            "--history everything: expected full, gold, none, last:N (or last:4k, in tokens), bm25/utterance/K",
        ),
        (["--model", "embedded", "--type", "horoscope"], "--type horoscope"),
        (["--model", "embedded", "--split", "train"], "mini/hicupid has no split 'train'"),
        (["--model", "embedded", "--data", "mini/cupid"], "mini/cupid is not a hicupid data set"),
        (["--model", "embedded", "--prompts", "nowhere"], "nowhere: no such prompts folder"),
        (["--model", "embedded", "--prices", "nowhere.yaml"], "nowhere.yaml cannot be read as prices"),
        (["--model", "embedded", "--limit", "0"], "--limit"),
        (["--model", "embedded", "--judge", "nobody"], "'nobody' is not a model name"),
        ([], "Missing option '--model'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(more, message, tmp_path):
    environment = {k: "" for k in os.environ if k.endswith("_API_KEY")} | {"OPENAI_API_KEY": ""}
    ran = bowstring("eval", "hicupid", *more, env=environment, cwd=tmp_path)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_own_prompts_are_used_one_by_one(tmp_path):
    (tmp_path / "prompts" / "hicupid").mkdir(parents=True)
    (tmp_path / "prompts" / "hicupid" / "ask.yaml").write_text("system_prompt: Answer like a pirate.\n")
    with Server() as server:
        bowstring(*command(server, tmp_path / "r", "--limit", "1", "--prompts", str(tmp_path / "prompts")))
        broken = tmp_path / "prompts" / "hicupid" / "judge_persona.yaml"
        broken.write_text("user_prompt: Which is better, {answer_a}?\n")
        refused = bowstring(*command(server, tmp_path / "s", "--prompts", str(tmp_path / "prompts")))
    assert server.requests[0].body["messages"][0] == {"role": "system", "content": "Answer like a pirate."}
    assert refused.code == 2
    assert "prompt hicupid/judge_persona has no placeholder {answer_b}, {entity}" in refused.err


def test_python_gives_the_same_run_as_the_command(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "command", "--limit", "9"))
        run = package.evaluate(
            "hicupid",
            model=server.model("m"),
            judge=server.model("judge"),
            out=tmp_path / "api",
            store=tmp_path / "other.sqlite",
            limit=9,
        )
    assert run.complete
    assert (tmp_path / "api" / "records.jsonl").read_bytes() == (tmp_path / "command" / "records.jsonl").read_bytes()
    assert [{"schema": 2} | record for record in run.records()] == records(tmp_path / "command")
    assert run.metrics["metrics"] == metrics(tmp_path / "command")["metrics"]
    with pytest.raises(package.BowstringError, match="evaluate\\(\\) has no setting 'colour'"):
        package.evaluate("hicupid", model="embedded", colour="red")


def test_an_object_of_the_users_own_is_a_model(tmp_path):
    run = package.evaluate("hicupid", model=lambda messages: "Try plums instead.", out=tmp_path / "r", limit=4)
    assert [r["answer"] for r in run.records()] == ["Try plums instead."] * 4
    assert "smoke test, not a measurement" in run.metrics["notes"][0]


def test_progress_is_plain_lines_where_there_is_no_terminal(tmp_path):
    with Server() as server:
        ran = bowstring(*command(server, tmp_path / "r", "--limit", "5"))
    assert "\r" not in ran.err
    assert ran.err.splitlines()[-1].startswith("5/5 · ")


def test_a_dry_run_names_the_models_whose_prices_it_used(tmp_path):
    (tmp_path / "free.py").write_text("def answer(messages):\n    return 'Yes.'\n")
    common = ("eval", "hicupid", "--limit", "2", "--dry-run", "--judge", "openai/gpt-4o-mini", "--out", "r")
    twice = " ".join(bowstring(*common, "--model", "openai/gpt-4o-mini", cwd=tmp_path).out.split())
    assert "Prices of openai/gpt-4o-mini as of" in twice
    free = " ".join(bowstring(*common, "--model", "python:free:answer", cwd=tmp_path).out.split())
    assert "Prices of openai/gpt-4o-mini as of" in free
    both = bowstring(*common, "--model", "python:free:answer", "--judge", "builtin", cwd=tmp_path)
    assert "Prices" not in both.out
