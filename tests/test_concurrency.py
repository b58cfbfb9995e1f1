"""Running a coroutine from code that is not asynchronous, whether or not an event loop is running."""

import asyncio
import threading

import pytest

from bowstring.concurrency import run_anywhere


def nothing() -> None:
    """What an interrupt would do."""


async def thread_name() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_it_runs_on_this_thread_where_no_loop_is_running():
    assert run_anywhere(thread_name, nothing) == threading.current_thread().name


def test_it_runs_on_another_thread_inside_a_running_loop():
    async def notebook() -> str:
        return run_anywhere(thread_name, nothing)

    assert asyncio.run(notebook()) != threading.current_thread().name


def test_errors_are_raised_where_it_was_called():
    async def fails() -> None:
        raise ValueError("no")

    async def notebook() -> None:
        run_anywhere(fails, nothing)

    with pytest.raises(ValueError, match="no"):
        asyncio.run(notebook())


def test_an_interrupt_reaches_the_coroutine_on_the_other_thread(monkeypatch):
    """Ctrl-C interrupts the join of the thread; what is called then runs in the coroutine's loop."""
    stopped: list[asyncio.Event] = []
    started = threading.Event()
    join = threading.Thread.join

    async def main() -> str:
        stopped.append(asyncio.Event())
        started.set()
        await stopped[0].wait()
        return "stopped"

    def interrupted(thread: threading.Thread, timeout: float | None = None) -> None:
        monkeypatch.setattr(threading.Thread, "join", join)
        assert started.wait(10)
        raise KeyboardInterrupt

    async def notebook() -> str:
        monkeypatch.setattr(threading.Thread, "join", interrupted)
        return run_anywhere(main, lambda: stopped[0].set())

    assert asyncio.run(notebook()) == "stopped"
