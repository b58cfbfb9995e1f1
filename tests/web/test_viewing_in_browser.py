"""The viewer as people use it: in a real browser, by mouse, by keyboard, without JavaScript; a run in progress."""

import json
import math
import re
import shutil
import signal

import pytest
from playwright.sync_api import expect

from bowstring.files.escaping import escape_control_characters
from tests.support.processes import LIMIT, start, wait_until
from tests.support.server import Server
from tests.support.viewer import Viewer, copied, opened

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"
NAMES = ["<img src=x onerror=alert(3)>", "a b?c#d%2F&e=f\"'", "\u202egnp.\u2066exe", "雪 ünï"]


@pytest.fixture(scope="module")
def seen(made_runs):
    with Viewer(made_runs) as found:
        yield found


@pytest.fixture
def runs(made_runs, tmp_path):
    """A copy, to be changed."""
    shutil.copytree(made_runs, tmp_path / "runs")
    return tmp_path / "runs"


def focused(page):
    return page.evaluate("document.activeElement.closest('tr')?.dataset.run ?? document.activeElement.id")


def test_list_open_and_back(browser, seen):
    with opened(browser) as (page, errors):
        page.goto(seen.link)
        assert "token" not in page.url
        expect(page.locator("tbody tr")).to_have_count(6)
        page.get_by_role("link", name="gold", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("baseline/gold")
        page.get_by_role("link", name="All runs").click()
        page.get_by_role("link", name="sweep", exact=True).click()
        page.get_by_role("link", name="none", exact=True).click()
        assert page.url == f"{seen.url}/run/sweep/none"
        expect(page.get_by_role("heading", level=1)).to_contain_text("baseline/gold")
        assert errors == []


@pytest.mark.parametrize("javascript", [True, False])
def test_filter_sort_mark_and_compare(browser, seen, javascript):
    with opened(browser, java_script_enabled=javascript) as (page, errors):
        page.goto(seen.link)
        page.get_by_role("searchbox").fill("hicupid full")
        page.get_by_role("button", name="Filter", exact=True).click()
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(2)
        page.get_by_role("columnheader", name="score").get_by_role("link").click()
        expect(page.get_by_role("columnheader", name="score")).to_have_attribute("aria-sort", "descending")
        expect(page.get_by_role("searchbox")).to_have_value("hicupid full")
        expect(rows.first).to_contain_text("gold")
        page.get_by_role("columnheader", name="score").get_by_role("link").click()
        expect(rows.first).to_contain_text("general")
        for box in page.get_by_role("checkbox").all():
            if box.is_visible():
                box.check()
        page.get_by_role("button", name="Compare selected").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("2 runs compared")
        assert re.search(r"/compare\?run=general&run=gold$", page.url)
        assert errors == []


def test_everything_by_keys(browser, seen):
    with opened(browser) as (page, errors):
        page.goto(f"{seen.link}&sort=name")
        keys = page.keyboard
        keys.press("j")
        assert focused(page) == "general"
        keys.press("ArrowDown")
        assert focused(page) == "gold"
        keys.press("x")
        keys.press("k")
        keys.press("x")
        assert page.locator("input[name=run]:checked").count() == 2
        keys.press("k")
        assert focused(page) == "general"
        keys.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        keys.press("j")
        keys.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        assert focused(page) == "general"
        keys.press("/")
        assert focused(page) == "q"
        keys.type("xjk?c")
        expect(page.get_by_role("searchbox")).to_have_value("xjk?c")
        keys.press("Escape")
        keys.press("c")
        expect(page.get_by_role("heading", level=1)).to_contain_text("2 runs compared")
        page.go_back()
        keys.press("j")
        keys.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("baseline/general")
        assert errors == []


def test_single_keys_can_be_switched_off(browser, seen):
    with opened(browser) as (page, _):
        page.goto(seen.link)
        page.get_by_role("button", name="Keys").click()
        page.get_by_label("enable single-key shortcuts").uncheck()
        page.get_by_role("button", name="Close").click()
        page.reload()
        page.locator("a.open").first.focus()
        page.keyboard.press("x")
        page.keyboard.press("/")
        assert page.locator("input[name=run]:checked").count() == 0
        assert focused(page) != "q"
        page.keyboard.press("ArrowDown")
        assert focused(page) == page.locator("tbody tr").nth(1).get_attribute("data-run")


def test_tab_reaches_everything_in_order_and_the_first_is_the_way_past(browser, seen):
    with opened(browser) as (page, _):
        page.goto(seen.link)
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.name"))
        assert reached[0] == "Skip to the content"
        for wanted in ("q", "Filter", "Compare selected", "score", "run", "gold", "sweep/none"):
            assert wanted in reached
        outlined = page.evaluate("""() => {
            document.querySelector("a.open").focus();
            return getComputedStyle(document.querySelector("a.open")).outlineStyle; }""")
        assert outlined == "solid"


def test_those_who_listen_hear_a_table(browser, seen):
    for width in (1280, 390):
        with opened(browser, viewport={"width": width, "height": 800}) as (page, _):
            page.goto(seen.link)
            heard = page.locator("main").aria_snapshot()
            assert re.search(r"- table \"Runs and sweeps, by when, descending", heard)
            assert "- rowheader" in heard
            assert re.search(r"- columnheader \"score\"", heard)
            assert re.search(r"- checkbox \"select gold\"", heard)
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_hostile_names_and_contents_are_text(browser, runs):
    for name in NAMES:
        folder = copied(runs / "gold", runs / name, config={"model": EVIL})
        metrics = json.loads((folder / "metrics.json").read_text())
        metrics["notes"] = [EVIL]
        (folder / "metrics.json").write_text(json.dumps(metrics))
        lines = (folder / "records.jsonl").read_text().splitlines()
        records = [json.loads(line) | {"answer": EVIL, "question": EVIL} for line in lines]
        (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    copied(runs / NAMES[0], runs / "killed", status="running", reason=EVIL)
    usage = {"model": {"model": EVIL, "requests": 1}}
    (runs / "killed" / "progress.json").write_text(json.dumps({"done": 1, "total": 2, "usage": usage}))
    with Viewer(runs) as seen, opened(browser) as (page, errors):
        page.goto(seen.link)
        for name in [*map(escape_control_characters, NAMES), "killed"]:
            page.get_by_role("checkbox", name=f"select {name}", exact=True).check()
            link = page.get_by_role("rowheader").get_by_role("link", name=name, exact=True)
            link.click()
            expect(page.locator("body")).to_contain_text(EVIL)
            page.goto(seen.url)
        page.get_by_role("checkbox", name=f"select {NAMES[0]}", exact=True).check()
        page.get_by_role("checkbox", name=f"select {NAMES[1]}", exact=True).check()
        page.get_by_role("button", name="Compare selected").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("2 runs compared")
        assert page.locator("img, script[src*=alert]").count() == 0
        assert errors == []


def start_run(server, out, *more):
    return start("eval", "hicupid", "--model", server.model("m"), "--out", out, *more)


def test_a_running_run_is_watched_moving_and_ending(browser, runs):
    """The list and the run's page update as answers arrive, until the page is the finished run's."""
    with Server() as server, Viewer(runs) as seen, opened(browser) as (page, errors):
        server.allowed = 3
        page.goto(seen.link)
        page.get_by_role("checkbox", name="select gold", exact=True).check()
        process = start_run(server, runs / "moving", "--limit", "30", "--concurrency", "1")
        try:
            row = page.locator('tr[data-run="moving"]')
            expect(row).to_contain_text("running")
            expect(row.locator("progress")).to_be_visible()
            expect(page.get_by_role("checkbox", name="select gold", exact=True)).to_be_checked()
            row.get_by_role("link").click()
            line, bar = page.locator("#line"), page.locator("#done")
            expect(line).to_contain_text("of 30 items")
            before = bar.evaluate("bar => bar.value")
            server.allowed = 10
            page.wait_for_function("before => document.getElementById('done').value > before", arg=before)
            expect(page.locator("#roles")).to_contain_text("model")
            assert int(page.locator("#roles td").nth(1).text_content()) > 0
            server.allowed = math.inf
            expect(page.get_by_role("heading", level=1)).to_contain_text("HiCUPID")
            expect(page.locator("body")).to_contain_text("score.total")
            assert process.wait(LIMIT) == 0
        finally:
            process.kill()
            process.communicate()
        assert errors == []


def test_the_list_says_when_a_run_ends(browser, runs):
    with Server() as server, Viewer(runs) as seen, opened(browser) as (page, errors):
        server.allowed = 3
        process = start_run(server, runs / "moving", "--limit", "20", "--concurrency", "1")
        try:
            page.goto(seen.link)
            while "moving" not in page.content():
                page.reload()
            row = page.locator('tr[data-run="moving"]')
            page.get_by_role("checkbox", name="select moving").check()
            row.get_by_role("link").focus()
            server.allowed = math.inf
            expect(row.locator(".status")).to_have_text("complete")
            expect(row).to_contain_text("score.total")
            expect(page.locator("#news")).to_have_text("moving: complete")
            assert focused(page) == "moving"
            expect(page.get_by_role("checkbox", name="select moving")).to_be_checked()
        finally:
            process.kill()
            process.communicate()
        assert errors == []


def test_a_killed_run_is_seen_to_be_interrupted_and_resumes(browser, runs):
    with Server(delay=lambda: 0.1) as server, Viewer(runs) as seen, opened(browser) as (page, errors):
        process = start_run(server, runs / "killed", "--concurrency", "1")
        wait_until(lambda: (runs / "killed" / "progress.json").exists() and len(server.requests) >= 5, process)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        page.goto(seen.link)
        expect(page.locator('tr[data-run="killed"]')).to_contain_text("run the same command again to resume")
        page.goto(f"{seen.url}/run/killed")
        expect(page.locator("main")).to_contain_text("Interrupted")
        expect(page.locator("#line")).to_contain_text("of 60 items")
        again = start_run(server, runs / "killed")
        assert again.wait(LIMIT) == 0
        again.communicate()
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_contain_text("HiCUPID")
        assert not (runs / "killed" / "progress.json").exists()
        assert errors == []


def test_without_javascript_a_running_run_moves_too(browser, runs):
    with Server() as server, Viewer(runs) as seen:
        server.allowed = 3
        process = start_run(server, runs / "moving", "--limit", "20", "--concurrency", "1")
        try:
            wait_until(lambda: seen.get("/progress/moving").status_code != 404, process)
            assert process.poll() is None
            with opened(browser, java_script_enabled=False) as (page, errors):
                page.goto(seen.link)
                page.goto(f"{seen.url}/run/moving")
                expect(page.locator("#line")).to_contain_text("of 20 items")
                server.allowed = math.inf
                expect(page.locator("body")).to_contain_text("score.total")
                assert errors == []
        finally:
            process.kill()
            process.communicate()
