"""bowstring view: browse a folder of runs on a local web page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from bowstring.cli.options import add_command
from bowstring.settings import Limits, Option

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_RUNS = Option("runs", "RUNS", Path, Path("runs"), metavar="RUNS", help="Folder of runs, or a run or sweep to open.")
_OPTIONS = (
    Option("port", "--port", int, 0, limits=Limits(0, 65535), help="Port on the loopback address; 0 picks a free one."),
    Option(
        "store",
        "--store",
        Path,
        None,
        nullable=True,
        help="Store to look responses up in.",
        shown_default="responses.sqlite beside the run",
    ),
    Option("open", "--open", bool, False, help="Open the page in the browser."),
)
_HELP = """Browse runs: list, open and compare them, and watch their progress. Press Ctrl-C to stop.

The page is reachable only from this machine, with the printed link.
"""


def _view(given: dict[str, Any]) -> int:
    import secrets
    import webbrowser

    from bowstring.cli.output import tell
    from bowstring.web.serving import bind, serve
    from bowstring.web.viewing import start, viewer

    folder, page = start(given.get("runs", _RUNS.default))
    viewing = viewer(folder, given.get("store"))
    address = bind("127.0.0.1", given.get("port", 0))
    token = secrets.token_urlsafe(24)
    link = address.link(token, page)
    print(link, flush=True)
    tell("Press Ctrl-C to stop.")
    if given.get("open"):
        webbrowser.open(link)
    serve(viewing, address, people={token: "viewer"})
    return 0


add_command(app, "view", _view, _OPTIONS, help=_HELP, arguments=[_RUNS])
