"""The store: committed responses survive concurrent writers and killed processes."""

import asyncio
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from dataclasses import replace

import pytest

from bowstring.errors import StoreError
from bowstring.records import Completion, Message, Prompt, Provenance, Sampling, Trunk, Usage, request_key
from bowstring.runs.store import Response, Store

SAMPLING = Sampling(10, 0.6, seed=1)


def response(n: int, trunk: Trunk) -> Response:
    prompt = Prompt(trunk, (Message("user", (f"question {n}",)),))
    key = request_key("m", prompt, SAMPLING)
    return Response(key, "m", prompt, SAMPLING, Completion(f"answer {n}", "length", "why", Usage(9, 4, 2)))


def put(path, responses) -> None:
    async def run():
        store = Store(path)
        await asyncio.gather(*(store.put(r) for r in responses))
        await store.close()

    asyncio.run(run())


def get(path, key):
    async def run():
        store = Store(path)
        found = store.get(key)
        await store.close()
        return found

    return asyncio.run(run())


def test_what_was_put_is_there_for_the_next_process(tmp_path):
    trunk = Trunk([Message("system", ("s",)), Message("user", ("a", "b"))])
    responses = [response(n, trunk) for n in range(600)]
    put(tmp_path / "s.sqlite", responses)
    assert all(get(tmp_path / "s.sqlite", r.key) == r.completion for r in responses[::97])
    assert get(tmp_path / "s.sqlite", "nothing") is None


def test_it_keeps_where_a_response_came_from(tmp_path):
    made = Provenance(
        address="http://here:1/v1",
        sent='{"temperature": 0.5}',
        raw_finish="eos",
        response_id="r-1",
        engine="llama.cpp",
        precision="Q8_0",
        may_be_thought=True,
    )
    one = response(1, Trunk(()))
    put(tmp_path / "s.sqlite", [replace(one, completion=replace(one.completion, provenance=made), role="judge")])
    found = get(tmp_path / "s.sqlite", one.key).provenance
    assert replace(found, stored_at=0.0) == replace(made, key=one.key, role="judge")
    assert found.as_record() == {
        "role": "judge",
        "key": one.key,
        "sent": {"temperature": 0.5},
        "engine": "llama.cpp",
        "precision": "Q8_0",
        "finish": "eos",
    }


def test_the_first_response_wins_unless_another_is_to_replace_it(tmp_path):
    first = response(1, Trunk(()))
    second = replace(first, completion=Completion("another"))

    async def run():
        store = Store(tmp_path / "s.sqlite")
        found = [(await store.put(one)).text for one in (first, second, replace(second, replaces=True))]
        await store.close()
        return found

    assert asyncio.run(run()) == [first.completion.text, first.completion.text, "another"]
    assert get(tmp_path / "s.sqlite", first.key).text == "another"


def test_a_trunk_is_stored_once(tmp_path):
    trunk = Trunk([Message("user", ("long " * 10_000,))])
    put(tmp_path / "s.sqlite", [response(n, trunk) for n in range(50)])
    with sqlite3.connect(tmp_path / "s.sqlite") as db:
        assert db.execute("SELECT count(*) FROM trunks").fetchone() == (1,)
        assert db.execute("SELECT count(DISTINCT trunk), count(*) FROM responses").fetchone() == (1, 50)

    async def run():
        store = Store(tmp_path / "s.sqlite")
        found = store.trunk(trunk.digest)
        await store.close()
        return found

    assert asyncio.run(run()) == trunk.messages


@pytest.mark.parametrize(
    "change", [{"max_tokens": 11}, {"temperature": 0.7}, {"seed": 2}, {"top_k": 5}, {"top_p": 0.9}]
)
def test_the_key_covers_model_prompt_settings_and_seed(change):
    from dataclasses import replace

    trunk = Trunk([Message("user", ("t",))])
    prompt = Prompt(trunk, (Message("user", ("q",)),))
    key = request_key("m", prompt, SAMPLING)
    assert request_key("m", prompt, replace(SAMPLING, **change)) != key
    assert request_key("n", prompt, SAMPLING) != key
    assert request_key("m", Prompt(trunk, (Message("user", ("r",)),)), SAMPLING) != key
    assert request_key("m", Prompt(Trunk(()), (Message("user", ("tq",)),)), SAMPLING) == key


def test_half_a_surrogate_pair_in_an_answer_does_not_lose_it(tmp_path):
    from dataclasses import replace

    odd = replace(response(1, Trunk(())), completion=Completion("broken \ud83d emoji"))
    put(tmp_path / "s.sqlite", [odd])
    assert get(tmp_path / "s.sqlite", odd.key).text == "broken ? emoji"


def test_two_processes_write_one_store_at_a_time(tmp_path):
    code = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[3])
        from tests.runs.test_store import put, response
        from bowstring.records import Message, Trunk
        for start in range(int(sys.argv[2]), int(sys.argv[2]) + 300, 10):
            trunk = Trunk([Message("user", (f"trunk {start // 100}",))])
            put(Path(sys.argv[1]), [response(n, trunk) for n in range(start, start + 10)])
        """
    )
    path = tmp_path / "s.sqlite"
    here = str(__file__).rsplit("/tests/", 1)[0]
    workers = [subprocess.Popen([sys.executable, "-c", code, path, str(s), here]) for s in (0, 200, 400)]
    assert [w.wait(120) for w in workers] == [0, 0, 0]
    with sqlite3.connect(path) as db:
        found = {row[0] for row in db.execute("SELECT text FROM responses")}
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert found == {f"answer {n}" for n in range(700)}


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "s.sqlite").write_bytes(b"not a database at all, but long enough to be read as one" * 100)
    with pytest.raises(StoreError, match="is not a store: file is not a database"):
        get(tmp_path / "s.sqlite", "x")


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(
    ("table", "named"), [("letters", "a table 'letters'"), ("responses", "responses of another kind")]
)
def test_a_database_of_something_else_is_left_alone(tmp_path, readonly, table, named):
    path = tmp_path / "letters.sqlite"
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE {table} (text TEXT)")
        db.execute(f"INSERT INTO {table} VALUES ('Dear all')")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as refused:
        Store(path, readonly=readonly)
    said = f"{path} is not a store but another database, with {named}; choose another with --store"
    assert str(refused.value) == said
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("readonly", [False, True])
def test_nothing_is_left_beside_a_store_of_another_format(tmp_path, readonly):
    path = tmp_path / "s.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 2")
    with pytest.raises(StoreError, match="has format 2, but this version reads format 3"):
        Store(path, readonly=readonly)
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_file_becomes_a_store(tmp_path):
    """An empty file, or a database without tables, as other tools create them."""
    (tmp_path / "none.sqlite").touch()
    with sqlite3.connect(tmp_path / "bare.sqlite") as db:
        db.execute("PRAGMA user_version = 5")
        db.execute("PRAGMA user_version = 0")
    db.close()
    assert (tmp_path / "bare.sqlite").stat().st_size
    for name in ("none.sqlite", "bare.sqlite"):
        looked_at = Store(tmp_path / name, readonly=True)
        assert looked_at.get("x") is None
        looked_at.close_now()
        put(tmp_path / name, [response(1, Trunk(()))])
        assert get(tmp_path / name, response(1, Trunk(())).key).text == "answer 1"


def test_a_store_of_another_version_is_left_alone(tmp_path):
    put(tmp_path / "s.sqlite", [response(1, Trunk(()))])
    with sqlite3.connect(tmp_path / "s.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="has format 99, but this version reads format 3"):
        get(tmp_path / "s.sqlite", "x")
