"""Leases: a request is sent by one owner at a time, and by another one only if the owner cannot be alive."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from types import SimpleNamespace

import pytest

from bowstring.runs import leases
from bowstring.runs.leases import Leases


def change_owner(store, **columns) -> None:
    """Let all owners be others than they are."""
    with closing(sqlite3.connect(f"{store}.leases")) as db, db:
        for name, value in columns.items():
            db.execute(f"UPDATE owners SET {name} = ?", (value,))


@pytest.fixture
def store(tmp_path):
    return tmp_path / "responses.sqlite"


def test_a_request_belongs_to_whoever_took_it_until_it_is_free(store):
    async def two():
        first, second = Leases(store), Leases(store)
        assert first.take("a")
        assert first.take("a"), "its own"
        assert not second.take("a")
        assert second.take("b")
        second.free("a")
        assert not second.take("a"), "only its owner can free it"
        waiting = asyncio.create_task(second.wait("a", 300))
        await asyncio.sleep(0)
        assert not waiting.done()
        first.free("a")
        assert await waiting
        assert second.take("a")
        first.close()
        second.close()

    asyncio.run(two())


def test_what_an_owner_held_is_free_when_it_closes(store):
    async def two():
        first, second = Leases(store), Leases(store)
        assert first.take("a")
        assert not second.take("a")
        first.close()
        assert second.take("a")
        second.close()

    asyncio.run(two())


@pytest.mark.parametrize(
    ("columns", "free"),
    [
        ({"host": "another", "until": time.time() + 86_400}, False),
        ({"host": "another", "until": time.time() - 1}, True),
        ({"pid": "ended", "until": time.time() + 86_400}, True),
        ({"host": "another", "pid": "ended", "until": time.time() + 86_400}, False),
    ],
)
def test_an_owner_is_alive_by_its_number_here_and_by_what_it_said_elsewhere(store, columns, free):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    async def two():
        first, second = Leases(store), Leases(store)
        assert first.take("a")
        change_owner(store, **(columns | ({"pid": ended.pid} if "pid" in columns else {})))
        assert second.take("a") == free
        first.close()
        second.close()

    asyncio.run(two())


def test_an_owner_elsewhere_whose_clock_is_ahead_counts_while_it_renews_its_lease(store, monkeypatch):
    now = time.monotonic()
    monkeypatch.setattr(leases, "time", SimpleNamespace(time=time.time, monotonic=lambda: now))
    ahead = time.time() + 3600

    async def two():
        nonlocal now
        first, second = Leases(store), Leases(store)
        assert first.take("a")
        first._renewing.cancel()  # it is killed
        for n in range(3):
            change_owner(store, host="another", until=ahead + n)
            assert not second.take("a")
            now += leases.LASTS - 1
            assert not second.take("a")
        now += 1
        assert await second.wait("a", 10)
        assert second.take("a")
        first.close()
        second.close()

    asyncio.run(two())


def test_where_leases_cannot_be_kept_everything_may_be_sent(store):
    store.with_name(f"{store.name}.leases").mkdir()

    async def both():
        for one in (Leases(store), Leases(None)):
            assert one.take("a")
            one.free("a")
            one.close()

    asyncio.run(both())
