"""Where the answers of an item came from: the viewer on a store that a real run has filled."""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from bowstring.runs.rows import COLUMNS, row_checksum
from tests.e2e.test_eval import command, records
from tests.support.command import bowstring
from tests.support.run_files import without_sums
from tests.support.schemas import as_asked_for, asking_for_lines
from tests.support.server import Reply, Request, Server, digest_answer
from tests.support.viewer import Viewer, opened

NAME = "responses.sqlite"
EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"
SUMMARY = "Where the answers came from"
NO_RESPONSE = "The store has no such response. It was removed, or the run used another store (--store PATH)."
NOT_SHOWN = "Address, response id and time are not shown: "
OF_STORE = ("address", "response id", "time stored")

ENDLESS = f"""
ALTER TABLE responses RENAME TO others;
CREATE VIEW Responses AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n)
SELECT {", ".join(f"x AS {name}" for name in COLUMNS)} FROM n;
"""


def with_id(request: Request) -> Reply:
    """An answer with an id and a finish of its own, as a server gives them."""
    body = request.body
    said = as_asked_for(digest_answer(asking_for_lines(body["messages"], body), body), body)
    choice = {
        "message": {"role": "assistant", "content": said},
        "finish_reason": "stop_sequence" if body["model"] == "m" else "stop",
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return Reply(body=json.dumps({"id": f"id-of-{body['model']}", "choices": [choice], "usage": usage}).encode())


@dataclass
class Filled:
    """A folder with the run `r` and its store."""

    folder: Path
    url: str

    @property
    def store(self) -> Path:
        return self.folder / NAME

    @property
    def record(self) -> dict:
        return records(self.folder / "r")[0]

    @property
    def sources(self) -> list[dict]:
        """Those of the first item: its answer, its judgement."""
        return sorted(self.record["sources"], key=lambda source: source["role"], reverse=True)

    def shown(self, store: Path | None = None, run: str = "r") -> dict:
        """What the viewer says of the first item."""
        with Viewer(self.folder, store) as seen:
            return seen.get(f"/run/{run}", params={"item": self.record["key"]}).json()

    def change(self, **values: object) -> None:
        """Change the rows of the first item, with a checksum that fits."""
        with closing(sqlite3.connect(self.store)) as db, db:
            for source in self.sources:
                (row,) = db.execute("SELECT * FROM responses WHERE key = ?", (source["key"],))
                found = dict(zip(COLUMNS, row, strict=True)) | values
                found["hash"] = row_checksum([found[name] for name in COLUMNS[:-1]])
                marks = ", ".join("?" * len(COLUMNS))
                db.execute(f"REPLACE INTO responses VALUES ({marks})", [found[name] for name in COLUMNS])

    def edit(self, name: str, **values: object) -> None:
        path = without_sums(self.folder / "r") / name
        first, *rest = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([json.dumps(json.loads(first) | values), *rest, ""]), encoding="utf-8")


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("filled")
    with Server(faults=with_id) as server:
        ran = bowstring(*command(server, folder / "r", "--limit", "4"))
        assert ran.code == 0, ran.err
        yield Filled(folder, server.url)


@pytest.fixture
def filled(original, tmp_path) -> Filled:
    """A copy that a test may change."""
    shutil.copytree(original.folder, tmp_path / "filled")
    return Filled(tmp_path / "filled", original.url)


def lines(shown: dict) -> list[dict[str, str]]:
    return [dict(source["lines"]) for source in shown["sources"]]


def open_sources(page, link: str):
    """Open the first item and its sources; return that element."""
    page.goto(link)
    page.locator("#items > details > summary").first.click()
    sources = page.locator("#items > details").first.locator("details.sources")
    expect(sources).not_to_have_attribute("open", "")
    assert sources.locator("dl").count() == 0, "nothing is loaded before it is opened"
    sources.get_by_text(SUMMARY).click()
    expect(sources.locator("p, dl").first).to_be_visible()
    return sources


def run_link(seen: Viewer) -> str:
    return seen.link.replace("/?", "/run/r?")


def test_a_reader_opens_where_the_answers_of_an_item_came_from(browser, filled):
    with Viewer(filled.folder) as seen, opened(browser) as (page, errors):
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        sources = open_sources(page, run_link(seen))
        found = [
            dict(zip(one.locator("dt").all_text_contents(), one.locator("dd").all_text_contents(), strict=True))
            for one in sources.locator("dl").all()
        ]
        assert sources.locator("p").count() == 0
        assert [url for url in asked if "?item=" in url] == asked[-1:]
        assert errors == []
    for one, source in zip(found, filled.sources, strict=True):
        name = {"model": "m", "judge": "judge"}[source["role"]]
        stored = one.pop("time stored")
        assert time.time() - 3600 < datetime.fromisoformat(stored).timestamp() <= time.time()
        assert json.loads(one.pop("settings sent")) == source["sent"]
        assert one == {
            "role": source["role"],
            "model": f"openai/{name}@{filled.url}",
            "address": filled.url,
            "response id": f"id-of-{name}",
            "finish": source["finish"],
            "store key": source["key"],
        }
    assert [one["finish"] for one in found] == ["stop_sequence", "stop"]


def test_the_page_in_a_folder_has_no_sources(browser, filled):
    with opened(browser) as (page, errors):
        page.goto((filled.folder / "r" / "report.html").as_uri())
        page.locator("#items > details > summary").first.click()
        expect(page.locator("#items > details dl").first).to_be_visible()
        assert page.get_by_text(SUMMARY).count() == 0
        assert errors == []
    assert "connect-src" not in (filled.folder / "r" / "report.html").read_text(encoding="utf-8")


def test_without_the_store_the_record_is_shown(browser, filled):
    (moved := filled.folder.parent / "moved").mkdir()
    for path in filled.folder.glob(f"{NAME}*"):
        path.rename(moved / path.name)
    with Viewer(filled.folder) as seen, opened(browser) as (page, errors):
        sources = open_sources(page, run_link(seen))
        expect(sources.locator("p")).to_contain_text(f"{NOT_SHOWN}{NAME}: no such store; give one with --store PATH.")
        expect(sources.locator("dl")).to_have_count(2)
        assert errors == []
    shown = filled.shown()
    for one, source in zip(lines(shown), filled.sources, strict=True):
        assert not set(OF_STORE) & set(one)
        assert (one["role"], one["finish"], one["store key"]) == (source["role"], source["finish"], source["key"])
        assert one["model"].endswith(filled.url), "the configuration has it"
    assert list(filled.folder.glob(f"{NAME}*")) == [], "a viewer makes no store"
    assert all(set(OF_STORE) < set(one) for one in lines(filled.shown(moved / NAME)))


def test_a_response_that_was_dropped_is_said_to_be_missing(browser, filled):
    _, key = (source["key"] for source in filled.sources)
    assert bowstring("store", "drop", "--key", key, "--store", filled.store).code == 0
    with Viewer(filled.folder) as seen, opened(browser) as (page, errors):
        sources = open_sources(page, run_link(seen))
        expect(sources.locator("p")).to_contain_text([NO_RESPONSE])
        assert errors == []
    answered, judged = lines(filled.shown())
    assert set(OF_STORE) < set(answered)
    assert not set(OF_STORE) & set(judged)
    assert judged["store key"] == key


def test_hostile_values_are_text_without_passwords(browser, filled):
    key = filled.record["key"] + EVIL + "\u202e&item=x#"
    filled.change(address=f"http://me:secret@host/{EVIL}", response_id=f"{EVIL}\u202e", model=EVIL * 1000)
    sources = [source | {"sent": {EVIL: EVIL}, "finish": {EVIL: [EVIL]}} for source in filled.sources]
    filled.edit("records.jsonl", key=key, sources=[*sources, EVIL, {}, {"key": ["x"], "role": [EVIL], "engine": 3}])
    with Viewer(filled.folder) as seen, opened(browser) as (page, errors):
        sources = open_sources(page, run_link(seen))
        expect(sources.locator("dl")).to_have_count(4)
        said = sources.text_content()
        assert page.locator("img").count() == 0
        assert errors == []
    assert f"http://…@host/{EVIL}" in said
    assert f"{EVIL}\\u202e" in said
    assert "secret" not in said
    assert EVIL * 100 not in said, "a long value is cut"
    assert json.dumps({EVIL: [EVIL]}) in said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"address": b"x"}, "a response cannot be read: its address is of type bytes"),
        ({"stored_at": "noon"}, "a response cannot be read: its stored_at is of type str"),
    ],
)
def test_values_of_other_types_are_a_message(filled, values, said):
    filled.change(**values)
    shown = filled.shown()
    assert shown["note"].startswith(f"{NOT_SHOWN}{said}.")
    assert len(lines(shown)) == 2


def test_engine_and_precision_are_shown_where_they_are_known(filled):
    filled.change(engine="vllm 0.9", precision="bfloat16")
    assert [(one["engine"], one["precision"]) for one in lines(filled.shown())] == [("vllm 0.9", "bfloat16")] * 2
    sources = [source | {"engine": "xllamacpp 1", "precision": "q4"} for source in filled.sources]
    filled.edit("records.jsonl", sources=sources)
    assert [(one["engine"], one["precision"]) for one in lines(filled.shown())] == [("xllamacpp 1", "q4")] * 2


def test_a_response_that_was_replaced_meanwhile_is_not_shown_as_the_one_that_was_used(filled):
    filled.change(text="another answer", response_id="another")
    shown = filled.shown()
    assert "another" not in json.dumps([source["lines"] for source in shown["sources"]])
    for source in shown["sources"]:
        assert source["note"].startswith("The store has another response to this request, stored ")


def test_a_newer_response_is_not_shown_as_the_one_that_was_used(filled):
    filled.change(stored_at=time.time() + 86400, response_id="another")
    shown = filled.shown()
    assert "another" not in json.dumps(shown)
    for source in shown["sources"]:
        assert source["note"].startswith("The store has a newer response to this request, stored ")
        assert not set(OF_STORE) & set(dict(source["lines"]))


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("PRAGMA user_version = 2", f"{NAME} has format 2, but this version reads format 3"),
        ("UPDATE responses SET text = 'forged'", f"{NAME} is damaged: a response fails its checksum"),
        ("DELETE FROM written", f"{NAME} is damaged: the number of its responses is missing"),
        ("UPDATE written SET n = 'many'", f"{NAME} is damaged: the number of its responses is missing"),
        (ENDLESS, f"{NAME} is not a store but another database, with a view 'Responses' of another kind"),
    ],
)
def test_a_store_that_cannot_be_used_is_left_as_it_is(filled, statement, said):
    with closing(sqlite3.connect(filled.store)) as db, db:
        db.executescript(statement)
    before = filled.store.read_bytes()
    shown = filled.shown()
    assert shown["note"].startswith(NOT_SHOWN + said)
    assert len(lines(shown)) == 2
    assert filled.store.read_bytes() == before


def test_a_store_in_use_is_read_and_a_locked_one_is_not_waited_for_long(filled):
    with closing(sqlite3.connect(filled.store, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert all(set(OF_STORE) < set(one) for one in lines(filled.shown())), "a run is writing"
        db.execute("ROLLBACK")
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("BEGIN EXCLUSIVE")
        started = time.monotonic()
        shown = filled.shown()
        assert time.monotonic() - started < 30
    assert "database is locked" in shown["note"]
    assert len(lines(shown)) == 2


def test_a_store_that_run_json_names_is_not_opened_unless_the_user_names_it(filled, tmp_path):
    """A run's folder from a stranger must not make the viewer open a path."""
    secret = tmp_path / "secret" / NAME
    secret.parent.mkdir()
    for path in filled.folder.glob(f"{NAME}*"):
        path.rename(secret.parent / path.name)
    filled.edit("run.json", store=str(secret), options={"store": str(secret)})
    shown = filled.shown()
    assert shown["note"].endswith(f" By its run.json, this run used the store {secret}.")
    assert not any(set(OF_STORE) & set(one) for one in lines(shown))
    assert all(set(OF_STORE) < set(one) for one in lines(filled.shown(secret)))


@pytest.mark.parametrize("end", ["", ".seal", "-wal"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_not_a_regular_file_beside_a_run_is_not_opened(filled, tmp_path, end, kind):
    path = filled.folder / f"{NAME}{end}"
    if path.exists():
        path.rename(tmp_path / "elsewhere")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path)
    shown = filled.shown()
    assert shown["note"].startswith(f"{NOT_SHOWN}{NAME}{end} is not a regular file")
    assert len(lines(shown)) == 2


def test_a_run_that_is_a_link_has_no_sources(filled, tmp_path):
    (filled.folder / "r").rename(tmp_path / "elsewhere")
    key = records(tmp_path / "elsewhere")[0]["key"]
    (filled.folder / "r").symlink_to(tmp_path / "elsewhere")
    with Viewer(filled.folder) as seen:
        assert seen.get("/run/r", params={"item": key}).status_code == 404


def test_the_user_may_name_a_link(filled, tmp_path):
    (tmp_path / "link.sqlite").symlink_to(filled.store)
    assert all(set(OF_STORE) < set(one) for one in lines(filled.shown(tmp_path / "link.sqlite")))


def test_the_runs_of_a_sweep_have_the_store_beside_it(filled):
    sweep = filled.folder / "sweep"
    shutil.copytree(filled.folder / "r", sweep / "point")
    shown = filled.shown(run="sweep/point")
    assert all(set(OF_STORE) < set(one) for one in lines(shown))


def test_only_the_page_of_a_run_may_load_from_its_server(made_runs):
    with Viewer(made_runs) as seen:
        policies = {
            path: seen.get(path).headers["content-security-policy"]
            for path in ("/run/gold", "/run/sweep", "/compare?run=gold&run=general")
        }
    assert [path for path, policy in policies.items() if "connect-src" in policy] == ["/run/gold"]


def test_what_has_no_sources_says_so(filled):
    with Viewer(filled.folder) as seen:
        missing = seen.get("/run/r", params={"item": "no such item"})
        assert (missing.status_code, missing.json()["sources"]) == (404, [])
        assert seen.get("/run/nothing", params={"item": "x"}).status_code == 404
        key = filled.record["key"]
        filled.edit("records.jsonl", sources=None)
        assert seen.get("/run/r", params={"item": key}).json() == {
            "sources": [],
            "note": "The record of this item has no sources.",
        }
        (filled.folder / "r" / "records.jsonl").write_text("x")
        assert seen.get("/run/r", params={"item": key}).json()["note"].startswith("records.jsonl cannot be read: ")


def test_a_store_that_is_not_there_is_an_error_of_the_command(filled):
    ran = bowstring("view", filled.folder, "--store", filled.folder / "none.sqlite")
    assert (ran.code, ran.err) == (2, f"{filled.folder / 'none.sqlite'}: no such store; give one with --store PATH\n")
