"""A study as people meet it: the command in a process of its own, and a real browser."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

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
