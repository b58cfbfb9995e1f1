"""Serves a web application until it is interrupted.

address = bind("127.0.0.1", 0)
print(address.link(token))
serve(app, address, people={token: "me"})
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bowstring.errors import UsageError
from bowstring.web.guard import STATIC, Guard

if TYPE_CHECKING:
    from fastapi import FastAPI, Response

_PORTS = {"http": 80, "https": 443}
_HEAD = 1 << 20  # bytes of a request's headers; browsers send up to 180 cookies of 4 kB that others have set
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def application(command: str) -> FastAPI:
    """An application with style and script, and without API documentation pages."""
    try:
        import uvicorn  # noqa: F401 - needed later; fail now if it is missing
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
    """The address of an application: a bound socket and the origins of its pages."""

    listening: socket.socket
    origins: tuple[str, ...]

    @property
    def port(self) -> int:
        return int(self.listening.getsockname()[1])

    @property
    def secure(self) -> bool:
        """Whether clients use https; a proxy may use http to reach us."""
        return self.origins[0].startswith("https:")

    def link(self, token: str, path: str = "/") -> str:
        """The link for the owner of this token."""
        return f"{self.origins[0]}{path}?token={token}"


def bind(host: str, port: int, public: str | None = None) -> Address:
    """Bind a socket; port 0 picks a free port. `public` is the address that people use if there is a proxy or if other
    machines have access; `host` then must not be loopback, unless the proxy runs on this machine."""
    if public is None and not _is_loopback(host):
        raise UsageError(
            f"--host {host} gives other machines access; also give the address that they use with --public-url"
        )
    first = () if public is None else (_origin(public),)
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot listen on {host}:{port}: {reason}; try another --port") from error
    bound = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    return Address(listening, (*first, f"http://{shown}:{bound}", f"http://localhost:{bound}"))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _origin(public: str) -> str:
    """An origin as browsers write it: lower case, without the default port."""
    try:
        parts = urlsplit(public)
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    beside = parts.path.strip("/") or set("@?#") & set(public)
    if parts.scheme not in _PORTS or beside or not re.fullmatch(r"[a-z0-9._:-]+", host) or port == 0:
        raise UsageError(f"--public-url {public}: expected http(s)://host[:port] and nothing else")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port not in (None, _PORTS[parts.scheme]) else "")


def cookie_name(address: Address, people: Mapping[str, str]) -> str:
    """The name of our cookie. Cookies are shared by all ports of a host: the port distinguishes two servers, and what
    is made of the tokens distinguishes ours from that of any other program."""
    return f"bowstring_{address.port}_{hashlib.sha256(''.join(sorted(people)).encode()).hexdigest()[:12]}"


def guard(app: FastAPI, address: Address, *, people: Mapping[str, str], most: int) -> Guard:
    """The application behind access control; `people` are the owners of tokens."""
    cookie = cookie_name(address, people)
    return Guard(app, origins=address.origins, cookie=cookie, who=people.get, secure=address.secure, most=most)


def serve(app: FastAPI, address: Address, *, people: Mapping[str, str], most: int = 1 << 20) -> None:
    """Serve until an interrupt; open requests are finished first."""
    import uvicorn

    guarded = guard(app, address, people=people, most=most)
    config = uvicorn.Config(
        guarded,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=_HEAD,
    )
    try:
        uvicorn.Server(config).run(sockets=[address.listening])
    finally:
        address.listening.close()
