"""Edge cases of `bowstring eval`: interrupts, unusual models and servers, secrets, contradictory settings."""

import json
from pathlib import Path

import pytest

import bowstring as package
import bowstring.records
from tests.e2e.test_eval import command, metrics
from tests.e2e.test_eval_cupid import answer as cupid_answer
from tests.support.auditing import audit
from tests.support.command import bowstring, bowstring_process
from tests.support.server import Reply, Server, digest_answer


def test_two_objects_of_a_class_are_two_models(tmp_path):
    class Assistant:
        def __init__(self, says):
            self.says = says

        def __call__(self, messages):
            return self.says

    answers = []
    for n, model in enumerate([Assistant("small"), Assistant("large"), lambda m: "one", lambda m: "two"]):
        run = package.evaluate("hicupid", model=model, out=tmp_path / str(n), limit=1)
        answers.append(run.records()[0]["answer"])
    assert answers == ["small", "large", "one", "two"]


@pytest.mark.parametrize(
    "odd", [package.records.Completion(None), package.records.Completion("x", usage=None), iter(())]
)
def test_what_no_store_can_hold_fails_its_item_and_ends(tmp_path, odd):
    def model(messages):
        return next(odd) if not isinstance(odd, package.records.Completion) else odd

    run = package.evaluate("hicupid", model=model, out=tmp_path / "r", limit=2)
    assert run.metrics["failed"] == 2


@pytest.mark.parametrize("count", [10**30, -5, "many", None, 1.5e300])
def test_token_counts_that_make_no_sense_do_no_harm(tmp_path, count):
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": count}}
    with Server(faults=lambda request: Reply(200, json.dumps(body).encode())) as server:
        ran = bowstring("eval", "hicupid", "--model", server.model("m"), "--out", tmp_path / "r", "--limit", "2")
    assert ran.code == 0, ran.err
    assert metrics(tmp_path / "r")["usage"]["model"]["prompt_tokens"] == 0


@pytest.mark.parametrize(
    ("key", "model"),
    [("sk-SECRET123\r", "openai/m@{url}"), ("sk-SECRET123", "openai/m@{user}")],
)
def test_secrets_are_in_no_reason(tmp_path, key, model):
    """Neither a key that a server echoes nor a password in its URL is shown."""

    def echo(request):
        return Reply(500, f'{{"error": {{"message": "you sent {request.headers.get("authorization")}"}}}}'.encode())

    with Server(faults=echo) as server:
        name = model.format(url=server.url, user=server.url.replace("//", "//user:s3cretpw@"))
        more = ["--limit", "1", "--attempts", "1", "--out", tmp_path / "r"]
        ran = bowstring("eval", "hicupid", "--model", name, *more, env={"BOWSTRING_API_KEY": key})
    assert ran.code == 1
    everything = ran.out + ran.err + "".join(p.read_text(errors="replace") for p in (tmp_path / "r").iterdir())
    assert "SECRET" not in everything
    assert "s3cretpw" not in everything


def test_no_key_follows_a_redirect(tmp_path):
    with Server() as elsewhere:
        away = Reply(307, b"", {"Location": f"{elsewhere.url}/messages"})
        with Server(faults=lambda request: away) as server:
            ran = bowstring(
                "eval", "hicupid", "--model", server.model("m", "anthropic"), "--out", tmp_path / "r", "--limit", "1",
                env={"BOWSTRING_API_KEY": "sk-1"},
            )  # fmt: skip
        assert elsewhere.requests == []
    assert ran.code == 1
    assert "redirects to" in ran.err


def test_a_judge_behind_another_port_is_another_server(tmp_path):
    with Server() as first, Server() as second:
        more = ["--out", tmp_path / "r", "--limit", "4", "--judge", second.model("m")]
        ran = bowstring("eval", "hicupid", "--model", first.model("m"), *more)
    assert ran.code == 0
    assert len(first.requests) == len(second.requests) == 4


def test_a_model_that_judges_itself_is_counted_once_a_role(tmp_path):
    with Server() as server:
        more = ["--out", tmp_path / "r", "--limit", "4", "--judge", server.model("m"), "--concurrency", "3"]
        bowstring("eval", "hicupid", "--model", server.model("m"), *more)
    usage = metrics(tmp_path / "r")["usage"]
    assert usage["model"]["requests"] == usage["judge"]["requests"] == 4
    assert server.most_in_flight <= 3, "both roles share the places"


SELF = "the judge is the evaluated model: judges tend to prefer their own answers"


@pytest.mark.parametrize("benchmark", ["hicupid", "cupid"])
def test_a_judge_that_is_the_evaluated_model_is_noted(benchmark, tmp_path):
    with Server(cupid_answer) as server:
        for judge in ("m", "judge"):
            names = ("--model", server.model("m"), "--judge", server.model(judge))
            ran = bowstring("eval", benchmark, *names, "--limit", "4", "--out", tmp_path / judge)
            assert ran.code == 0, ran.err
        assert SELF in metrics(tmp_path / "m")["notes"]
        assert SELF in " ".join((tmp_path / "m" / "report.html").read_text().split())
        assert SELF not in metrics(tmp_path / "judge")["notes"]
        if benchmark == "hicupid":
            assert SELF not in audit(tmp_path / "m", "--checks", "gold")["notes"], "it evaluates no model"
            assert SELF in audit(tmp_path / "m", "--checks", "gold,no-history")["notes"], "it asks the model"


def test_a_run_that_is_repeated_keeps_what_it_has_cost(tmp_path):
    """In its metrics and on its page; what this command has cost is another number."""
    with Server() as server:
        (tmp_path / "prices.yaml").write_text(
            "".join(f"{server.model(name)}: {{input: 50, output: 1000}}\n" for name in ("m", "judge"))
        )
        args = command(server, tmp_path / "r", "--limit", "4", "--prices", str(tmp_path / "prices.yaml"))
        found = []
        for _ in range(2):
            assert bowstring(*args).code == 0
            found.append((metrics(tmp_path / "r")["usage"], (tmp_path / "r" / "report.html").read_text()))
    (first, _), (again, page) = found
    for role in ("model", "judge"):
        assert first[role]["cost"] == pytest.approx(first[role]["cost_in_all"])
        assert first[role]["cost"] > 0.001
        assert again[role]["cost"] == 0
        assert again[role]["cost_in_all"] == pytest.approx(first[role]["cost_in_all"])
        assert f"${again[role]['cost_in_all']:.4f}" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("hicupid --model embeded", "--model: 'embeded' is not a model name. Did you mean embedded?"),
        ("hicupid --model opnai/gpt-4o", "--model: 'opnai/gpt-4o' is not a model name. Did you mean openai/gpt-4o?"),
        ("hicupid --judge gpt-4o", "--judge: 'gpt-4o' is not a model name. Did you mean openai/gpt-4o?"),
        ("hicupid --judge buildin", "--judge: 'buildin' is not a model name. Did you mean builtin?"),
        ("hicupid --judge truht", "--judge: 'truht' is not a model name. Did you mean truth?"),
        ("hicupid --judge openai/x", "openai/x needs OPENAI_API_KEY in the environment (or try --judge embedded)"),
        ("cupid --judge antropic/c", "--judge: 'antropic/c' is not a model name. Did you mean anthropic/c?"),
        (
            "cupid --judge embedded --matcher embeded",
            "--matcher: 'embeded' is not a model name. Did you mean embedded?",
        ),
        (
            "cupid --judge embedded --matcher bedrock/x",
            "bedrock/x needs AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, in the "
            "environment (or try --matcher embedded)",
        ),
        (
            "hicupid --history summary --history-model embeded",
            "--history-model: 'embeded' is not a model name. Did you mean embedded?",
        ),
    ],
)
def test_an_error_about_a_model_names_its_option(words, message, tmp_path, monkeypatch):
    for variable in ("OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(variable, raising=False)
    model = () if "--model" in words.split() else ("--model", "embedded")
    ran = bowstring("eval", *words.split(), *model, cwd=tmp_path)
    assert (ran.code, ran.err) == (2, f"{message}\n")
    assert not list(tmp_path.iterdir())


def test_a_dry_run_needs_no_key_and_sees_what_is_stored_of_the_judge_too(tmp_path):
    keyless = ["eval", "hicupid", "--model", "openai/gpt-4o", "--dry-run", "--json"]
    dry = bowstring(*keyless, env={"OPENAI_API_KEY": ""}, cwd=tmp_path)
    assert dry.code == 0, dry.err
    assert json.loads(dry.out)["roles"]["model"]["cost"] > 0
    with Server() as server:
        args = command(server, tmp_path / "r")
        bowstring(*args)
        plan = json.loads(bowstring(*args, "--dry-run", "--json").out)
    assert [(r["requests"], r["stored"]) for r in plan["roles"].values()] == [(0, 60), (0, 60)]


def test_a_dry_run_names_the_price_of_a_model_once(tmp_path):
    args = ["eval", "hicupid", "--model", "openai/gpt-4o", "--history", "summary", "--dry-run"]
    dry = bowstring(*args, cwd=tmp_path)
    assert dry.code == 0, dry.err
    assert "Prices of openai/gpt-4o as of" in dry.out, "the model writes the summaries, too"


def test_another_configuration_does_not_overwrite_a_run(tmp_path):
    with Server() as server:
        bowstring(*command(server, tmp_path / "r", "--limit", "2"))
        other = bowstring(*command(server, tmp_path / "r", "--limit", "2", "--seed", "9"))
    assert other.code == 2
    assert "contains a run with a different configuration; choose another --out" in other.err


def test_a_server_that_is_not_there_is_said_soon(tmp_path):
    ran = bowstring("eval", "hicupid", "--model", "openai/m@http://127.0.0.1:9/v1", "--out", tmp_path / "r")
    assert ran.code == 1
    assert "is the server running, and is its address correct?" in ran.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai/m@localhost:8000/v1", "give the server with its scheme"),
        ("openai/m@http://[bad/v1", "invalid server URL"),
        ("openai/m@http://host:99999/v1", "invalid server URL"),
        ("openai/m@http://host/v1?api-version=3", "invalid server URL"),
        ("openai/ @http://host/v1", "is not a model name"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(name, message):
    ran = bowstring("eval", "hicupid", "--model", name, "--dry-run")
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_names_with_brackets_are_names(tmp_path):
    ran = bowstring("eval", "hicupid", "--model", "openai/m[/x][bold]@http://localhost:1/v1", "--dry-run", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "openai/m[/x][bold]@http://localhost:1/v1" in ran.out.replace("\n", "")


@pytest.mark.parametrize(
    "setting", [{"limit": 0}, {"limit": "3"}, {"concurrency": -1}, {"max_tokens": "x"}, {"seed": "a"}]
)
def test_the_api_checks_its_settings(tmp_path, setting):
    with pytest.raises(package.BowstringError, match="expected a"):
        package.evaluate("hicupid", model=lambda messages: "x", out=tmp_path / "r", **setting)


def test_a_lone_surrogate_in_an_answer_is_asked_once(tmp_path):
    def odd(messages, body):
        return "half \ud83d" if body["model"] == "m" else digest_answer(messages, body)

    with Server(odd) as server:
        for _ in range(2):
            assert bowstring(*command(server, tmp_path / "r", "--limit", "3")).code == 0
    assert len(server.requests) == 6


def test_a_file_to_write_may_be_a_device_or_a_link(tmp_path):
    """A draft takes the place of a file; it must not take that of /dev/stdout."""
    done = bowstring_process("data", "card", "mini/cupid", "--tokenizer", "none", "--out", "/dev/stdout")
    assert done.code == 0, done.err
    assert done.out.startswith("---\n")
    assert Path("/dev/stdout").is_symlink()
    (tmp_path / "link.md").symlink_to(tmp_path / "target.md")
    assert bowstring("data", "card", "mini/cupid", "--tokenizer", "none", "--out", tmp_path / "link.md").code == 0
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "target.md").read_text().startswith("---\n")
