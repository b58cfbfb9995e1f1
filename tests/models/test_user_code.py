"""User-supplied Python as a model: a function or a class, sync or async."""

import asyncio
import sys
import threading
import time

import pytest

import bowstring as package
from bowstring.errors import RunError, UsageError
from bowstring.models.interface import RequestFailed
from bowstring.models.names import open_model
from bowstring.models.transport import Patience
from bowstring.records import Completion, Message, Prompt, Provenance, Sampling, Trunk, Usage
from tests.support.command import bowstring

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


@pytest.mark.parametrize(
    ("field", "answer"),
    [
        ("text", Completion(5)),
        ("finish", Completion("x", ["stop"])),
        ("finish", Completion("x", "eos")),
        ("reasoning", Completion("x", reasoning=b"hm")),
        ("usage", Completion("x", usage={"prompt": 5})),
        ("usage", Completion("x", usage=Usage(prompt=1.5))),
        ("usage", Completion("x", usage=Usage(prompt=1 << 63))),
        ("provenance", Completion("x", provenance={"address": "http://here"})),
        ("provenance", Completion("x", provenance=Provenance(address=5))),
        ("provenance", Completion("x", provenance=Provenance(engine=None))),
        ("provenance", Completion("x", provenance=Provenance(sent="temperature 0"))),
        ("provenance", Completion("x", provenance=Provenance(sent="[1]"))),
        ("provenance", Completion("x", provenance=Provenance(response_id="\ud800"))),
    ],
)
def test_a_completion_that_cannot_be_stored_fails_its_request_and_not_the_run(field, answer, tmp_path):
    run = package.evaluate("hicupid", model=lambda messages: answer, out=tmp_path / "r", limit=2)
    assert run.metrics["failures"]["model"] == {"code": 2}
    reason, n = run.commonest_failure()
    assert n == 2
    assert reason.endswith(f" returned a Completion whose {field} has a wrong type or value")


def test_a_completion_may_say_where_it_came_from(tmp_path):
    made = Provenance(address="http://here", sent='{"top_k": 1}', raw_finish="eos", engine="mine 1.0", stored_at=1)
    answer = Completion("x", provenance=made)
    run = package.evaluate("hicupid", model=lambda messages: answer, out=tmp_path / "r", limit=1)
    (record,) = run.records()
    assert record["sources"][0]["sent"] == {"top_k": 1}
    assert record["sources"][0]["engine"] == "mine 1.0"


def test_reasoning_in_an_answer_is_kept_apart():
    assert complete(open_model(lambda messages: "<think>hm</think>yes")) == Completion("yes", reasoning="hm")


@pytest.mark.parametrize("own", [lambda messages: 1 / 0, lambda messages: None, lambda messages: 7])
def test_what_goes_wrong_in_it_fails_the_request_not_the_run(own):
    with pytest.raises(RequestFailed) as failed:
        complete(open_model(own))
    assert failed.value.kind == "code"


@pytest.mark.parametrize("own", [lambda messages: 7, lambda messages: time.sleep(86400)])
def test_what_it_returns_and_when_are_failures_of_the_model_not_of_a_provider(own, tmp_path):
    run = package.evaluate("hicupid", model=own, out=tmp_path / "r", limit=1, timeout=1)
    assert run.metrics["failures"] == {"model": {"code": 1}, "provider": {}, "judge": {}}


def unlucky(messages):
    raise RuntimeError("no\nluck:\n\n  " + "bad " * 100)


def test_the_reason_of_a_failure_is_one_line_with_all_that_was_said():
    with pytest.raises(RequestFailed) as failed:
        complete(open_model(unlucky))
    said = f"raised RuntimeError: no luck: {'bad ' * 100}".strip()
    assert failed.value.reason == str(failed.value) == f"python:{__name__}:unlucky {said}"


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("no text")


def test_an_exception_without_a_readable_message_has_its_name_as_a_reason():
    def fail(messages):
        raise Unprintable

    with pytest.raises(RequestFailed, match="raised Unprintable"):
        complete(open_model(fail))


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


def never(messages):
    time.sleep(86400)


async def never_async(messages):
    await asyncio.sleep(86400)


async def never_blocking(messages):
    time.sleep(86400)


@pytest.mark.parametrize("own", [never, never_async, never_blocking])
def test_an_answer_that_does_not_come_in_time_is_a_failed_request(own):
    with pytest.raises(RequestFailed) as failed:
        complete(open_model(own, patience=Patience(timeout=0.05)))
    assert (failed.value.kind, str(failed.value)) == (
        "code",
        f"python:{__name__}:{own.__name__} did not answer within 0.05 s",
    )


class Blocked:
    """Blocking code that counts how many calls it runs at once, until it is released."""

    def __init__(self):
        self.released = threading.Event()
        self.running = self.most = self.calls = 0

    def __call__(self, messages):
        self.calls += 1
        self.running += 1
        self.most = max(self.most, self.running)
        self.released.wait(60)
        self.running -= 1
        return "text"


def reasons(ended: list) -> list[str]:
    return [str(end).partition(" ")[2] for end in ended]


def test_a_call_that_nobody_waits_for_any_more_keeps_blocking_code_busy():
    blocked = Blocked()
    late, busy = (
        "did not answer within 0.2 s",
        "was not called: an earlier call did not return within 0.2 s and is still running",
    )

    async def several() -> None:
        model = open_model(blocked, patience=Patience(timeout=0.2))

        async def ask() -> RequestFailed:
            with pytest.raises(RequestFailed) as failed:
                await model.complete(PROMPT, Sampling(10))
            assert failed.value.kind == "code"
            return failed.value

        assert reasons([await ask(), await ask()]) == [late, busy]
        before = time.monotonic()
        assert set(reasons([await ask() for _ in range(100)])) == {busy}
        assert time.monotonic() - before < 10, "at once"
        assert blocked.calls == 1
        blocked.released.set()
        while blocked.running:
            await asyncio.sleep(0.01)
        assert (await model.complete(PROMPT, Sampling(10))).text == "text"

    asyncio.run(several())
    assert blocked.most == 1


def test_a_call_waits_for_an_earlier_one_that_nobody_waits_for():
    blocked = Blocked()

    async def two() -> None:
        model = open_model(blocked, patience=Patience(timeout=0.5))
        with pytest.raises(RequestFailed):
            await model.complete(PROMPT, Sampling(10))
        second = asyncio.create_task(model.complete(PROMPT, Sampling(10)))
        await asyncio.sleep(0.05)
        blocked.released.set()
        assert (await second).text == "text"

    asyncio.run(two())
    assert (blocked.calls, blocked.most) == (2, 1)


def test_as_many_calls_run_at_once_as_there_are_callers():
    blocked = Blocked()

    async def several() -> None:
        model = open_model(blocked, patience=Patience(timeout=0.2))

        async def ask(n: int) -> list[BaseException]:
            asked = [model.complete(PROMPT, Sampling(10)) for _ in range(n)]
            return await asyncio.gather(*asked, return_exceptions=True)

        assert len(await ask(3)) == blocked.calls == 3
        await ask(3)
        assert blocked.calls == 3
        blocked.released.set()
        while blocked.running:
            await asyncio.sleep(0.01)
        assert [answer.text for answer in await ask(3)] == ["text"] * 3

    asyncio.run(several())
    assert blocked.most == 3


async def cancels(messages):
    raise asyncio.CancelledError


def test_a_cancellation_that_is_not_the_runs_is_a_failed_request():
    with pytest.raises(RequestFailed) as failed:
        complete(open_model(cancels))
    assert failed.value.kind == "code"


@pytest.mark.parametrize("own", [never, never_async, never_blocking])
def test_a_cancellation_of_the_run_stays_one(own):
    async def cancelled() -> None:
        asking = asyncio.create_task(open_model(own).complete(PROMPT, Sampling(10)))
        await asyncio.sleep(0)
        asking.cancel()
        await asking

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_async_code_has_one_event_loop_for_all_its_calls():
    loops = []

    async def remembers(messages):
        loops.append(asyncio.get_running_loop())
        return "text"

    async def several() -> None:
        model = open_model(remembers)
        for _ in range(2):
            await model.complete(PROMPT, Sampling(10))
        await model.close()
        await model.complete(PROMPT, Sampling(10))  # a race closes a model, and its runs ask it again
        await model.close()

    asyncio.run(several())
    assert loops[0] is loops[1] is not loops[2]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import sys\nsys.exit()", "SystemExit"),
        ("raise SystemExit(0)", "SystemExit"),
        ("exit(3)", "SystemExit"),
        ("class answer: exit(0)", "SystemExit"),
        ("raise BaseException('odd')", "BaseException: odd"),
        ("raise GeneratorExit", "GeneratorExit"),
    ],
)
def test_code_that_ends_the_program_when_it_is_imported_is_a_wrong_usage(code, error, tmp_path):
    (tmp_path / "leaving.py").write_text(code)
    ran = bowstring("eval", "hicupid", "--model", "python:leaving:answer", "--out", tmp_path / "r", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.startswith(f"python:leaving:answer: leaving cannot be imported: {error}")
    assert len(ran.err.splitlines()) == 1
    ran = bowstring("eval", "hicupid", "--model", "python:leaving:answer", "--debug", cwd=tmp_path)
    assert f'File "{tmp_path / "leaving.py"}", line' in ran.err


def test_a_class_that_cannot_be_instantiated_is_a_wrong_usage():
    class Closing:
        def __init__(self):
            raise GeneratorExit

    with pytest.raises(UsageError, match="instantiating it without arguments raised GeneratorExit"):
        open_model(Closing)


def test_debug_prints_each_traceback_once_wherever_it_stands(tmp_path):
    (tmp_path / "faulty.py").write_text("def answer(messages):\n    raise ValueError('\\x1b[31mred')\n")
    words = ["eval", "hicupid", "--model", "python:faulty:answer", "--out", "r", "--limit", "3"]
    for place in (0, 1, 2, len(words)):
        ran = bowstring(*words[:place], "--debug", *words[place:], cwd=tmp_path)
        assert ran.code == 1
        assert ran.err.count("Traceback") == 1
        assert 'faulty.py", line 2, in answer\n' in ran.err
        assert "\x1b" not in ran.err
    ran = bowstring(*words, cwd=tmp_path)
    assert "Traceback" not in ran.err


def test_the_log_is_that_of_the_last_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["eval", "hicupid", "--model", "python:sometimes:answer", "--out", "r", "--limit", "2"]
    code = "import os\ndef answer(messages):\n    if 'FAULTY' in os.environ: raise OSError('x' * 10**6)\n    return ''"
    (tmp_path / "sometimes.py").write_text(code)
    assert bowstring(*words, env={"FAULTY": "1"}).code == 1
    log = (tmp_path / "r" / "log.txt").read_text()
    assert log.startswith("2 times, the first of them: python:sometimes:answer raised:\n")
    assert len(log) < 100_000
    assert bowstring(*words).code == 0
    assert not (tmp_path / "r" / "log.txt").exists()


class Cancelling:
    """A model of the interface, not a function of one's own: it says itself what went wrong."""

    name = identity = "cancelling"
    concurrency = 2

    async def complete(self, prompt, sampling):
        raise asyncio.CancelledError

    async def close(self): ...


def test_an_object_that_cancels_requests_ends_the_run_with_an_error(tmp_path):
    with pytest.raises(RunError, match="a model raised CancelledError, although the run was not cancelled"):
        package.evaluate("hicupid", model=Cancelling(), out=tmp_path / "r", limit=3)


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
