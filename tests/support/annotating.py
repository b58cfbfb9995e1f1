"""A study as people meet it: the command, a real server on loopback, and a real browser."""

import io
import json
import re
import signal
import socket
import threading
from contextlib import redirect_stderr, redirect_stdout, suppress
from urllib.parse import urlencode

import httpx
import pytest
import uvicorn

from bowstring.cli import main
from tests.support.command import bowstring
from tests.support.processes import LIMIT, start, wait_until

_SERVER = uvicorn.Server
READY = "body[data-ready]"  # from here on, keys are listened to


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Study:
    """`bowstring annotate …`, with everybody's link by name."""

    def __init__(self, port):
        self.port = port or free_port()
        self.links = {}

    def words(self, arguments):
        return ["annotate", *map(str, arguments), "--port", str(self.port)]

    def read(self, line):
        """A line that it prints; True with the last before it serves."""
        if found := re.search(r"^(.+?)\s{2,}\d[\d,]* of .* (http\S+)$", line.rstrip()):
            self.links[found[1]] = found[2]
        return line.startswith("Press Ctrl-C")

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class AnnotatingProcess(Study):
    """In a process of its own, to be killed or interrupted."""

    def __init__(self, *arguments, port=None):
        super().__init__(port)
        self.process = start(*self.words(arguments))
        if not any(map(self.read, self.process.stdout)):
            raise AssertionError(self.process.stderr.read())

    def stop(self, how=signal.SIGINT):
        if self.process.returncode is None:
            self.process.send_signal(how)
            self.process.communicate(timeout=LIMIT)


class Annotating(Study):
    """On a thread: the command itself, up to an interrupt."""

    def __init__(self, *arguments, port=None):
        super().__init__(port)
        self._serving = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self.words(arguments),))
        out, err = io.StringIO(), io.StringIO()
        # What it prints comes before it serves, and nobody else prints until then.
        with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
            patch.setattr(uvicorn, "Server", self._server_that_can_be_ended)
            self._thread.start()
            wait_until(lambda: self._serving.is_set() or not self._thread.is_alive())
        if not any(map(self.read, out.getvalue().splitlines())):
            self._thread.join()
            raise AssertionError(err.getvalue())

    def _run(self, words):
        with suppress(SystemExit):
            main(words)

    def _server_that_can_be_ended(self, config):
        study = self

        class Server(_SERVER):
            def run(self, sockets=None):
                study._server = self
                study._serving.set()
                super().run(sockets)

        return Server(config)

    def stop(self):
        self._server.should_exit = True
        self._thread.join()


def exported(db):
    ran = bowstring("annotate", "export", db)
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def enter(opened, link, **how):
    """A page of somebody who came by their link, with a session of their own."""
    page = opened.new_context(**how).new_page()
    page.set_default_timeout(LIMIT * 1000)
    page.goto(link)
    return page


def begin(page):
    page.get_by_role("link", name=re.compile("^(Start|Continue)$")).click()
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
