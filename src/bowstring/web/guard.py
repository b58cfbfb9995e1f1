"""Access control and security headers of the local web applications.

A web site in the same browser can send requests to a loopback page. So the Host header must be ours (against DNS
rebinding), a request needs a token, and a request that changes something must come from our own pages. The token
arrives once in a link and is a cookie afterwards.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

STATIC = "/static/"  # style and script: public, without private content
_SAFE = ("GET", "HEAD")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class Guard:
    """ASGI middleware. It sets `scope["who"]` to the owner of the token."""

    def __init__(
        self,
        app: App,
        *,
        origins: Collection[str],
        cookie: str,
        who: Callable[[str], str | None],
        secure: bool = False,
        most: int = 1 << 20,
    ) -> None:
        """`origins`: allowed origins, such as http://127.0.0.1:8000. `secure`: the cookie is sent over https only.
        `most`: the largest body in bytes."""
        self._app, self._cookie, self._who, self._secure, self._most = app, cookie, who, secure, most
        self._origins = {origin.lower() for origin in origins}
        self._hosts = {origin.partition("://")[2] for origin in self._origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no websockets
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        send = _with_headers(send)
        refused = self._refusal(scope, headers)
        if refused:
            await _answer(send, *refused)
            return
        if not scope["path"].startswith(STATIC):
            token, rest = _token_in_link(scope)
            if token is not None and self._who(token) is not None:
                await self._let_in(scope, headers, send, token, rest)
                return
            scope["who"] = next((who for token in self._cookie_tokens(scope) if (who := self._who(token))), None)
            if scope["who"] is None:
                await _answer(send, 403, "Access denied. Use the link that was printed when the server was started.")
                return
        try:
            body = await _whole_body(receive, self._most)
        except _Disconnected:
            return  # an incomplete form must not be used, and the client is gone
        if body is None:
            await _answer(send, 413, f"The request is too large; the limit is {self._most:,} bytes.")
            return
        await self._app(scope, _replay(body, receive), send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host", "").lower() not in self._hosts:
            return 421, "This host name does not belong to this server."
        if scope["method"] not in _SAFE and headers.get("origin", "").lower() not in self._origins:
            return 403, "The request does not come from a page of this server."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most:
            return 413, f"The request is too large; the limit is {self._most:,} bytes."
        return None

    def _cookie_tokens(self, scope: Scope) -> list[str]:
        """The values of all cookies with our name. Browsers send cookies to every port of a host, so there may be any
        others, malformed ones too."""
        sent = ";".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie")
        pairs = (cookie.partition("=") for cookie in sent.split(";"))
        return [value.strip().strip('"') for name, _, value in pairs if name.strip() == self._cookie]

    async def _let_in(self, scope: Scope, headers: dict[str, str], send: Send, token: str, rest: str) -> None:
        """Redirect to the address without the token, to keep it out of the history, bookmarks and screenshots."""
        # Not "//somewhere", which a browser treats as another server.
        place = "/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
        secure = "; Secure" if self._secure else ""
        cookie = f"{self._cookie}={token}; HttpOnly; SameSite=Strict; Path=/{secure}"
        place = quote(place, safe="/?&=%+-._~")
        if _from_elsewhere(headers):
            # Browsers withhold a strict cookie in redirects from another site; so one of our pages redirects.
            page = f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(place)}">'
            page += f'<title>Bowstring</title><a href="{escape(place)}">Continue</a>'
            await _answer(send, 200, page, {"Content-Type": "text/html; charset=utf-8", "Set-Cookie": cookie})
        else:
            await _answer(send, 303, "", {"Location": place, "Set-Cookie": cookie})


def _from_elsewhere(headers: dict[str, str]) -> bool:
    """Whether the browser may have followed a link of another site, such as web mail. Over plain HTTP it does not
    tell."""
    site = headers.get("sec-fetch-site", "")
    return "text/html" in headers.get("accept", "") and site not in ("none", "same-origin", "same-site")


class _Disconnected(Exception):
    """The client disconnected before the end of the request."""


async def _whole_body(receive: Receive, most: int) -> bytes | None:
    """The body; None if it is too large, whatever its Content-Length is."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Disconnected
        body += bytes(message.get("body", b""))
        if len(body) > most:
            return None
        if not message.get("more_body"):
            return body


def _replay(body: bytes, receive: Receive) -> Receive:
    """An ASGI receive function: the body that was read, then the original channel."""
    left = [body]

    async def hear() -> Message:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return hear


def _token_in_link(scope: Scope) -> tuple[str | None, str]:
    """The token of a query string, and the rest of the query."""
    asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    tokens = [value for name, value in asked if name == "token"]
    rest = urlencode([(name, value) for name, value in asked if name != "token"])
    return (tokens[0] if tokens and scope["method"] == "GET" else None), rest


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", [])}
            ours = [(n.lower().encode(), v.encode()) for n, v in _HEADERS.items()]
            message["headers"] = [
                *message.get("headers", []),
                *((name, value) for name, value in ours if name not in given),
            ]
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    body = f"{text}\n".encode()
    found = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), **(headers or {})}
    listed = [(name.lower().encode(), value.encode()) for name, value in found.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
