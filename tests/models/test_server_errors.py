"""A setting is left out only if the server says that it does not support it."""

import asyncio
import json

import pytest

from bowstring.models.interface import RequestFailed
from bowstring.models.names import open_model
from bowstring.models.server_errors import ServerError, Unsupported, read_errors, unsupported_setting
from bowstring.models.transport import Patience
from bowstring.records import Message, Prompt, Sampling, Trunk
from tests.support.server import Reply, Server

SENT = {"max_tokens": 50, "temperature": 0.6, "top_k": 50, "top_p": 0.9, "seed": 7}
QUICK = Patience(attempts=1)


def error(message, **more):
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("answer", "setting", "value"),
    [
        (error("Unsupported parameter: 'top_k' is not supported with this model."), "top_k", None),
        (error("Nope.", param="top_p", code="unsupported_parameter"), "top_p", None),
        (
            error(
                "Unsupported value: 'temperature' does not support 0.6 with this model. Only the default (1) value is "
                "supported.",
                param="temperature",
                code="unsupported_value",
            ),
            "temperature",
            0.6,
        ),
        (error("Only the default (1) value is supported", param="temperature"), "temperature", 0.6),
        (error("Unrecognized request argument supplied: top_k"), "top_k", None),
        (error("Unknown parameter: 'seed'.", code="unknown_parameter"), "seed", None),
        (error("`temperature` is deprecated for this model."), "temperature", None),
        (error("top_k: Extra inputs are not permitted", type="invalid_request_error"), "top_k", None),
        (error("property 'top_k' is unsupported"), "top_k", None),
        (error("Model grok-4 does not support parameter seed."), "seed", None),
        (error("This model doesn't support temperature"), "temperature", None),
        (error("top_k is not allowed"), "top_k", None),
        ([error('Invalid JSON payload received. Unknown name "top_k": Cannot find field.', code=400)], "top_k", None),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs"}]}, "top_k", None),
        ({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, "seed", None),
        (
            {
                "object": "error",
                "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'top_k'), 'msg': 'Extra inputs are not "
                "permitted', 'input': 50}]",
            },
            "top_k",
            None,
        ),
        (error("Use 'max_completion_tokens': 'max_tokens' is not supported with this model."), "max_tokens", None),
        ({"message": "The parameter top_p is not supported by this model"}, "top_p", None),
    ],
)
def test_what_is_not_supported_is_understood_in_every_dialect(answer, setting, value):
    assert unsupported_setting(read_errors(answer), SENT, "Hello!") == Unsupported(setting, value)


PROMPT_TEXT = "Why is the best temperature for tea 80? Our oven says: temperature is not supported. What now?"


@pytest.mark.parametrize(
    "answer",
    [
        error("no emoji please"),
        error(f"Invalid content: {PROMPT_TEXT}"),
        error("Content 'Why is the best temperature' is not allowed"),
        error("'…says: temperature is not supported. What' violates our policy"),
        error("temperature must be between 0 and 2", param="temperature", code="invalid_value"),
        error("temperature: Input should be less than or equal to 1"),
        error("Unsupported parameter: temperature", param="messages[0].content", code="unsupported_parameter"),
        error("This image is not supported. The temperature was 0.6 and the seed 7."),
        error("`temperature` and `top_p` cannot both be specified for this model."),
        error("response_format is not supported with temperature 0.6"),
        error({"temperature": 0.6}),
        "temperature",
        None,
        17,
    ],
)
def test_an_error_about_something_else_or_that_quotes_the_prompt_names_no_setting(answer):
    assert unsupported_setting(read_errors(answer), SENT, PROMPT_TEXT) is None


def test_errors_may_have_any_shape():
    deep = {}
    for _ in range(50):
        deep = {"error": [deep]}
    assert read_errors(deep) == []
    assert read_errors({"error": "x" * 10_000}) == [ServerError("x" * 2000)]


def answers(server, *asked):
    """What comes of these requests, each a text with its settings, one after the other."""

    async def run():
        model = open_model(server.model("m"), patience=QUICK)
        try:
            found = []
            for text, sampling in asked:
                one = model.complete(Prompt(Trunk(()), (Message("user", (text,)),)), sampling)
                found += await asyncio.gather(one, return_exceptions=True)
            return found
        finally:
            await model.close()

    return asyncio.run(run())


def sent(server):
    return [{k: v for k, v in r.body.items() if k not in ("model", "messages")} for r in server.requests]


def test_an_error_that_merely_quotes_a_setting_fails_its_own_request_only():
    def quotes(request):
        text = request.body["messages"][-1]["content"]
        return Reply(400, json.dumps(error(f"cannot process: {text}")).encode()) if "not supported" in text else None

    with Server(faults=quotes) as server:
        failed, answered = answers(server, (PROMPT_TEXT, Sampling(10, 0.6)), ("?", Sampling(10, 0.6)))
    assert isinstance(failed, RequestFailed)
    assert failed.kind == "rejected"
    assert answered.text.startswith("answer")
    assert sent(server) == [{"max_tokens": 10, "temperature": 0.6}] * 2


def test_a_value_that_is_not_supported_is_left_out_of_requests_with_that_value_only():
    def default_only(request):
        if request.body.get("temperature", 1.0) == 1.0:
            return None
        said = error(
            f"'temperature' does not support {request.body['temperature']} with this model",
            param="temperature",
            code="unsupported_value",
        )
        return Reply(400, json.dumps(said).encode())

    with Server(faults=default_only) as server:
        answers(server, *(("?", Sampling(10, temperature)) for temperature in (0.6, 0.6, 1.0)))
    assert [r.get("temperature") for r in sent(server)] == [0.6, None, None, 1.0]


def test_the_field_of_the_length_is_changed_only_if_the_server_says_so():
    def newer(request):
        if "max_tokens" not in request.body:
            return None
        said = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        return Reply(400, json.dumps(error(said, param="max_tokens", code="unsupported_parameter")).encode())

    with Server(faults=newer) as server:
        (answered,) = answers(server, ("?", Sampling(9, None)))
    assert json.loads(answered.provenance.sent) == {"max_completion_tokens": 9}
    with Server(faults=lambda r: Reply(400, json.dumps(error("max_completion_tokens is a word")).encode())) as server:
        (failed,) = answers(server, ("?", Sampling(9, None)))
    assert isinstance(failed, RequestFailed)
    assert sent(server) == [{"max_tokens": 9}]
