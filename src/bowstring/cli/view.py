"""bowstring view: a local web page over a folder of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def view(
    runs: Annotated[Path, typer.Argument(help="A folder of runs, or one run or sweep, which is opened.")] = Path(
        "runs"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on loopback; 0 takes a free one.")] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Look at runs in the browser: list, open, compare, watch one that is running. Ctrl-C ends it.

    The page is served on loopback alone, to whoever has the link that is printed.
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
    tell("Ctrl-C ends it.")
    if open_:
        webbrowser.open(link)
    serve(viewing, address, who={token: "viewer"}.get)
