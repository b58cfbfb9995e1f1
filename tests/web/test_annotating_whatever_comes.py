"""A study under adverse conditions: killed servers, hostile texts, repeated requests, no JavaScript, curious users."""

import re
import sqlite3
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from markupsafe import escape

from bowstring.benchmarks.hicupid.people import item_of
from bowstring.benchmarks.loading import load_hicupid
from bowstring.files.escaping import escape_control_characters
from tests.support.annotating import (
    HOSTILE,
    READY,
    Annotating,
    at,
    begin,
    enter,
    everything_sent,
    exported,
    press,
    records,
    side_of,
)


class Mail(BaseHTTPRequestHandler):
    """Another site, with a link on its page."""

    link = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<a href="{self.link}">your study</a>'.encode())

    def log_message(self, *_):
        pass


def test_a_link_in_a_mail_leads_in(browser, asked, tmp_path):
    with Annotating(asked["secret-alpha"], "--limit", "2", "--db", tmp_path / "s.sqlite") as study:
        site = type("Site", (Mail,), {"link": study.links["annotator-1"]})
        with ThreadingHTTPServer(("127.0.0.1", 0), site) as mail:
            threading.Thread(target=mail.serve_forever).start()
            page = enter(browser, f"http://localhost:{mail.server_port}/")
            page.get_by_text("your study").click()
            page.wait_for_url(f"{study.origin}/")
            mail.shutdown()
        begin(page)
        assert at(page) == "1 of 2"


def test_hostile_text_is_seen_as_text(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    arguments = (asked["secret-gamma"], "--limit", "3", "--checks", "0", "--criteria", "<b>odd</b>", "--db", db)
    with Annotating(*arguments, "--annotators", "<i>anna</i>") as study:
        page = enter(browser, next(iter(study.links.values())))
        complaints = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        assert "<i>anna</i>" in page.locator("main").inner_text()
        begin(page)
        side = side_of(page, "<script>")
        shown = page.locator(f"[role=group][aria-labelledby=answer-{side}]").evaluate("e => e.textContent")
        # The rule of all pages: what would reorder or steer a text is shown by its code; a line end is one.
        assert shown == escape_control_characters(HOSTILE.replace("\r\n", "\n") + "long " * 20_000).strip()
        assert r"a\x00b" in shown
        assert r"c\u200f \u202eright to left\u202c" in shown
        assert page.evaluate("window.owned") is None
        assert page.title() == "1 of 3: Which answer is better for this user?"
        assert page.locator("img, script:not([src])").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        # It can still be answered, and a comment is kept to the letter.
        page.fill("textarea", HOSTILE)
        page.keyboard.press("Tab")
        page.get_by_role("radio", name="Tie").check()
        with page.expect_navigation():
            page.get_by_role("button", name="Save and continue").click()
        assert complaints == []
    (line,) = exported(db)
    assert line["comment"] == HOSTILE.replace("\r\n", "\n").strip()
    assert line["label"] == "tie"


@pytest.mark.parametrize("task", ["compare", "personal"])
def test_nothing_that_is_sent_tells_a_source(asked, tmp_path, task):
    db = tmp_path / "study.sqlite"
    run = asked["secret-alpha"]
    with Annotating(
        run, "--task", task, "--annotators", "anna,ben", "--overlap", "1", "--checks", "0.1", "--db", db
    ) as study:
        found = {name: everything_sent(study, study.links[name]) for name in ("anna", "ben")}
    rows = records(run)
    told = {str(escape(text.strip())) for text in (*(text for r in rows for text in _texts(r)), *_dialogues())}
    telling = ["secret-alpha", "whimsical", "gold", "personalized", "general", "swapped", "source", "expected", "win"]
    telling += ["lose", "general_answer", "support.annotating", str(run.parent), "compare/", "evidence", "verdict"]
    for sent, pages in found.values():
        assert len(pages) > 40
        left = re.sub(r"<summary>.*?</summary>", "", sent, flags=re.DOTALL)
        for text in sorted((text for text in told if len(text) > 7), key=len, reverse=True):
            left = left.replace(text, "")
        for word in telling:
            assert not re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", left.lower()), word
        for row in rows:
            assert item_of(task, row) not in sent
            assert not re.search(rf"[\"'/ ]{row['key']}[\"' ]", sent)
    # No address is the same for two people, and neither is the order.
    places = {name: {url for url, _ in pages} for name, (_, pages) in found.items()}
    assert not places["anna"] & places["ben"]
    questions = {
        name: [re.search(r'class="asked".*?dir="auto">(.*?)</div>', text, re.S)[1] for _, text in pages]
        for name, (_, pages) in found.items()
    }
    assert sorted(questions["anna"]) == sorted(questions["ben"])
    assert questions["anna"] != questions["ben"]
    # Each source stands first half of the time, and not for the same items.
    lines = [line for line in exported(db) if not line["gold"]]
    first = {name: {line["item"]: line["first"] for line in lines if line["rater"] == name} for name in found}
    for sides in first.values():
        counts = Counter(sides.values())
        assert len(counts) == 2
        assert abs(counts.most_common()[0][1] - len(sides) / 2) <= 2
    assert 0.2 < sum(first["anna"][item] == side for item, side in first["ben"].items()) / len(first["ben"]) < 0.8


def _texts(row):
    yield from (row["question"], row["personalized_answer"], row["general_answer"], row["answer"])
    for part in ("persona", "profile", "schedule"):
        yield from map(str, (row[part] or {}).values())


def _dialogues():
    data = load_hicupid("mini")
    return (m.text for user in data.user_ids for d in data.history(user) for m in d.messages)


def test_a_page_without_scripts_is_a_plain_form(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(asked["secret-alpha"], "--limit", "2", "--checks", "0", "--db", db) as study:
        page = enter(browser, study.links["annotator-1"], java_script_enabled=False)
        page.get_by_role("link", name="Start").click()
        for number in (1, 2):
            page.get_by_text(f"{number} of 2").first.wait_for()
            side = side_of(page, "Whimsy")
            page.get_by_role("button", name=f"Answer {side}").click()
        page.get_by_text("Thank you").first.wait_for()
    lines = exported(db)
    assert [line["label"] for line in lines] == ["win", "win"]
    assert all(line["seconds"] > 0 for line in lines)


def test_what_arrives_twice_is_there_once(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(
        asked["secret-alpha"],
        "--annotators",
        "anna,ben",
        "--limit",
        "4",
        "--overlap",
        "1",
        "--checks",
        "0",
        "--db",
        db,
    ) as study:
        page = enter(browser, study.links["anna"])
        begin(page)
        with page.expect_navigation():
            page.get_by_role("button", name="Answer A").dblclick(no_wait_after=True)
        page.wait_for_selector(READY, state="attached")
        assert at(page) == "2 of 4"
        # Two tabs on one page: the last word counts, and there is one.
        tab = page.context.new_page()
        tab.goto(page.url)
        tab.wait_for_selector(READY, state="attached")
        press(page, "a")
        press(tab, "b")
        assert at(page) == at(tab) == "3 of 4"
        # The same form sent again by hand, and somebody else's.
        cookies = {c["name"]: c["value"] for c in page.context.cookies()}
        with httpx.Client(cookies=cookies, headers={"Origin": study.origin}) as client:
            for _ in range(3):
                assert client.post(page.url, content="choice=tie&seconds=1").status_code == 303
            assert client.post(page.url, content="choice=C").status_code == 422
            assert client.post(page.url, content="").status_code == 422
            assert client.post(page.url, content="a=1&" * 5000).status_code == 400
            assert client.post(page.url, content="choice=" + "x" * 5_000_000).status_code == 413
            theirs = enter(browser, study.links["ben"])
            begin(theirs)
            assert client.get(theirs.url).status_code == 404
            assert client.post(theirs.url, content="choice=A").status_code == 404
    lines = exported(db)
    assert [(line["rater"], line["choice"], line["changes"]) for line in lines] == [
        ("anna", "A", 0),
        ("anna", "B", 1),
        ("anna", "tie", 0),
    ]
    with sqlite3.connect(db) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_key_that_is_held_answers_one_page(browser, asked, tmp_path):
    db = tmp_path / "study.sqlite"
    with Annotating(asked["secret-alpha"], "--limit", "4", "--checks", "0", "--db", db) as study:
        page = enter(browser, study.links["annotator-1"])
        begin(page)
        with page.expect_navigation():
            page.keyboard.down("a")
        page.keyboard.down("a")  # a browser repeats it; and this is before anybody can have read the page
        page.wait_for_selector(READY, state="attached")
        for _ in range(5):
            page.keyboard.down("a")
        page.keyboard.up("a")
        assert at(page) == "2 of 4"
        # A second tap, as soon as the page is there, was meant for the one before.
        tap = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}))"
        page.add_init_script(f"document.addEventListener('DOMContentLoaded', () => {tap})")
        page.reload()
        page.wait_for_selector(READY, state="attached")
        assert at(page) == "2 of 4"
        # Keys with a modifier are the browser's, and in a text they are letters.
        page.keyboard.press("Control+b")
        page.locator("textarea").focus()
        page.keyboard.type("a b t 0 z")
        assert at(page) == "2 of 4"
        assert page.locator("textarea").input_value() == "a b t 0 z"
    assert len(exported(db)) == 1
