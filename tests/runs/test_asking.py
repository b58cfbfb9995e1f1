"""Requests through a store that other processes write to."""

import asyncio

import pytest

from bowstring.cli.progress import describe
from bowstring.records import Completion, Message, Prompt, Sampling, Trunk, request_key
from bowstring.runs.asking import Asker, trunk_share
from bowstring.runs.runner import Group, Runner, Snapshot
from bowstring.runs.store import Response, Store

SAMPLING = Sampling(10)


def prompt(text: str) -> Prompt:
    return Prompt(Trunk(()), (Message("user", (text,)),))


class OneAtATime:
    """A model that delays its first answer until it is released."""

    name = identity = "one"
    concurrency = 1

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go_on = asyncio.Event()

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.asked.append(prompt.messages[-1].text)
        await self.go_on.wait()
        return Completion(f"re: {prompt.messages[-1].text}")

    async def close(self) -> None: ...


def test_what_another_process_stored_while_a_request_waited_is_not_asked_again(tmp_path):
    async def run() -> None:
        model, mine, theirs = OneAtATime(), Store(tmp_path / "s.sqlite"), Store(tmp_path / "s.sqlite")
        asker = Asker(model, mine)
        first, second = (asyncio.create_task(asker.ask(prompt(text), SAMPLING)) for text in ("a", "b"))
        while not model.asked:
            await asyncio.sleep(0)
        key = request_key("one", prompt("b"), SAMPLING)
        await theirs.put(Response(key, "one", prompt("b"), SAMPLING, Completion("theirs")))
        model.go_on.set()
        assert (await first).text == "re: a"
        assert (await second).text == "theirs"
        assert model.asked == ["a"]
        assert asker.tally.stored == 1
        await mine.close()
        await theirs.close()

    asyncio.run(run())


def test_the_progress_says_that_a_run_waits_for_another_process(tmp_path):
    async def run() -> list[Snapshot]:
        model, mine, theirs = OneAtATime(), Store(tmp_path / "s.sqlite"), Store(tmp_path / "s.sqlite")
        model.go_on.set()
        key = request_key("one", prompt("a"), SAMPLING)
        assert theirs.leases.take(key)
        asker, seen = Asker(model, mine), []

        async def work(text: str) -> dict:
            await asker.ask(prompt(text), SAMPLING)
            return {}

        def watch(snapshot: Snapshot) -> None:
            seen.append(snapshot)
            if snapshot.waiting:
                theirs.leases.free(key)

        await Runner([Group(["a"], lambda items: work)], [asker], watch).run()
        await mine.close()
        await theirs.close()
        return seen

    seen = asyncio.run(run())
    (line,) = {part for snapshot in seen for part in describe(snapshot).split(" · ") if "waiting" in part}
    assert line == "waiting for 1 answer of another process"
    assert seen[-1].waiting == 0
    assert seen[-1].done == 1


def test_identical_requests_at_once_are_sent_once(tmp_path):
    async def run() -> None:
        model, store = OneAtATime(), Store(tmp_path / "s.sqlite")
        asker = Asker(model, store, concurrency=2)
        both = [asyncio.create_task(asker.ask(prompt("a"), SAMPLING)) for _ in range(2)]
        for _ in range(100):  # turns of the loop: whoever may be sent is sent by then
            await asyncio.sleep(0)
        model.go_on.set()
        assert [(await one).text for one in both] == ["re: a", "re: a"]
        assert model.asked == ["a"]
        assert (asker.tally.asked, asker.tally.stored, asker.tally.failed) == (1, 0, 0)
        await store.close()

    asyncio.run(run())


class Says(OneAtATime):
    """A model that always gives the same answer."""

    def __init__(self, answer: Completion) -> None:
        self.answer = answer

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        return self.answer


@pytest.mark.parametrize("reasoning", [None, "so", "s\ud800"])
@pytest.mark.parametrize("text", ["yes", "y\ud800s"])
def test_what_is_used_is_what_is_stored(tmp_path, text, reasoning):
    async def run() -> None:
        store = Store(tmp_path / "s.sqlite")
        used = await Asker(Says(Completion(text, reasoning=reasoning)), store).ask(prompt("a"), SAMPLING)
        stored = store.get(request_key("one", prompt("a"), SAMPLING))
        await store.close()
        assert (used.text, used.reasoning) == (stored.text, stored.reasoning)
        f"{used.text}{used.reasoning}".encode()

    asyncio.run(run())


def test_the_share_of_a_trunk_counts_characters_and_something_for_each_message():
    trunk = Trunk([Message("user", ("x" * 34,)), Message("assistant", ("y" * 34,))])
    assert trunk_share(Prompt(trunk, (Message("user", ("z" * 84,)),))) == 0.5
    assert trunk_share(prompt("alone")) == 0.0
