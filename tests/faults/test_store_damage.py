"""A damaged store: detected and reported at the next start, moved aside, and salvaged as far as possible.

Each case damages a copy of a store by its seed: cut at some length, a byte flipped or a page overwritten, in the file
or in its log. Whatever is done to it, a response is as it was put or it is missing, and what is missing is said.
"""

import asyncio
import random
import re
import shutil
from pathlib import Path

import pytest

from bowstring.errors import StoreError
from bowstring.records import Completion, Message, Prompt, Sampling, Trunk, Usage, request_key
from bowstring.runs.store import Response, Store
from tests.faults.conftest import LONG

SAMPLING = Sampling(10, 0.6, seed=1)
CASES = 1500 if LONG else 60


def response(n: int) -> Response:
    """Some responses fit into a page, some need several; ten share a trunk."""
    rng = random.Random(n)
    trunk = Trunk([Message("system", ("be kind",)), Message("user", (f"history {n // 10} " * 90,))])
    prompt = Prompt(trunk, (Message("user", (f"question {n}",)),))
    text = " ".join(rng.choice(("plum", "kettle", "ferry", "ß", "日本")) for _ in range(rng.choice((3, 60, 400, 3000))))
    completion = Completion(text, "stop", rng.choice((None, "because")), Usage(rng.randrange(9000), 4, n))
    return Response(request_key("m", prompt, SAMPLING), "m", prompt, SAMPLING, completion)


RESPONSES = {r.key: r.completion for r in map(response, range(120))}


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> tuple[Path, Path]:
    """A closed store, and one whose process was killed, with its last responses in the log."""
    folder = tmp_path_factory.mktemp("stores")
    closed, killed = folder / "closed" / "s.sqlite", folder / "killed" / "s.sqlite"

    async def fill(path: Path, then) -> None:
        store = Store(path)
        for start in range(0, 120, 24):
            await asyncio.gather(*(store.put(response(n)) for n in range(start, start + 24)))
            if start == 48:
                store._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
        then(path)
        await store.close()

    asyncio.run(fill(closed, lambda path: None))
    killed.parent.mkdir(parents=True)
    # As a kill leaves it: copied while it is open.
    asyncio.run(
        fill(
            folder / "open" / "s.sqlite",
            lambda path: shutil.copytree(path.parent, folder / "killed", dirs_exist_ok=True),
        )
    )
    assert killed.with_name("s.sqlite-wal").stat().st_size > 100_000
    return closed, killed


def damage(store: Path, rng: random.Random) -> str:
    """Damage as caused by disks, copies and people."""
    files = [p for p in (store, store.with_name(f"{store.name}-wal")) if p.exists() and p.stat().st_size]
    path = rng.choice(files)
    content = bytearray(path.read_bytes())
    kind = rng.choice(("cut", "flipped", "flipped", "flipped", "overwritten"))
    if kind == "cut":
        del content[rng.choice((0, rng.randrange(len(content)), rng.randrange(len(content)))) :]
    elif kind == "flipped":
        for _ in range(rng.choice((1, 1, 1, 8))):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    else:
        at = rng.randrange(len(content) // 4096 + 1) * 4096
        content[at : at + 4096] = bytes(rng.choice((0, 0xFF)) for _ in content[at : at + 4096])
    path.write_bytes(content)
    return f"{path.suffix} {kind}"


def opened(path: Path) -> tuple[dict[str, Completion], str]:
    """The responses that a run would find, and the message of opening, at most one."""
    said = ""
    try:
        store = Store(path)
    except StoreError as error:
        said = str(error)
        store = Store(path)
    found = {key: c for key in RESPONSES if (c := store.get(key)) is not None}
    store.close_now()
    return found, said


def test_damage_is_found_said_and_what_is_whole_is_saved(stores, tmp_path, record_property):
    tally = {
        "stores damaged": CASES,
        "responses in them": 0,
        "saved": 0,
        "lost, and said so": 0,
        "harmless": 0,
        "refused, and untouched": 0,
    }
    for seed in range(CASES):
        rng = random.Random(seed)
        folder = tmp_path / str(seed)
        shutil.copytree(rng.choice(stores).parent, folder)
        store = folder / "s.sqlite"
        done = damage(store, rng)
        left = {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix in (".sqlite", ".sqlite-wal")}
        try:
            found, said = opened(store)
        except StoreError as refused:
            # One bit of the header says which version wrote it: a file of another version is not touched.
            if "was written by another version" not in str(refused):
                raise
            tally["refused, and untouched"] += 1
            assert {name: (folder / name).read_bytes() for name in left} == left
            continue
        where = f"seed {seed}, {done}: {said}"
        assert all(RESPONSES[key] == completion for key, completion in found.items()), f"{where}: invented"
        if said:
            assert len(said.splitlines()) == 1
            saved = re.search(r"was damaged \(.+\): (\d+) responses were saved", said)
            assert saved, where
            assert int(saved[1]) == len(found), where
            assert "run the same command again to resume and request the missing ones" in said
            kept = re.search(r"kept as (\S+);", said)[1]
            assert (folder / kept).read_bytes() == left["s.sqlite"], f"{where}: the damaged file is kept as it is"
            if left.get("s.sqlite-wal"):
                assert (folder / f"{kept}-wal").read_bytes() == left["s.sqlite-wal"]
        else:
            assert found == RESPONSES, f"{where}: {len(RESPONSES) - len(found)} lost without a word"
            tally["harmless"] += 1
        tally["responses in them"] += len(RESPONSES)
        tally["saved"] += len(found)
        tally["lost, and said so"] += len(RESPONSES) - len(found)
        shutil.rmtree(folder)
    record_property("tally", tally | {"lost": 0, "invented": 0})
    assert tally["saved"] > 0.8 * tally["responses in them"]
    assert tally["harmless"] < 0.5 * CASES, "most damage must be found"


def test_a_mending_that_is_broken_off_loses_nothing(stores, tmp_path, monkeypatch):
    """Killed after the log was moved aside and before the new file replaced the old one."""
    shutil.copytree(stores[1].parent, tmp_path / "s")
    store = tmp_path / "s" / "s.sqlite"
    log = store.with_name("s.sqlite-wal")
    log.write_bytes(log.read_bytes()[: 32 + 20 * (4096 + 24)])
    shutil.copytree(tmp_path / "s", tmp_path / "t")
    replace = Path.replace

    def until_then(self, to):
        if to == store:
            raise KeyboardInterrupt
        return replace(self, to)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", until_then)
        with pytest.raises(KeyboardInterrupt):
            Store(store)
    assert not log.exists()
    found, said = opened(store)
    assert "was damaged" in said
    assert found == opened(tmp_path / "t" / "s.sqlite")[0], "as many as without the break"


def test_a_store_that_others_have_open_is_not_mended_under_them(stores, tmp_path):
    shutil.copytree(stores[0].parent, tmp_path / "s")
    path = tmp_path / "s" / "s.sqlite"
    first = Store(path)
    content = bytearray(path.read_bytes())
    content[: 4096 * 40] = bytes(4096 * 40)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged, and another process has it open: wait for it"):
        Store(path)
    first.close_now()
    assert "was damaged" in opened(path)[1]


def linked(stores, tmp_path) -> tuple[Path, Path, Path]:
    """A store whose process was killed, and links to it in two folders, one by way of the other."""
    shutil.copytree(stores[1].parent, tmp_path / "real")
    links = tmp_path / "one" / "responses.sqlite", tmp_path / "two" / "responses.sqlite"
    for link, target in zip(links, ("../real/s.sqlite", "../one/responses.sqlite"), strict=True):
        link.parent.mkdir()
        link.symlink_to(target)
    return tmp_path / "real" / "s.sqlite", *links


def test_what_links_lead_to_is_mended_and_not_the_links(stores, tmp_path):
    store, one, two = linked(stores, tmp_path)
    log = store.with_name("s.sqlite-wal")
    log.write_bytes(log.read_bytes()[: 32 + 20 * (4096 + 24)])
    left = store.read_bytes(), log.read_bytes()
    found, said = opened(two)
    assert f"{store} was damaged" in said
    assert one.is_symlink()
    assert two.is_symlink()
    assert {p.name for folder in (one.parent, two.parent) for p in folder.iterdir()} == {"responses.sqlite"}
    aside = store.with_name("s.sqlite.damaged-1")
    assert not aside.is_symlink()
    assert (aside.read_bytes(), aside.with_name(f"{aside.name}-wal").read_bytes()) == left
    assert 0 < len(found) < len(RESPONSES)
    assert opened(store) == (found, "") == opened(one)


def test_whoever_comes_by_another_link_has_the_same_store_open(stores, tmp_path):
    store, one, two = linked(stores, tmp_path)
    first = Store(one)
    content = bytearray(store.read_bytes())
    content[: 4096 * 40] = bytes(4096 * 40)
    store.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged, and another process has it open: wait for it"):
        Store(two)
    first.close_now()


def test_a_link_to_a_store_that_is_not_there_yet_makes_it(tmp_path):
    link = tmp_path / "responses.sqlite"
    link.symlink_to(tmp_path / "elsewhere" / "s.sqlite")
    Store(link).close_now()
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "s.sqlite.seal").exists()


def test_a_store_that_came_without_its_seal_gets_one_when_it_is_opened(stores, tmp_path):
    """So that a truncated log is detected, even before anything new is stored."""
    shutil.copytree(stores[1].parent, tmp_path / "s")
    path = tmp_path / "s" / "s.sqlite"
    path.with_name("s.sqlite.seal").unlink()
    store = Store(path)
    shutil.copytree(tmp_path / "s", tmp_path / "killed")
    store.close_now()
    log = tmp_path / "killed" / "s.sqlite-wal"
    log.write_bytes(log.read_bytes()[: 32 + 20 * (4096 + 24)])
    found, said = opened(tmp_path / "killed" / "s.sqlite")
    assert re.search(r"was damaged \(the last \d+ responses written are missing\)", said), said
    assert len(found) < len(RESPONSES)


@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_that_never_was_a_store_is_left_alone(tmp_path, readonly):
    path = tmp_path / "letters.txt"
    path.write_bytes(b"Dear all, " * 2000)
    with pytest.raises(StoreError, match="is not a store: file is not a database; choose another with --store"):
        Store(path, readonly=readonly)
    assert path.read_bytes() == b"Dear all, " * 2000
    assert list(tmp_path.iterdir()) == [path]
