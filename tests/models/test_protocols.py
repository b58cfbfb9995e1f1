"""Wire protocols: the trunk comes first and byte-identical, and every server's dialect is parsed."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowstring.errors import UsageError
from bowstring.models.embedded import precision_in_name
from bowstring.models.endpoint import encode_branch, encode_trunk, read_completion
from bowstring.models.names import PROVIDERS, open_model
from bowstring.models.reasoning import split_reasoning
from bowstring.records import Completion, Message, Prompt, Sampling, Trunk, Usage
from tests.support.server import Reply, Server

SAMPLING = Sampling(200, 0.6, 50, seed=7)
HISTORY = [Message("system", ("be kind",)), Message("user", ('he said "hi"\n\\ 😀',)), Message("assistant", ("ok",))]


def ask(model, prompt: Prompt, sampling: Sampling = SAMPLING) -> Completion:
    async def run() -> Completion:
        try:
            return await model.complete(prompt, sampling)
        finally:
            await model.close()

    return asyncio.run(run())


def question(text: str) -> tuple[Message, ...]:
    return (Message("user", (text,)),)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=4), st.text(max_size=30), st.booleans())
def test_trunk_and_branch_bytes_are_the_messages_as_json(texts, asked, inside):
    roles = ["user", "assistant"]
    chat = [Message(roles[n % 2], (t,)) for n, t in enumerate(texts)]
    role = chat[-1].role if inside else roles[len(chat) % 2]
    prompt = Prompt(Trunk(chat), (Message(role, (asked,)),))
    sent = json.loads(b"[" + encode_trunk(prompt.trunk) + encode_branch(prompt) + b"]")
    assert sent == [{"role": m.role, "content": m.text} for m in prompt.messages]


def test_prompts_of_a_trunk_begin_with_the_same_bytes():
    trunk = Trunk(HISTORY, branches=2)
    with Server() as server:
        for text in ("one?", "two?"):
            ask(open_model(server.model("m")), Prompt(trunk, question(text)))
    first, second = (r.raw for r in server.requests)
    same = encode_trunk(trunk)
    assert first.index(same) == second.index(same)
    start = first.index(same) + len(same)
    assert first[:start] == second[:start]
    assert json.loads(first)["messages"][-1] == {"role": "user", "content": "one?"}


def test_settings_are_sent_and_no_key_of_a_service_reaches_another_server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.delenv("BOWSTRING_API_KEY", raising=False)
    with Server() as server:
        ask(open_model(server.model("org/my-model")), Prompt(Trunk(HISTORY), question("?")))
        monkeypatch.setenv("BOWSTRING_API_KEY", "local-key")
        ask(open_model(server.model("m")), Prompt(Trunk(HISTORY), question("?")))
    first, second = server.requests
    assert first.path == "/v1/chat/completions"
    assert {k: v for k, v in first.body.items() if k != "messages"} == {
        "model": "org/my-model",
        "max_tokens": 200,
        "temperature": 0.6,
        "top_k": 50,
        "seed": 7,
    }
    assert "authorization" not in first.headers
    assert b"canary" not in first.raw
    assert second.headers["authorization"] == "Bearer local-key"


def test_the_hosted_service_gets_its_key_and_only_settings_it_takes(monkeypatch):
    with Server() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
        monkeypatch.setitem(PROVIDERS, "openai", replace(PROVIDERS["openai"], url=server.url))
        ask(open_model("openai/gpt-4o"), Prompt(Trunk(HISTORY), question("?")))
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer sk-1"
    assert request.body["max_completion_tokens"] == 200
    assert "top_k" not in request.body


def test_a_setting_that_a_server_refuses_is_left_out_and_remembered():
    def refuse(request):
        for name in ("temperature", "top_k"):
            if name in request.body:
                error = {"error": {"message": f"Unsupported parameter: '{name}' is not supported with this model"}}
                return Reply(400, json.dumps(error).encode())
        return None

    with Server(faults=refuse) as server:
        model = open_model(server.model("o9"))
        answer = ask(model, Prompt(Trunk(HISTORY), question("?")))
    assert answer.text.startswith("answer")
    assert json.loads(answer.provenance.sent) == {"max_tokens": 200, "seed": 7}
    assert len(server.requests) == 3


def test_anthropic_marks_the_end_of_a_trunk_that_is_shared(monkeypatch):
    with Server() as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        shared = Trunk(HISTORY, branches=2)
        inside = Trunk([Message("system", ("s",)), Message("user", ("log ",))], branches=2)
        instruction = Trunk([Message("system", ("s",))], branches=9)
        answer = ask(open_model("anthropic/claude-x"), Prompt(shared, question("one?")))
        ask(open_model("anthropic/claude-x"), Prompt(Trunk(HISTORY), question("alone?")))
        ask(open_model("anthropic/claude-x"), Prompt(inside, question("task")))
        ask(open_model("anthropic/claude-x"), Prompt(instruction, question("q?")))
    first, alone, within, only = (r.body for r in server.requests)
    mark = {"cache_control": {"type": "ephemeral"}}
    assert server.requests[0].headers["x-api-key"] == "sk-ant"
    assert first["system"] == [{"type": "text", "text": "be kind"}]
    assert [m["role"] for m in first["messages"]] == ["user", "assistant", "user"]
    assert first["messages"][1]["content"] == [{"type": "text", "text": "ok"} | mark]
    assert first["messages"][2]["content"] == [{"type": "text", "text": "one?"}]
    assert "seed" not in first
    assert "cache_control" not in json.dumps(alone)
    assert within["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "log "} | mark, {"type": "text", "text": "task"}]}
    ]
    assert only["system"] == [{"type": "text", "text": "s"} | mark]
    assert only["messages"] == [{"role": "user", "content": [{"type": "text", "text": "q?"}]}]
    assert answer.usage.cached == 7
    assert answer.usage.prompt > 7


def test_bedrock_converses_signed_or_with_a_bearer_key(monkeypatch):
    with Server() as server:
        for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
        ask(open_model("bedrock/meta.llama3-1-8b:0"), Prompt(Trunk(HISTORY, branches=2), question("?")))
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bearer-key")
        ask(open_model("bedrock/meta.llama3-1-8b:0"), Prompt(Trunk(HISTORY), question("?")))
    signed, bearer = server.requests
    assert signed.path == "/v1/model/meta.llama3-1-8b%3A0/converse"
    assert signed.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKID/")
    assert signed.body["messages"][1]["content"][-1] == {"cachePoint": {"type": "default"}}
    assert signed.body["inferenceConfig"] == {"maxTokens": 200, "temperature": 0.6}
    assert bearer.headers["authorization"] == "Bearer bearer-key"
    assert "cachePoint" not in json.dumps(bearer.body)


def test_another_server_for_bedrock_gets_its_own_key_and_none_of_amazons(monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bearer-key")
    monkeypatch.setenv("BOWSTRING_API_KEY", "server-key")
    with Server() as server:
        ask(open_model(f"bedrock/m@{server.url}"), Prompt(Trunk(HISTORY), question("?")))
        monkeypatch.delenv("BOWSTRING_API_KEY")
        ask(open_model(f"bedrock/m@{server.url}"), Prompt(Trunk(HISTORY), question("?")))
    own, none = server.requests
    assert own.headers["authorization"] == "Bearer server-key"
    assert none.headers["authorization"] == "Bearer none"


def saying(server, **more):
    """Say more in every answer."""
    server.faults = lambda request: Reply(body=json.dumps(json.loads(server._answered(request).body) | more).encode())


def test_an_answer_says_where_it_came_from_and_what_was_sent(monkeypatch):
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    with Server() as server:
        saying(server, id="chatcmpl-1", model="m-2026-01-01", system_fingerprint="fp_1")
        asked = Prompt(Trunk(HISTORY), question("?"))
        url = server.url.replace("http://", "http://me:secret-password@")
        found = [ask(open_model(f"{provider}/m@{url}"), asked) for provider in ("openai", "anthropic", "bedrock")]
    made = [one.provenance for one in found]
    assert {one.address for one in made} == {server.url}
    assert [json.loads(one.sent) for one in made] == [
        {"max_tokens": 200, "temperature": 0.6, "top_k": 50, "seed": 7},
        {"max_tokens": 200, "temperature": 0.6, "top_k": 50},
        {"maxTokens": 200, "temperature": 0.6},
    ]
    assert [one.raw_finish for one in made] == ["stop", "end_turn", "end_turn"]
    assert [one.response_id for one in made] == ["chatcmpl-1", "chatcmpl-1", None]
    assert [one.engine for one in made] == ["m-2026-01-01, fp_1", "m-2026-01-01", ""]
    assert "secret-password" not in repr(made)


def test_the_name_that_was_asked_for_says_nothing_of_the_engine():
    with Server() as server:
        saying(server, model="m", id=7, system_fingerprint=None)
        made = ask(open_model(server.model("m")), Prompt(Trunk(HISTORY), question("?"))).provenance
    assert (made.engine, made.response_id) == ("", None)


@pytest.mark.parametrize(
    ("name", "precision"),
    [("a/SmolLM2-135M-Instruct.Q4_1.gguf", "Q4_1"), ("m-q8_0.gguf", "Q8_0"), ("m.bf16.gguf", "BF16"), ("m.gguf", "")],
)
def test_the_precision_of_weights_is_in_the_name_of_their_file(name, precision):
    assert precision_in_name(name) == precision


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}, Completion("hi")),
        ({"choices": [{"message": {"content": "hi"}, "finish_reason": "length"}]}, Completion("hi", "length")),
        ({"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}, Completion("", "filter")),
        (
            {"choices": [{"message": {"content": None, "refusal": "I won't."}, "finish_reason": "stop"}]},
            Completion("I won't.", "refusal"),
        ),
        (
            {"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}]},
            Completion("ab"),
        ),
        (
            {"choices": [{"message": {"content": "<think>hm</think>\n\nyes"}, "finish_reason": "stop"}]},
            Completion("yes", reasoning="hm"),
        ),
        (
            {"choices": [{"message": {"content": "yes", "reasoning_content": "hm"}, "finish_reason": "stop"}]},
            Completion("yes", reasoning="hm"),
        ),
        (
            {
                "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            },
            Completion("x", usage=Usage(9, 4, 2)),
        ),
        (
            {
                "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 400}},
            },
            Completion("x", usage=Usage(9, 9, 2)),
        ),
    ],
)
def test_every_dialect_of_an_answer_is_understood(answer, expected):
    assert read_completion(answer) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", ("plain", None)),
        ("<think>a</think>b", ("b", "a")),
        ("a</think>\nb", ("b", "a")),
        ("<think>cut off", ("", "cut off")),
        ("<thinking>a</thinking> b", ("b", "a")),
        ("I think </b> so", ("I think </b> so", None)),
    ],
)
def test_reasoning_is_kept_apart_from_the_answer(text, expected):
    assert split_reasoning(text) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt-4o", "'gpt-4o' is not a model name. Did you mean openai/gpt-4o?"),
        ("nope/x", "'nope/x' is not a model name. Expected embedded, python:module:name, openai/NAME"),
        ("openai/gpt-4o", "openai/gpt-4o needs OPENAI_API_KEY in the environment (or try --model embedded)"),
        ("google/g", "google/g needs GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("bedrock/x", "bedrock/x needs AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("python:json", "expected python:module:name"),
        ("python:no_such_module:x", "no_such_module cannot be imported"),
        ("python:json:nothing", "json has no nothing"),
        ("python:json:__name__", "is not a model; expected a name"),
    ],
)
def test_a_name_that_cannot_be_used_says_what_is_missing(name, message, monkeypatch):
    for variable in (
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_ACCESS_KEY_ID",
    ):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError) as error:
        open_model(name)
    assert message in str(error.value)


def test_a_server_is_known_by_its_address_without_user_and_password():
    identity = "openai/m@http://127.0.0.1:8000/v1"
    for name in (identity, f"{identity}/", "openai/m@http://me:password@127.0.0.1:8000/v1/chat/completions"):
        assert open_model(name).identity == identity
    others = ("http://127.0.0.1:9000/v1", "https://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v2")
    assert identity not in {open_model(f"openai/m@{url}").identity for url in others}


@pytest.mark.parametrize(
    ("provider", "variable", "key"),
    [
        ("openai", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
        ("bedrock", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_BEARER_TOKEN_BEDROCK"),
    ],
)
def test_a_provider_at_another_address_is_known_by_it(provider, variable, key, monkeypatch):
    monkeypatch.setenv(key, "sk-1")
    monkeypatch.delenv(variable, raising=False)
    assert open_model(f"{provider}/m").identity == f"{provider}/m"
    monkeypatch.setenv(variable, "http://me:password@127.0.0.1:8000/v1/")
    assert open_model(f"{provider}/m").identity == f"{provider}/m@http://127.0.0.1:8000/v1"
    monkeypatch.setenv(variable, PROVIDERS[provider].url.format(region="us-east-1") + "/")
    assert open_model(f"{provider}/m").identity == f"{provider}/m"
