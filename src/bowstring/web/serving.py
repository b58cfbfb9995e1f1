"""Serving an application until it is interrupted.

address = bind("127.0.0.1", 0)
print(address.link(token))
serve(app, address, who={token: "me"}.get)
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bowstring.errors import UsageError
from bowstring.web.guard import STATIC, Guard

if TYPE_CHECKING:
    from fastapi import FastAPI, Response

_PORTS = {"http": 80, "https": 443}
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def application(command: str) -> FastAPI:
    """An empty application with style and script, and no pages about itself."""
    try:
        import uvicorn  # noqa: F401 - needed at the end, and missed now
        from fastapi import FastAPI, Response
    except ImportError as error:
        raise UsageError(f"bowstring {command} needs FastAPI: pip install 'bowstring[web]'") from error
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    served = {entry.name: entry for entry in (files("bowstring.web") / "static").iterdir()}
    served["style.css"] = files("bowstring.reports") / "style.css"

    @app.get(STATIC + "{name}", response_class=Response)
    def static(name: str) -> Response:
        if name not in served:
            return Response("No such file.\n", 404, media_type="text/plain")
        kind = _TYPES["." + name.rpartition(".")[2]]
        return Response(served[name].read_bytes(), media_type=kind, headers={"Cache-Control": "no-cache"})

    return app


@dataclass(slots=True)
class Address:
    """Where an application is served: a socket that is bound, and what its pages' addresses begin with."""

    listening: socket.socket
    origins: tuple[str, ...]

    @property
    def port(self) -> int:
        return int(self.listening.getsockname()[1])

    @property
    def secure(self) -> bool:
        """Whether people come by https; what stands in between may speak http with us."""
        return self.origins[0].startswith("https:")

    def link(self, token: str, path: str = "/") -> str:
        """The address to give to whoever has this token."""
        return f"{self.origins[0]}{path}?token={token}"


def bind(host: str, port: int, public: str | None = None) -> Address:
    """Port 0 takes a free one. `public` is the address that people use where something stands in between, or where
    other machines may come in; then `host` must not be loopback, or that something must run here."""
    if public is None and not _is_loopback(host):
        raise UsageError(f"--host {host} lets other machines in: say with --public-url by which address they come")
    first = () if public is None else (_origin(public),)
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{host}:{port} cannot be listened on: {reason}; try another --port") from error
    bound = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    return Address(listening, (*first, f"http://{shown}:{bound}", f"http://localhost:{bound}"))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _origin(public: str) -> str:
    """As a browser writes it: small letters, and no port where it is the scheme's own."""
    try:
        parts = urlsplit(public)
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    beside = parts.path.strip("/") or set("@?#") & set(public)
    if parts.scheme not in _PORTS or beside or not re.fullmatch(r"[a-z0-9._:-]+", host) or port == 0:
        raise UsageError(f"--public-url {public}: expected http(s)://host[:port] and nothing before or behind it")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port not in (None, _PORTS[parts.scheme]) else "")


def guard(app: FastAPI, address: Address, *, who: Callable[[str], str | None], most: int) -> Guard:
    # A cookie is sent to every port of a host: its name tells two servers apart.
    cookie = f"bowstring_{address.port}"
    return Guard(app, origins=address.origins, cookie=cookie, who=who, secure=address.secure, most=most)


def serve(app: FastAPI, address: Address, *, who: Callable[[str], str | None], most: int = 1 << 20) -> None:
    """Until an interrupt; requests that are being answered are ended first."""
    import uvicorn

    guarded = guard(app, address, who=who, most=most)
    config = uvicorn.Config(
        guarded, log_level="warning", access_log=False, server_header=False, lifespan="off", timeout_graceful_shutdown=3
    )
    try:
        uvicorn.Server(config).run(sockets=[address.listening])
    finally:
        address.listening.close()
