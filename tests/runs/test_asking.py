"""Requests through a store that other processes write to."""

import asyncio

from bowstring.records import Completion, Message, Prompt, Sampling, Trunk, request_key
from bowstring.runs.asking import Asker
from bowstring.runs.store import Response, Store

SAMPLING = Sampling(10)


def prompt(text: str) -> Prompt:
    return Prompt(Trunk(()), (Message("user", (text,)),))


class OneAtATime:
    """A model that holds up its first answer until it is let go."""

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
        assert asker.tally.asked == 1
        await store.close()

    asyncio.run(run())
