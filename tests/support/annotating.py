"""A study as people meet it: the command in a process of its own, and a real browser."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import httpx

from tests.support.command import bowstring

READY = "body[data-ready]"  # from here on, keys are listened to


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Annotating:
    """`bowstring annotate …`, with everybody's link by name."""

    def __init__(self, *arguments, port=None):
        self.port = port or free_port()
        self.process = subprocess.Popen(
            [Path(sys.executable).with_name("bowstring"), "annotate", *map(str, arguments), "--port", str(self.port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ | {"PYTHONWARNINGS": "error"},
        )
        self.links, self.said = {}, []
        for line in self.process.stdout:
            self.said.append(line)
            if found := re.search(r"^(.+?)\s{2,}\d[\d,]* of .* (http\S+)$", line.rstrip()):
                self.links[found[1]] = found[2]
            if line.startswith("Ctrl-C"):
                return
        raise AssertionError(self.process.stderr.read())

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.stop()


def exported(db):
    ran = bowstring("annotate", "export", db)
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def enter(opened, link, **how):
    """A page of somebody who came by their link, with a session of their own."""
    page = opened.new_context(**how).new_page()
    page.goto(link)
    return page


def begin(page):
    page.get_by_role("link", name=re.compile("^(Begin|Go on)$")).click()
    page.wait_for_selector(READY, state="attached")


def press(page, key):
    """A key, and the page that it leads to."""
    with page.expect_navigation():
        page.keyboard.press(key)
    page.wait_for_selector(READY, state="attached")


def at(page):
    """Where somebody is, such as 3 of 12; None at the end."""
    place = page.locator("nav strong")
    return place.inner_text() if place.count() else None


HOSTILE = (
    "<script>document.title = 'owned'; window.owned = 1</script></textarea></form><img src=x onerror='window.owned=1'>"
    " {{ 7 * 7 }} &lt;b&gt; a\x00b\r\nc\u200f \u202eright to left\u202c שלום 👩‍👩‍👧‍👦🏳️‍🌈 "
)


def whimsical(messages):
    return f"Whimsy speaking: {len(messages[-1]['content'])} letters were asked."


def terse(messages):
    return f"Terse: {messages[-1]['content'][:20]}"


def hostile(messages):
    return HOSTILE + "long " * 20_000


def inferring(messages):
    seen = f"I see, in {len(messages[-1]['content'])} letters."
    return f"{seen}\n\n### Most Likely Preference\nKeep it short, with bullet points."


def records(run):
    return [json.loads(line) for line in (run / "records.jsonl").read_text(encoding="utf-8").splitlines()]


def answers(page):
    return page.locator(".pair .answer .text").all_inner_texts()


def side_of(page, opening):
    """The side on which the answer with this beginning stands; None where neither has it."""
    return next((side for side, text in zip("AB", answers(page), strict=True) if text.startswith(opening)), None)


def everything_sent(study, link):
    """All that the server sends to somebody who looks at each of their pages: texts, addresses, headers."""
    with httpx.Client(follow_redirects=True) as client:
        sent = []

        def get(place):
            answer = client.get(place)
            sent.append(f"{answer.url}\n{answer.headers}\n{answer.text}")
            return answer

        get(link)
        answer = get(study.origin + "/next")
        pages = []
        while "/item/" in str(answer.url):
            pages.append((str(answer.url), answer.text))
            body = urlencode({"choice": "tie"})
            answer = client.post(answer.url, content=body, headers={"Origin": study.origin})
            sent.append(f"{answer.url}\n{answer.headers}\n{answer.text}")
        for name in ("annotate.js", "annotate.css"):  # style.css is that of all pages, and knows their words
            get(f"{study.origin}/static/{name}")
    return "\n".join(sent), pages
