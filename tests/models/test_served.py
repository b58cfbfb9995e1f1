"""Answers of a server that ended at their limit, without a marker: thoughts, where the server says so."""

import asyncio
import json
from collections import defaultdict

import pytest

import bowstring as package
from bowstring.models.endpoint import read_completion
from bowstring.models.interface import RequestFailed
from bowstring.models.names import open_model
from bowstring.models.transport import Patience
from bowstring.records import Message, Prompt, Sampling, Trunk
from tests.support.server import Reply, Server

SAMPLING = Sampling(20)
THINKS, ANSWERS = "<|user|>Hi<|assistant|><think>\n", "<|user|>Hi<|assistant|>"


def message(text, finish="length", **more):
    return {"choices": [{"message": {"role": "assistant", "content": text, **more}, "finish_reason": finish}]}


class Served(Server):
    """A server with paths of its own, and answers by the question."""

    def __init__(self, answers, paths):
        super().__init__(faults=self.route)
        self.answers, self.paths = answers, paths

    def route(self, request):
        name = request.path.rpartition("/")[2]
        if name != "completions":
            found = self.paths.get(name)
            said = Reply(404) if found is None else found(request.body)
            return said if isinstance(said, Reply) else Reply(body=json.dumps(said).encode())
        said = self.answers[request.body["messages"][-1]["content"]]
        said = said(request.body) if callable(said) else said
        return said if isinstance(said, Reply) else Reply(body=json.dumps(said).encode())


def llama_cpp(template, separates=False):
    def short(body):
        return message("hm" if body.get("reasoning_format") == "none" or not separates else "")

    return {"apply-template": lambda body: {"prompt": template}}, {"Hi": short}


def vllm(template):
    codes = dict(enumerate(template))
    return {
        "tokenize": lambda body: {"tokens": list(codes), "count": len(codes)},
        "detokenize": lambda body: {"prompt": "".join(codes[n] for n in body["tokens"])},
    }, {}


def ask(server, *questions, sampling=SAMPLING, patience=None):
    async def run():
        model = open_model(server.model("m"), patience=patience)
        asked = [Prompt(Trunk([]), (Message("user", (question,)),)) for question in questions]
        try:
            found = await asyncio.gather(*(model.complete(prompt, sampling) for prompt in asked))
            return found, [one.provenance.may_be_thought for one in found]
        finally:
            await model.close()

    return asyncio.run(run())


CUT, CLOSED, STOPPED = message("Okay, they"), message("Okay.</think>Lentils."), message("Lentils.", "stop")
EMPTY = message("Lentils and", reasoning="")  # a server that separates thoughts, and found an empty one


@pytest.mark.parametrize("served", [llama_cpp(THINKS), vllm(THINKS)])
@pytest.mark.parametrize("order", [("cut", "closed", "stopped", "empty"), ("empty", "stopped", "closed", "cut")])
def test_an_answer_cut_in_the_thought_that_the_servers_template_opens_is_empty(served, order):
    """In whatever order answers arrive; what is not cut is not asked about."""
    paths, short = served
    with Served({"cut": CUT, "closed": CLOSED, "stopped": STOPPED, "empty": EMPTY} | short, paths) as server:
        found, unclear = ask(server, *order)
    answers = dict(zip(order, ((one.text, one.finish, one.reasoning) for one in found), strict=True))
    assert answers == {
        "cut": ("", "length", "Okay, they"),
        "closed": ("Lentils.", "length", "Okay."),
        "stopped": ("Lentils.", "stop", None),
        "empty": ("Lentils and", "length", ""),
    }
    assert not any(unclear)


@pytest.mark.parametrize("served", [llama_cpp(ANSWERS), vllm(ANSWERS), llama_cpp(THINKS, separates=True)])
def test_a_cut_answer_stays_where_answers_do_not_begin_in_a_thought(served):
    paths, short = served
    with Served({"cut": CUT, "closed": CLOSED} | short, paths) as server:
        found, unclear = ask(server, "cut", "closed")
    assert [one.text for one in found] == ["Okay, they", "Lentils."]
    assert not any(unclear)


def test_a_server_that_does_not_say_it_leaves_the_answer_and_a_mark():
    with Served({"cut": CUT, "closed": CLOSED}, {}) as server:
        found, unclear = ask(server, "cut", "closed")
    assert [one.text for one in found] == ["Okay, they", "Lentils."]
    assert unclear == [True, False]


OVERLOADED = Reply(body=json.dumps({"error": {"code": 503, "message": "Loading model"}}).encode())
PASSING = {
    **{str(status): Reply(status) for status in (408, 429, 500, 502, 503, 504, 529)},
    "closed": Reply(close=True),
    "half": Reply(body=b'{"prompt": "x"}', cut=True),
    "inside a 200": OVERLOADED,
}
UNKNOWN = {
    **{str(status): Reply(status) for status in (301, 302, 400, 401, 403, 404, 405, 422, 501)},
    "page": Reply(body=b"<!doctype html><title>Welcome</title>", headers={"Content-Type": "text/html"}),
    "error": Reply(body=b'{"error": "Unexpected endpoint or method. (POST /apply-template)"}'),
    "error object": Reply(body=b'{"error": {"code": 404, "message": "no such route"}}'),
    "list": Reply(body=b"[]"),
}
QUICK = Patience(attempts=3, longest_pause=0.01, first_pause=0.001)


def failing(reply, times, otherwise):
    """A path that fails so many times."""
    left = [reply] * times
    return lambda body: left.pop() if left else otherwise(body)


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING)
@pytest.mark.parametrize("name", ["apply-template", "tokenize", "detokenize", "completions"])
def test_a_server_that_fails_for_the_moment_is_asked_again(name, reply):
    paths, short = llama_cpp(THINKS) if name in ("apply-template", "completions") else vllm(THINKS)
    at, key = (short, "Hi") if name == "completions" else (paths, name)
    with Served({"cut": CUT} | short, paths) as server:
        holder = server.answers if name == "completions" else server.paths
        holder[key] = failing(reply, 2, at[key])
        [found], unclear = ask(server, "cut", patience=QUICK)
    assert (found.text, found.reasoning, unclear) == ("", "Okay, they", [False])


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING)
def test_a_request_fails_if_the_server_still_fails_and_the_next_one_asks_again(reply):
    """Those that wait at the same moment fail with it; nothing wrong is remembered."""
    paths, short = llama_cpp(THINKS)
    paths["apply-template"] = failing(reply, 3, paths["apply-template"])

    async def run(server):
        model = open_model(server.model("m"), patience=QUICK)
        prompts = [Prompt(Trunk([]), (Message("user", (question,)),)) for question in ("cut", "closed", "cut", "cut")]
        first = await asyncio.gather(*(model.complete(p, SAMPLING) for p in prompts), return_exceptions=True)
        asked = [request.path for request in server.requests].count("/apply-template")
        then = await model.complete(prompts[0], SAMPLING)
        wasted = model.take_wasted()
        await model.close()
        return first, asked, then, wasted

    cut = CUT | {"usage": {"prompt_tokens": 5, "completion_tokens": 20}}
    with Served({"cut": cut, "closed": CLOSED} | short, paths) as server:
        first, asked, then, wasted = asyncio.run(run(server))
    failed = [one for one in first if isinstance(one, RequestFailed)]
    assert [one.text for one in first if one not in failed] == ["Lentils."]
    assert {one.kind for one in failed} == {"server"}
    assert "asked at /apply-template whether answers begin in a thought" in failed[0].reason
    assert (len(failed), asked) == (3, 3)
    assert (then.text, then.reasoning) == ("", "Okay, they")
    assert wasted.completion == 60, "answers that could not be used were paid for"


def test_a_server_that_does_not_answer_in_time_fails_the_request():
    paths = {"apply-template": lambda body: Reply(wait=5.0)}
    with Served({"cut": CUT}, paths) as server, pytest.raises(RequestFailed, match="did not answer in time") as failed:
        ask(server, "cut", patience=Patience(attempts=2, first_pause=0.001, timeout=0.3))
    assert failed.value.kind == "server"


@pytest.mark.parametrize("reply", UNKNOWN.values(), ids=UNKNOWN)
def test_a_server_without_such_a_path_does_not_say_it(reply):
    paths = dict.fromkeys(("apply-template", "tokenize", "detokenize"), lambda body: reply)
    with Served({"a": CUT, "b": CUT}, paths) as server:
        found, _ = ask(server, "a", "b", patience=QUICK)
        asked = [request.path for request in server.requests if not request.path.endswith("completions")]
    assert [one.text for one in found] == ["Okay, they"] * 2
    assert asked == ["/apply-template", "/tokenize"], "once each"


def test_a_server_that_rejects_the_raw_form_does_not_say_whether_it_separates_thoughts():
    paths, _ = llama_cpp(THINKS)
    short = {"Hi": lambda body: Reply(400) if "reasoning_format" in body else message("")}
    with Served({"cut": CUT, "closed": CLOSED} | short, paths) as server:
        found, unclear = ask(server, "cut", "closed")
    assert [one.text for one in found] == ["Okay, they", "Lentils."]
    assert unclear == [True, False]


def test_a_failure_to_say_it_is_not_stored(tmp_path):
    """A later run on the same store asks again, and has no thought as an answer."""
    paths, short = llama_cpp(THINKS)
    kept = paths["apply-template"]
    with Served(defaultdict(lambda: CUT) | short, paths) as server:
        server.paths["apply-template"] = lambda body: Reply(503)
        common = {"model": server.model("m"), "limit": 3, "history": "none", "attempts": 1}
        first = package.evaluate("hicupid", out=tmp_path / "a", store=tmp_path / "store", **common)
        server.paths["apply-template"] = kept
        second = package.evaluate("hicupid", out=tmp_path / "b", store=tmp_path / "store", **common)
    assert first.metrics["failures"]["provider"] == {"server": 3}
    assert {record["answer"] for record in second.records()} == {""}


def test_the_server_is_asked_once_for_each_set_of_arguments_and_with_them():
    paths = {"apply-template": lambda body: {"prompt": ANSWERS if body.get("chat_template_kwargs") else THINKS}}
    plain = Sampling(20, template_args='{"enable_thinking": false}')
    with Served({"a": CUT, "b": CUT, "Hi": message("hm")}, paths) as server:
        [thought, _], _ = ask(server, "a", "b")
        assert sum(request.path == "/apply-template" for request in server.requests) == 1
        [answer, _], _ = ask(server, "a", "b", sampling=plain)
        bodies = [request.body for request in server.requests if request.body["messages"][-1]["content"] == "a"]
    assert (thought.text, answer.text) == ("", "Okay, they")
    assert [body.get("chat_template_kwargs") for body in bodies] == [None, {"enable_thinking": False}]


def test_what_a_server_separated_and_what_it_left_in_the_text_are_both_thoughts():
    left = message("so\n</think>\n\nLentils.", "stop", reasoning_content="They avoid beetroot,")
    found = read_completion(left)
    assert (found.text, found.reasoning) == ("Lentils.", "They avoid beetroot,\n\nso")
    both = read_completion(message("<think>hm</think>Lentils.", "stop", reasoning_content="hm"))
    assert (both.text, both.reasoning) == ("Lentils.", "hm")
    assert read_completion(message("analysisWe need to")).text == ""


def test_llama_cpp_itself_says_whether_its_template_opens_a_thought():
    """The bundled model does not think, so the server keeps what it says in the text."""
    import xllamacpp

    from bowstring.models import weights
    from tests.support.tiny import THINKING_TEMPLATE

    params = xllamacpp.CommonParams()
    params.model.path = str(weights.fetch(lambda line: None))
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity, params.ui = 512, 1, False, -1, False
    params.chat_template = THINKING_TEMPLATE.replace("{{ strftime_now('%d %b %Y') }}", "")
    served = xllamacpp.Server(params)

    async def run(**arguments):
        model = open_model(f"openai/m@{served.listening_address}/v1")
        prompt = Prompt(Trunk([]), (Message("user", ("Name a dish.",)),))
        found = await model.complete(prompt, Sampling(8, template_args=json.dumps(arguments)))
        await model.close()
        return found

    thought, answer = asyncio.run(run(enable_thinking=True)), asyncio.run(run(enable_thinking=False))
    assert (thought.text, thought.finish) == ("", "length")
    assert thought.reasoning
    assert answer.text
    assert answer.reasoning is None
