"""How an answer ended: a provider's failure inside a 200 is no answer, and what has text is kept."""

import asyncio
import json

import pytest

from bowstring.models import anthropic, bedrock, endpoint
from bowstring.models.finish_reasons import AnswerFailed, finish_of, is_known_finish
from bowstring.models.interface import RequestFailed
from bowstring.models.names import open_model
from bowstring.models.transport import Patience
from bowstring.records import Message, Prompt, Sampling, Trunk
from tests.support.server import Reply, Server

QUICK = Patience(attempts=3, longest_pause=0.05, first_pause=0.01)
PROMPT = Prompt(Trunk(()), (Message("user", ("hello",)),))


def openai(content, finish, **more):
    return {"choices": [{"message": {"content": content}, "finish_reason": finish, **more}]}


def claude(content, finish):
    blocks = [{"type": "text", "text": content}] if content else []
    return {"content": blocks, "stop_reason": finish, "usage": {"input_tokens": 1, "output_tokens": 1}}


def converse(content, finish):
    return {"output": {"message": {"content": [{"text": content}] if content else []}}, "stopReason": finish}


PROTOCOLS = [(endpoint, openai), (anthropic, claude), (bedrock, converse)]


@pytest.mark.parametrize(("protocol", "answer"), PROTOCOLS)
@pytest.mark.parametrize("text", ["", "half an ans"])
@pytest.mark.parametrize("finish", ["error", "ERROR", "Failed", "abort", "network_error", "ERROR_LIMIT"])
def test_a_finish_reason_that_is_an_error_is_a_failure_whatever_was_written(protocol, answer, text, finish):
    with pytest.raises(AnswerFailed, match="the answer ended with"):
        protocol.read_completion(answer(text, finish))


@pytest.mark.parametrize(("protocol", "answer"), PROTOCOLS)
@pytest.mark.parametrize("finish", [None, "", "eos_found"])
def test_no_text_without_a_reason_is_a_failure(protocol, answer, finish):
    with pytest.raises(AnswerFailed, match="no text"):
        protocol.read_completion(answer("", finish))


@pytest.mark.parametrize(("protocol", "answer"), PROTOCOLS)
def test_text_with_an_unknown_reason_is_kept_with_the_reason(protocol, answer):
    found = protocol.read_completion(answer("hi", "eos_found"))
    assert (found.text, found.finish, found.provenance.raw_finish) == ("hi", "stop", "eos_found")


@pytest.mark.parametrize(("protocol", "answer"), PROTOCOLS)
@pytest.mark.parametrize(
    ("raw", "finish"),
    [
        *((raw, "stop") for raw in ("stop", "STOP", "end_turn", "stop_sequence", "eos", "COMPLETE", "pause_turn")),
        *((raw, "stop") for raw in ("tool_calls", "tool_use", "function_call")),
        *((raw, "length") for raw in ("length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded")),
        *((raw, "filter") for raw in ("content_filter", "content_filtered", "guardrail_intervened", "SAFETY")),
        *((raw, "filter") for raw in ("content_filter: RECITATION", "ERROR_TOXIC")),
        ("refusal", "refusal"),
    ],
)
def test_a_normal_end_without_text_is_an_empty_answer(protocol, answer, raw, finish):
    found = protocol.read_completion(answer("", raw))
    assert (found.text, found.finish, found.provenance.raw_finish) == ("", finish, raw)
    assert is_known_finish(raw)


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": [{"message": {"content": None, "tool_calls": [{}]}, "finish_reason": "tool_calls"}]},
        {"choices": [{"message": {"content": "", "reasoning": "hm"}, "finish_reason": "length"}]},
        {"choices": [{"message": {"content": "<think>hm</think>"}, "finish_reason": "stop"}]},
    ],
)
def test_tool_calls_and_thoughts_alone_are_empty_answers(answer):
    assert endpoint.read_completion(answer).text == ""


FAILURES = [
    openai("half", "error"),
    openai("half", "stop", error={"code": 502, "message": "upstream failed"}),
    {"error": {"code": 502, "message": "upstream failed"}},
    {"error": "upstream failed", **openai("half", "stop")},
    openai("", None),
]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_inside_a_200_is_tried_again(failure):
    left = [Reply(body=json.dumps(failure).encode())] * 2
    with Server(faults=lambda request: left.pop() if left else None) as server:
        assert ask(server.model("m")).text.startswith("answer")
    assert len(server.requests) == 3


@pytest.mark.parametrize("provider", ["openai", "anthropic", "bedrock"])
def test_a_failure_inside_a_200_that_lasts_is_the_servers(provider):
    failure = {"type": "error", "error": {"message": "overloaded"}}
    with (
        Server(faults=lambda request: Reply(body=json.dumps(failure).encode())) as server,
        pytest.raises(RequestFailed, match="overloaded") as failed,
    ):
        ask(server.model("m", provider))
    assert failed.value.kind == "server"
    assert len(server.requests) == 3


def test_a_context_that_is_too_long_is_known_inside_a_200_too():
    failure = {"error": {"code": 400, "message": "the maximum context length is 8192 tokens"}}
    with (
        Server(faults=lambda request: Reply(body=json.dumps(failure).encode())) as server,
        pytest.raises(RequestFailed) as failed,
    ):
        ask(server.model("m"))
    assert (failed.value.kind, len(server.requests)) == ("context", 1)


def test_a_reason_that_is_no_text_is_a_wrong_shape():
    with pytest.raises(ValueError, match="not text"):
        finish_of(["stop"], "hi")


def ask(name):
    async def run():
        model = open_model(name, patience=QUICK)
        try:
            return await model.complete(PROMPT, Sampling(10))
        finally:
            await model.close()

    return asyncio.run(run())
