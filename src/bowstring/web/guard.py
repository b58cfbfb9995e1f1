"""Who may come in, and what every answer says to the browser.

A page on loopback can be reached by any web site that the same browser shows. So: the Host must be ours (a site that
makes its own name point here has another), whoever comes must have a token, and what changes something must come from
our own pages. The token arrives once in a link, and is a cookie from then on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

STATIC = "/static/"  # style and script: the same for everybody, and nothing in them
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
    """ASGI middleware. Behind it `scope["who"]` is what the token stands for."""

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
        """`origins`: what our pages' addresses begin with, such as http://127.0.0.1:8000. `secure`: people come by
        https alone, and so does the cookie. `most`: bytes of a body."""
        self._app, self._cookie, self._who, self._secure, self._most = app, cookie, who, secure, most
        self._origins = {origin.lower() for origin in origins}
        self._hosts = {origin.partition("://")[2] for origin in self._origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no websockets here
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
            scope["who"] = self._who(self._kept_token(headers))
            if scope["who"] is None:
                await _answer(send, 403, "No entry without the link that was printed when this was started.")
                return
        try:
            body = await _whole_body(receive, self._most)
        except _CutOff:
            return  # half a form says something else than the whole, and nobody is there to be answered
        if body is None:
            await _answer(send, 413, f"At most {self._most:,} bytes at a time.")
            return
        await self._app(scope, _given(body, receive), send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host", "").lower() not in self._hosts:
            return 421, "This is not the address of this server."
        if scope["method"] not in _SAFE and headers.get("origin", "").lower() not in self._origins:
            return 403, "This did not come from a page of this server."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most:
            return 413, f"At most {self._most:,} bytes at a time."
        return None

    def _kept_token(self, headers: dict[str, str]) -> str:
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return kept.value if kept else ""

    async def _let_in(self, scope: Scope, headers: dict[str, str], send: Send, token: str, rest: str) -> None:
        """The token leaves the address bar, and with it history, bookmarks and screenshots."""
        # Not "//somewhere", which a browser would take for another server.
        place = "/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
        secure = "; Secure" if self._secure else ""
        cookie = f"{self._cookie}={token}; HttpOnly; SameSite=Strict; Path=/{secure}"
        place = quote(place, safe="/?&=%+-._~")
        if _from_elsewhere(headers):
            # A strict cookie is kept back as long as another site leads, redirects included: a page of ours leads on.
            page = f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(place)}">'
            page += f'<title>Bowstring</title><a href="{escape(place)}">Go on</a>'
            await _answer(send, 200, page, {"Content-Type": "text/html; charset=utf-8", "Set-Cookie": cookie})
        else:
            await _answer(send, 303, "", {"Location": place, "Set-Cookie": cookie})


def _from_elsewhere(headers: dict[str, str]) -> bool:
    """Whether a browser may have followed a link of another site, such as a mail program's. Over plain HTTP it does
    not say."""
    site = headers.get("sec-fetch-site", "")
    return "text/html" in headers.get("accept", "") and site not in ("none", "same-origin", "same-site")


class _CutOff(Exception):
    """Whoever sent a request was gone before its end."""


async def _whole_body(receive: Receive, most: int) -> bytes | None:
    """None for one that is too large, whatever it said of itself."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _CutOff
        body += bytes(message.get("body", b""))
        if len(body) > most:
            return None
        if not message.get("more_body"):
            return body


def _given(body: bytes, receive: Receive) -> Receive:
    """The body that was read, and then whatever else there is to hear."""
    left = [body]

    async def hear() -> Message:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return hear


def _token_in_link(scope: Scope) -> tuple[str | None, str]:
    """The token in an address, and what else is asked there."""
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
