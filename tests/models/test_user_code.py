"""User-supplied Python as a model: a function or a class, sync or async."""

import asyncio
import sys

import pytest

from bowstring.models.interface import RequestFailed
from bowstring.models.names import open_model
from bowstring.records import Completion, Message, Prompt, Sampling, Trunk

PROMPT = Prompt(Trunk([Message("system", ("s",))]), (Message("user", ("hello",)),))


def complete(model) -> Completion:
    return asyncio.run(model.complete(PROMPT, Sampling(10, temperature=0.5)))


def echo(messages):
    return messages[-1]["content"].upper()


async def echo_async(messages, sampling):
    return f"{messages[0]['role']} {sampling.temperature}"


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self, messages):
        self.calls += 1
        return f"call {self.calls}"


@pytest.mark.parametrize(
    ("own", "text"), [(echo, "HELLO"), (echo_async, "system 0.5"), (Counter, "call 1"), (Counter(), "call 1")]
)
def test_functions_and_classes_answer(own, text):
    assert complete(open_model(own)).text == text


def test_a_completion_says_more_than_text():
    answer = Completion("cut", "length")
    assert complete(open_model(lambda messages: answer)) is answer


def test_reasoning_in_an_answer_is_kept_apart():
    assert complete(open_model(lambda messages: "<think>hm</think>yes")) == Completion("yes", reasoning="hm")


@pytest.mark.parametrize("own", [lambda messages: 1 / 0, lambda messages: None, lambda messages: 7])
def test_what_goes_wrong_in_it_fails_the_request_not_the_run(own):
    with pytest.raises(RequestFailed):
        complete(open_model(own))


def unlucky(messages):
    raise RuntimeError("no\nluck:\n\n  " + "bad " * 100)


def test_the_reason_of_a_failure_is_one_line_with_all_that_was_said():
    with pytest.raises(RequestFailed) as failed:
        complete(open_model(unlucky))
    said = f"raised RuntimeError: no luck: {'bad ' * 100}".strip()
    assert failed.value.reason == str(failed.value) == f"python:{__name__}:unlucky {said}"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RuntimeError("bug"), "code"),
        (ValueError("This model's maximum context length is 4096 tokens"), "context"),
        (TimeoutError(), "timeout"),
        (ConnectionResetError("gone"), "server"),
    ],
)
def test_a_failure_of_its_code_is_told_from_one_of_what_it_connects_to(error, kind):
    def fail(messages):
        raise error

    with pytest.raises(RequestFailed) as failed:
        complete(open_model(fail))
    assert failed.value.kind == kind


def test_a_module_of_the_current_folder_is_found_and_other_code_is_another_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    identities = []
    for answer in ("one", "two"):
        (tmp_path / "my_model.py").write_text(f"def answer(messages):\n    return {answer!r}\n")
        sys.modules.pop("my_model", None)
        import linecache

        linecache.clearcache()
        importlib_caches()
        model = open_model("python:my_model:answer")
        assert complete(model).text == answer
        identities.append(model.identity)
    assert identities[0] != identities[1]
    assert all(i.startswith("python:my_model:answer#") for i in identities)


def importlib_caches() -> None:
    import importlib
    import shutil
    from pathlib import Path

    importlib.invalidate_caches()
    shutil.rmtree(Path("__pycache__"), ignore_errors=True)
