"""Who is asked as OpenAI's API is, with instructions in the role `developer`: OpenAI, and gateways that users name."""

import json
from dataclasses import replace

import pytest

from bowstring.models import names
from tests.e2e.test_eval import command as hicupid
from tests.e2e.test_eval_cupid import answer, assert_right, command
from tests.e2e.test_published_cupid import import_words
from tests.support.batches import BatchServer
from tests.support.command import bowstring
from tests.support.cupid_checkout import PublishedWriter, part_of, write_checkout
from tests.support.server import Server

SERVED, OPENAI = {("system", "max_tokens")}, {("developer", "max_completion_tokens")}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    words = import_words(tmp_path_factory.mktemp("published"))
    return ("--protocol", "published", "--prompts", str(words))


def asked(requests, model):
    """How a model was asked: the role of what it was told first, where it was told something, and the name of its
    limit."""
    bodies = [r.body for r in requests if r.body["model"] == model]
    limits = ("max_tokens", "max_completion_tokens")
    return {
        (body["messages"][0]["role"], next(limit for limit in limits if limit in body))
        for body in bodies
        if body["messages"][0]["role"] != "user"
    }


def test_a_server_gets_the_role_that_every_template_has(published, tmp_path):
    with Server(answer) as server:
        ran = bowstring(*command(server, tmp_path / "r", *published))
    assert ran.code == 0, ran.err
    assert asked(server.requests, "judge") == SERVED
    assert_right(tmp_path / "r")


def test_a_gateway_that_is_named_is_asked_as_openai(published, tmp_path):
    with Server(answer) as server:
        ran = bowstring(*command(server, tmp_path / "r", *published, "--as-openai", "judge"))
    assert ran.code == 0, ran.err
    assert asked(server.requests, "judge") == OPENAI
    assert asked(server.requests, "m") == SERVED, "the authors send no developer to the evaluated model"
    assert json.loads((tmp_path / "r" / "run.json").read_text())["config"]["as_openai"] == ["judge"]


def test_openai_itself_needs_no_naming(published, tmp_path, monkeypatch):
    with Server(answer) as server:
        url = server.model("m").partition("@")[2]
        monkeypatch.setitem(names.PROVIDERS, "openai", replace(names.PROVIDERS["openai"], url=url))
        given = ["--model", "openai/m", "--judge", "openai/judge", "--out", str(tmp_path / "r"), *published]
        ran = bowstring("eval", "cupid", *given, env={"OPENAI_API_KEY": "k"})
    assert ran.code == 0, ran.err
    assert asked(server.requests, "judge") == OPENAI


def test_a_matcher_is_told_in_its_own_role(published, tmp_path):
    with Server(answer) as server:
        both = command(server, tmp_path / "r", "--matcher", server.model("matcher"), *published)
        assert bowstring(*both, "--as-openai", "judge").code == 0
        first = list(server.requests)
        other = [*both, "--out", str(tmp_path / "s"), "--as-openai", "matcher"]
        assert bowstring(*other).code == 0
    assert asked(first, "judge") == OPENAI
    assert asked(first, "matcher") <= SERVED
    second = server.requests[len(first) :]
    assert asked(second, "judge") == SERVED
    assert {"max_completion_tokens"} == {
        limit for r in second if r.body["model"] == "matcher" for limit in r.body if limit.startswith("max_")
    }


def test_one_name_in_two_roles_is_asked_in_two_ways(published, tmp_path):
    with Server(lambda messages, body: answer(messages, {"model": "m" if _answers(messages) else "judge"})) as server:
        given = ["--model", server.model("m"), "--judge", server.model("m"), "--as-openai", "judge", *published]
        ran = bowstring("eval", "cupid", *given, "--out", str(tmp_path / "r"))
    assert ran.code == 0, ran.err
    for request in server.requests:
        expected = "max_tokens" if _answers(request.body["messages"]) else "max_completion_tokens"
        assert expected in request.body


def _answers(messages) -> bool:
    """Whether the evaluated model is asked: it sees a log."""
    return "### Session 1" in json.dumps(messages)


def test_a_repeated_run_and_an_audit_ask_in_the_same_way(published, tmp_path):
    with Server(answer) as server:
        assert bowstring(*command(server, tmp_path / "r", *published, "--as-openai", "judge")).code == 0
        first = len(server.requests)
        again = ["--like", str(tmp_path / "r"), "--model", server.model("n"), "--out", str(tmp_path / "s")]
        ran = bowstring("eval", "cupid", *again)
        assert ran.code == 0, ran.err
        config = json.loads((tmp_path / "s" / "run.json").read_text())["config"]
        assert config["as_openai"] == ["judge"]
        assert asked(server.requests[first:], "judge") <= OPENAI
        second = len(server.requests)
        audited = bowstring("audit", str(tmp_path / "r"), "--checks", "vague", "--store", str(tmp_path / "a.sqlite"))
        assert audited.code == 0, audited.err
        assert asked(server.requests[second:], "judge") == OPENAI
        third = len(server.requests)
        other = [
            *again[:-1],
            str(tmp_path / "t"),
            "--judge",
            server.model("judge"),
            "--store",
            str(tmp_path / "b.sqlite"),
        ]
        assert bowstring("eval", "cupid", *other).code == 0
        assert asked(server.requests[third:], "judge") == SERVED, "another judge is asked by its own address"


def test_a_batch_keeps_to_it(published, tmp_path):
    with BatchServer(answer) as server:
        ran = bowstring(*command(server, tmp_path / "r", *published, "--batch", "--as-openai", "judge"))
    assert ran.code == 0, ran.err
    bodies = [row["body"] for n in range(len(server.batches)) for row in server.inputs(n)]
    judged = [body for body in bodies if body["model"] == "judge"]
    assert judged
    assert all("max_completion_tokens" in body for body in judged)
    assert {body["messages"][0]["role"] for body in judged} == {"developer"}


def test_our_own_protocol_has_no_developer(tmp_path):
    with Server() as server:
        assert bowstring(*hicupid(server, tmp_path / "r", "--limit", "3", "--as-openai", "model")).code == 0
    assert {r.body["messages"][0]["role"] for r in server.requests} <= {"system", "user"}
    (settings,) = {
        tuple(sorted(r.body.keys() - {"messages", "seed"})) for r in server.requests if r.body["model"] == "m"
    }
    assert settings == ("max_completion_tokens", "model", "temperature"), "OpenAI takes no top-k"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--as-openai", "matcher"), "--as-openai matcher: there is no model in this role; expected model or judge"),
        (
            ("--judge", "anthropic/claude", "--as-openai", "judge"),
            "--as-openai judge: anthropic/claude is not openai/NAME or openai/NAME@URL",
        ),
    ],
)
def test_what_cannot_be_asked_so_is_refused(tmp_path, more, said):
    with Server() as server:
        ran = bowstring(*command(server, tmp_path / "r", *more))
    assert ran.code == 2
    assert said in " ".join(ran.err.split())
    assert not server.requests


def test_synthesis_has_the_same_rule(tmp_path):
    write_checkout(tmp_path / "CUPID")
    bowstring("prompts", "import", "cupid", tmp_path / "CUPID", "--out", tmp_path / "words")
    given = ["--prompts", str(tmp_path / "words"), "--personas", "1", "--as-openai", "model"]
    with Server(PublishedWriter().answer) as server:
        ran = bowstring("synth", "cupid", "--model", server.model("m"), *given, "--out", str(tmp_path / "s"))
    assert ran.code == 0, ran.err
    told = [r for r in server.requests if part_of(r.body["messages"]) not in ("assistant", "simulator")]
    assert {r.body["messages"][0]["role"] for r in told} == {"developer"}
    assert all("max_completion_tokens" in r.body for r in told)
