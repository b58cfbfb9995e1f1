"""Rate limits, by a clock of their own: requests and tokens are spread evenly, first come, first served."""

import asyncio

from bowstring.models.names import open_model
from bowstring.models.rates import RateLimiter, rate_limiter
from bowstring.models.transport import Patience
from bowstring.records import Completion, Message, Prompt, Sampling, Trunk, Usage
from bowstring.runs.asking import Asker, Stopped
from bowstring.runs.store import Store
from tests.support.server import Reply, Server


class Clock:
    """Time that passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def limiter(requests=None, tokens=None) -> tuple[RateLimiter, Clock]:
    clock = Clock()
    return RateLimiter(requests, tokens, clock=clock, sleep=clock.sleep), clock


def taken(limit: RateLimiter, clock: Clock, tokens: list[int]) -> list[float]:
    """The seconds after which requests that come together are let through."""

    async def run() -> list[float]:
        async def one(n: int) -> float:
            await limit.take(n)
            return clock() - start

        start = clock()
        return await asyncio.gather(*map(one, tokens))

    return [round(at, 6) for at in asyncio.run(run())]


def test_requests_are_spread_evenly():
    assert taken(*limiter(requests=30), [0] * 5) == [0, 2, 4, 6, 8]


def test_tokens_are_spread_evenly_and_a_large_request_goes_alone():
    assert taken(*limiter(tokens=600), [100, 100, 6000, 1]) == [0, 10, 20, 620]


def test_the_stricter_limit_holds():
    assert taken(*limiter(requests=60, tokens=600), [5, 50, 5]) == [0, 1, 6]


def test_time_in_which_nothing_is_sent_is_not_saved_up():
    limit, clock = limiter(requests=60)
    taken(limit, clock, [0])
    clock.now += 600
    assert taken(limit, clock, [0, 0, 0]) == [0, 1, 2]


def test_tokens_that_were_not_used_are_given_back():
    limit, clock = limiter(tokens=600)
    taken(limit, clock, [1000])
    limit.correct(1000, 100)
    assert taken(limit, clock, [0]) == [10]


def test_nobody_waits_when_the_run_ends():
    limit, clock = limiter(requests=1)
    taken(limit, clock, [0])
    limit.stop()
    assert taken(limit, clock, [0, 0]) == [0, 0]


def test_without_limits_there_is_no_limiter():
    assert rate_limiter(None, None) is None


class Counted:
    """A model that records when it is asked."""

    name = identity = "counted"
    concurrency = 8

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.asked: list[float] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self.asked.append(round(self.clock() - 1000, 6))
        return Completion("yes", usage=Usage(90, 0, 10))

    async def close(self) -> None: ...


def prompt(text: str) -> Prompt:
    return Prompt(Trunk(()), (Message("user", (text,)),))


def test_all_askers_of_a_model_share_its_limit(tmp_path):
    async def run() -> list[float]:
        limit, clock = limiter(requests=60)
        model, store = Counted(clock), Store(tmp_path / "s.sqlite")
        first = Asker(model, store, limiter=limit)
        second = Asker(model, store, beside=first, limiter=RateLimiter(6000, None))
        await asyncio.gather(*(asker.ask(prompt(f"{n}"), Sampling(1)) for n, asker in enumerate([first, second] * 3)))
        await store.close()
        return model.asked

    assert asyncio.run(run()) == [0, 1, 2, 3, 4, 5]


def test_the_tokens_that_an_answer_used_count_not_those_expected(tmp_path):
    async def run() -> list[float]:
        limit, clock = limiter(tokens=600)
        model, store = Counted(clock), Store(tmp_path / "s.sqlite")
        asker = Asker(model, store, limiter=limit)
        for n in range(3):
            await asker.ask(prompt(f"{n}"), Sampling(100_000))
        await store.close()
        return model.asked

    assert asyncio.run(run()) == [0, 10, 20]


def test_a_request_that_waits_for_its_turn_is_not_sent_when_the_run_ends(tmp_path):
    async def run() -> Counted:
        limit = RateLimiter(0.001, None)
        model, store = Counted(Clock()), Store(tmp_path / "s.sqlite")
        asker = Asker(model, store, limiter=limit)
        await asker.ask(prompt("a"), Sampling(1))
        waiting = asyncio.create_task(asker.ask(prompt("b"), Sampling(1)))
        await asyncio.sleep(0.05)
        asker.stop()
        assert [type(e) for e in await asyncio.gather(waiting, return_exceptions=True)] == [Stopped]
        await store.close()
        return model

    assert len(asyncio.run(run()).asked) == 1


def test_a_request_that_is_sent_again_counts_again(tmp_path):
    replies = [Reply(500, b"oops")] * 2
    limit, clock = limiter(requests=60)

    async def run(server: Server) -> None:
        model = open_model(server.model("m"), patience=Patience(attempts=3, first_pause=0.001))
        store = Store(tmp_path / "s.sqlite")
        await Asker(model, store, limiter=limit).ask(prompt("a"), Sampling(10))
        await store.close()
        await model.close()

    with Server(faults=lambda request: replies.pop() if replies else None) as server:
        asyncio.run(run(server))
    assert clock() == 1002
    assert len(server.requests) == 3
