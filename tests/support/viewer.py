"""The viewer over a folder, on a real server on loopback; and runs for it to show."""

import json
import os
import shutil
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import uvicorn
from playwright.sync_api import expect

import bowstring
from bowstring.benchmarks.baselines import general_answers, gold_answers, gold_preferences
from bowstring.benchmarks.loading import load_cupid, load_hicupid
from bowstring.web.serving import bind, cookie_name, guard
from bowstring.web.viewing import viewer
from tests.support.run_files import without_sums

TOKEN = "t" * 32
PEOPLE = {TOKEN: "viewer"}
expect.set_options(timeout=300_000)  # a machine may be slow


class Viewer:
    """Open in a browser at `link`, or ask with `get`, as one who has entered."""

    def __init__(self, folder: Path, store: Path | None = None) -> None:
        self.folder = folder
        self.address = bind("127.0.0.1", 0)
        guarded = guard(viewer(folder, store), self.address, people=PEOPLE, most=1000)
        config = uvicorn.Config(guarded, log_level="error", lifespan="off", server_header=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self.address.listening]})
        self.url = f"http://127.0.0.1:{self.address.port}"
        self.link = self.address.link(TOKEN)

    def __enter__(self) -> "Viewer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self.address.listening.close()

    def get(self, path: str, **asked: object) -> httpx.Response:
        cookies = {cookie_name(self.address, PEOPLE): TOKEN}
        with httpx.Client(base_url=self.url, cookies=cookies, timeout=300) as client:
            return client.get(path, **asked)


def make_runs(folder: Path) -> None:
    """Two runs of HiCUPID, a sweep of it whose runs lie inside, and a run of CUPID one level down."""
    questions = load_hicupid("mini").questions()
    gold, general = gold_answers(questions), general_answers(questions)
    bowstring.evaluate("hicupid", model=gold, out=folder / "gold")
    bowstring.evaluate("hicupid", model=general, out=folder / "general", temperature=0.0)
    bowstring.sweep("hicupid", model=gold, out=folder / "sweep", history=["none", "gold"], limit=12)
    instances = load_cupid("mini").instances
    bowstring.evaluate("cupid", model=gold_preferences(instances), out=folder / "other" / "cupid", task="inference")
    # An hour apart, however fast they were made.
    for hour, name in enumerate(("gold", "general", "sweep/none", "sweep/gold", "other/cupid")):
        path = without_sums(folder / name) / "run.json"
        written = f"2026-01-01T{hour:02}:00:00+00:00"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"written": written}))
    moment = datetime(2026, 1, 1, 3, 30, tzinfo=UTC).timestamp()
    os.utime(folder / "sweep" / "sweep.json", (moment, moment))


def copied(run: Path, to: Path, **changes: object) -> Path:
    """A run like another, with these things in its run.json changed; `config` changes part by part."""
    without_sums(shutil.copytree(run, to))
    manifest = json.loads((to / "run.json").read_text())
    metrics = json.loads((to / "metrics.json").read_text())
    config = changes.pop("config", {})
    manifest["config"] |= config
    metrics["config"] |= config
    (to / "run.json").write_text(json.dumps(manifest | changes))
    (to / "metrics.json").write_text(json.dumps(metrics))
    return to


@contextmanager
def opened(browser, **context):
    """A page of a browser, and what went wrong in it."""
    entered = browser.new_context(**context)
    page = entered.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
    page.set_default_timeout(300_000)
    try:
        yield page, errors
    finally:
        entered.close()
