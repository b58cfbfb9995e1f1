"""Answers of a server that ended at their limit, without a marker: thoughts, where the server says so."""

import asyncio
import json

import pytest

from bowstring.models.endpoint import read_completion
from bowstring.models.names import open_model
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
            return Reply(404) if found is None else Reply(body=json.dumps(found(request.body)).encode())
        said = self.answers[request.body["messages"][-1]["content"]]
        return Reply(body=json.dumps(said(request.body) if callable(said) else said).encode())


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


def ask(server, *questions, sampling=SAMPLING):
    async def run():
        model = open_model(server.model("m"))
        asked = [Prompt(Trunk([]), (Message("user", (question,)),)) for question in questions]
        found = await asyncio.gather(*(model.complete(prompt, sampling) for prompt in asked))
        await model.close()
        return found, [one.provenance.may_be_thought for one in found]

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
