"""bowstring view: browse a folder of runs on a local web page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def view(
    runs: Annotated[Path, typer.Argument(help="Folder of runs, or a run or sweep to open.")] = Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback address; 0 picks a free one.")] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Browse runs: list, open and compare them, and watch their progress. Press Ctrl-C to stop.

    The page is reachable only from this machine, with the printed link.
    """
    import secrets
    import webbrowser

    from bowstring.cli.output import tell
    from bowstring.web.serving import bind, serve
    from bowstring.web.viewing import start, viewer

    folder, page = start(runs)
    viewing = viewer(folder)
    address = bind("127.0.0.1", port)
    token = secrets.token_urlsafe(24)
    link = address.link(token, page)
    print(link, flush=True)
    tell("Press Ctrl-C to stop.")
    if open_:
        webbrowser.open(link)
    serve(viewing, address, who={token: "viewer"}.get)
