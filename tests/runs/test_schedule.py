"""The first branch of a trunk is sent alone; the others follow, ahead of later trunks."""

import asyncio

import pytest

from bowstring.models.interface import Place
from bowstring.records import Message, Trunk
from bowstring.runs.schedule import Schedule


def trunk(name: str, branches: int) -> Trunk:
    return Trunk([Message("user", (name,))], branches=branches)


@pytest.mark.parametrize("branches", [2, 4])
def test_the_others_wait_for_the_first_answer_of_their_trunk(branches):
    async def run():
        schedule, events = Schedule(10), []
        shared = trunk("a", branches)

        async def branch(n: int) -> None:
            async with schedule.turn(shared) as turn:
                events.append(("start", n, turn.follows))
                for _ in range(100):  # turns of the loop: whoever may start has started by then
                    await asyncio.sleep(0)
                turn.warms = True
                events.append(("end", n, turn.follows))

        await asyncio.gather(*(branch(n) for n in range(branches)))
        return events

    events = asyncio.run(run())
    assert events[:2] == [("start", 0, False), ("end", 0, False)]
    assert [e[0] for e in events[2 : branches + 1]] == ["start"] * (branches - 1), "then all of them at once"
    assert all(follows for _, _, follows in events[2:])


def test_what_shares_nothing_waits_for_nobody():
    async def run():
        schedule, events = Schedule(10), []

        async def branch() -> None:
            async with schedule.turn(trunk("a", 1)) as turn:
                events.append(("start", turn.follows))
                for _ in range(100):
                    await asyncio.sleep(0)
                events.append(("end", turn.follows))

        await asyncio.gather(branch(), branch())
        return events

    assert asyncio.run(run()) == [("start", False)] * 2 + [("end", False)] * 2


def test_if_the_first_fails_the_next_goes_alone():
    async def run():
        schedule, order = Schedule(10), []
        shared = trunk("a", 3)

        async def branch(n: int) -> None:
            async with schedule.turn(shared) as turn:
                order.append((n, turn.follows))
                await asyncio.sleep(0)
                turn.warms = n == 1

        await asyncio.gather(*(branch(n) for n in range(3)))
        return order

    assert asyncio.run(run()) == [(0, False), (1, False), (2, True)]


def test_followers_of_an_open_trunk_come_before_new_trunks():
    async def run():
        schedule, order = Schedule(1), []
        trunks = [trunk(name, 3) for name in "abc"]

        async def branch(at: Trunk, name: str) -> None:
            async with schedule.turn(at) as turn:
                order.append(name)
                await asyncio.sleep(0)
                turn.warms = True

        await asyncio.gather(*(branch(t, n) for t, n in zip(trunks, "abc", strict=True) for _ in range(3)))
        return "".join(order)

    # One place only, and still every trunk's branches stand together.
    assert asyncio.run(run()) == "aaabbbccc"


def test_no_more_than_so_many_at_a_time_even_when_some_are_cancelled():
    async def run():
        schedule = Schedule(3)
        active = most = 0

        async def branch(n: int) -> None:
            nonlocal active, most
            async with schedule.turn(trunk(str(n % 5), 5)) as turn:
                active += 1
                most = max(most, active)
                try:
                    await asyncio.sleep(0.002)
                    turn.warms = True
                finally:
                    active -= 1

        tasks = [asyncio.create_task(branch(n)) for n in range(40)]
        await asyncio.sleep(0.003)
        for task in tasks[5:35:3]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with schedule.turn(trunk("after", 1)):
            return most

    assert asyncio.run(asyncio.wait_for(run(), 300)) <= 3


def place_of(trunk_at: dict[str, Place], name: str):
    return lambda: trunk_at[name]


def test_a_full_server_delays_nobody_elsewhere():
    async def run():
        schedule, ended = Schedule(2), []
        full, free = Place("full"), Place("free")
        open_it = asyncio.Event()

        async def request(n: int, place: Place) -> None:
            async with schedule.turn(trunk(f"{place.server}{n}", 1), lambda: place):
                if place is full:
                    await open_it.wait()
                ended.append(place.server)

        stuck = [asyncio.create_task(request(n, full)) for n in range(10)]
        await asyncio.gather(*(request(n, free) for n in range(10)))
        assert ended == ["free"] * 10
        open_it.set()
        await asyncio.gather(*stuck)

    asyncio.run(asyncio.wait_for(run(), 300))


def test_what_waits_moves_with_its_trunk_and_one_branch_goes_first_there():
    """The server fails while a branch leads: the others must not wait for it, nor all go on at once elsewhere."""

    async def run():
        schedule, events = Schedule(10), []
        at = {"a": Place("one")}
        shared, failed = trunk("a", 4), asyncio.Event()

        async def branch(n: int) -> None:
            while True:
                async with schedule.turn(shared, place_of(at, "a")) as turn:
                    events.append((turn.place.server, n, turn.follows))
                    if turn.place.server == "one":
                        await failed.wait()
                        continue
                    for _ in range(100):
                        await asyncio.sleep(0)
                    turn.warms = True
                    events.append(("end", n, turn.follows))
                    return

        tasks = [asyncio.create_task(branch(n)) for n in range(4)]
        for _ in range(100):
            await asyncio.sleep(0)
        at["a"] = Place("two")
        schedule.rearrange()
        for _ in range(10):
            await asyncio.sleep(0)
        assert events == [("one", 0, False), ("two", 1, False)], "while the first is still in flight"
        failed.set()
        await asyncio.gather(*tasks)
        return events

    events = asyncio.run(asyncio.wait_for(run(), 300))
    assert events[2] == ("end", 1, False)
    assert {event for event in events if event[0] == "two" and event[2]} == {("two", n, True) for n in (0, 2, 3)}


def test_what_moves_back_and_forth_while_it_waits_is_sent_in_the_end():
    """Its server is full; it is the first of its trunk at each place in turn."""

    async def run():
        schedule, at = Schedule(1), {"a": Place("one"), "b": Place("two")}
        done, busy = [], asyncio.Event()

        async def request(name: str) -> None:
            async with schedule.turn(trunk(name, 3), place_of(at, name)) as turn:
                if name == "b":
                    await busy.wait()
                turn.warms = True
                done.append((name, turn.place.server))

        holds = asyncio.create_task(request("b"))
        await asyncio.sleep(0)
        at["a"] = Place("two")
        waits = asyncio.create_task(request("a"))
        await asyncio.sleep(0)
        holds_one = asyncio.Event()

        async def hold_one() -> None:
            async with schedule.turn(trunk("c", 1), lambda: Place("one")):
                await holds_one.wait()

        holds_too = asyncio.create_task(hold_one())
        await asyncio.sleep(0)
        for server in ("one", "two"):
            at["a"] = Place(server)
            schedule.rearrange()
        busy.set()
        await asyncio.gather(holds, waits)
        holds_one.set()
        await holds_too
        return done

    assert asyncio.run(asyncio.wait_for(run(), 10)) == [("b", "two"), ("a", "two")]


def test_a_server_that_returns_is_cold():
    async def run():
        schedule, at = Schedule(10), {"a": Place("one")}
        follows = []
        for place in (Place("one"), Place("one"), Place("two", 0), Place("one", 1), Place("one", 1)):
            at["a"] = place
            async with schedule.turn(trunk("a", 9), place_of(at, "a")) as turn:
                follows.append(turn.follows)
                turn.warms = True
        return follows

    assert asyncio.run(run()) == [False, True, False, False, True]
