"""Requests without a token, with another host name, or from other sites' pages are refused."""

import socket
import threading

import httpx
import pytest
import uvicorn
from fastapi import Request

from bowstring.errors import UsageError
from bowstring.web.serving import application, bind, cookie_name, guard

TOKEN = "t" * 32
PEOPLE = {TOKEN: "anna"}


class Serving:
    """A real server on loopback, with a page that says who came and one that takes a body."""

    def __init__(self, public=None, most=1000):
        app = application("view")

        @app.get("/page/{name}")
        def page(request: Request, name: str):
            return {"who": request.scope["who"], "name": name, "asked": dict(request.query_params)}

        self.taken = []

        @app.post("/take")
        async def take(request: Request):
            self.taken.append(await request.body())
            return {"bytes": len(self.taken[-1])}

        self.address = bind("127.0.0.1", 0, public)
        guarded = guard(app, self.address, people=PEOPLE, most=most)
        config = uvicorn.Config(guarded, log_level="error", lifespan="off", server_header=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self.address.listening]})
        self.cookie = cookie_name(self.address, PEOPLE)
        self.url = f"http://127.0.0.1:{self.address.port}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join()
        self.address.listening.close()

    def client(self, *, entered=True):
        cookies = {self.cookie: TOKEN} if entered else {}
        return httpx.Client(base_url=self.url, follow_redirects=False, cookies=cookies)


def raw(served, path):
    """The server's answer to a path that no library has normalized."""
    with socket.create_connection(("127.0.0.1", served.address.port)) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.address.port}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        return connection.makefile("rb").read()


@pytest.fixture(scope="module")
def served():
    with Serving() as found:
        yield found


def test_without_a_token_there_is_nothing(served):
    with served.client(entered=False) as client:
        for path in ("/", "/page/x", "/nothing", "/docs", "/openapi.json"):
            assert client.get(path).status_code == 403
        assert client.get("/page/x", params={"token": "wrong"}).status_code == 403
        client.cookies.set(served.cookie, "wrong")
        assert client.get("/page/x").status_code == 403


@pytest.mark.parametrize(
    "others",
    [
        'session={"user": "ann", "n": [1, 2]}',
        "a b=c",
        "café=crème",
        "@@@",
        ";;;=;=x; =",
        '"unclosed',
        "x=\\",
        "bowstring_{port}=wrong",
        "bowstring=wrong; {ours}=wrong",
        "{ours}=; {ours}",
        'many="' + "y" * 60_000 + '"',
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_cookies_of_other_programs_do_not_matter(served, others, first):
    """A browser sends them to all ports of a host, in any order, and does not say who set them."""
    others = others.replace("{port}", str(served.address.port)).replace("{ours}", served.cookie)
    ours = f"{served.cookie}={TOKEN}"
    sent = f"{others}; {ours}" if first else f"{ours}; {others}"
    with served.client(entered=False) as client:
        found = client.get("/page/x", headers={"Cookie": sent.encode("utf-8")})
        assert found.status_code == 200, found.text
        assert client.get("/page/x", headers={"Cookie": others.encode("utf-8")}).status_code == 403
        twice = [("Cookie", others.encode("utf-8")), ("Cookie", ours)]
        assert client.get("/page/x", headers=twice if first else twice[::-1]).status_code == 200


def test_two_studies_have_two_cookies(served):
    other = cookie_name(served.address, {"u" * 32: "anna"})
    assert other != served.cookie
    assert all(str(served.address.port) in name for name in (other, served.cookie))


def test_a_link_becomes_a_cookie_and_the_token_leaves_the_address(served):
    with served.client(entered=False) as client:
        came = client.get(f"/page/a b?x=1&token={TOKEN}&y=2")
        assert came.status_code == 303
        assert came.headers["location"] == "/page/a%20b?x=1&y=2"
        cookie = came.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        found = client.get(came.headers["location"]).json()
    assert found == {"who": "anna", "name": "a b", "asked": {"x": "1", "y": "2"}}


def test_a_link_in_a_mail_leads_in_too(served):
    """A browser withholds a strict cookie in a redirect from another site, so one of our pages has to redirect."""
    browser = {"Accept": "text/html,*/*"}
    with served.client(entered=False) as client:
        for how in ({"Sec-Fetch-Site": "cross-site"}, {}):
            came = client.get(f'/page/a"><b?x=1&token={TOKEN}', headers=browser | how)
            assert came.status_code == 200
            assert 'content="0; url=/page/a%22%3E%3Cb?x=1"' in came.text
            assert TOKEN not in came.text
            assert "SameSite=Strict" in came.headers["set-cookie"]
            assert came.headers["referrer-policy"] == "no-referrer"
        direct = client.get(f"/page/x?token={TOKEN}", headers=browser | {"Sec-Fetch-Site": "none"})
        assert direct.status_code == 303


def test_a_link_leads_to_no_other_server(served):
    said = raw(served, f"//evil.example/x?token={TOKEN}")
    assert b"\r\nlocation: /evil.example/x\r\n" in said


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example", ""])
def test_a_name_that_points_here_is_not_ours(served, host):
    with served.client() as client:
        assert client.get("/page/x", headers={"Host": host}).status_code == 421
        assert client.get("/static/style.css", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_what_changes_something_must_come_from_our_pages(served, origin):
    with served.client() as client:
        headers = {"Origin": origin} if origin else {}
        assert client.post("/take", content=b"x", headers=headers).status_code == 403
        assert client.post("/take", content=b"x", headers={"Origin": served.url}).json() == {"bytes": 1}


def test_bodies_have_a_limit_whatever_they_say(served):
    with served.client() as client:
        ours = {"Origin": served.url}
        assert client.post("/take", content=b"x" * 1000, headers=ours).status_code == 200
        assert client.post("/take", content=b"x" * 1001, headers=ours).status_code == 413
        assert client.post("/take", content=iter([b"x" * 600, b"x" * 600]), headers=ours).status_code == 413


def test_a_request_that_is_cut_off_is_dropped():
    with Serving() as served, served.client() as client:
        ours = {"Origin": served.url, "Cookie": f"{served.cookie}={TOKEN}"}
        head = {"Host": f"127.0.0.1:{served.address.port}", "Content-Length": "100", **ours}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        with socket.create_connection(("127.0.0.1", served.address.port)) as connection:
            connection.sendall(f"POST /take HTTP/1.1\r\n{lines}\r\nchoice=A".encode())
        for _ in range(20):
            assert client.post("/take", content=b"whole", headers={"Origin": served.url}).status_code == 200
        assert served.taken == [b"whole"] * 20


def test_every_answer_tells_the_browser_to_trust_nothing_else(served):
    with served.client() as client:
        for path in ("/page/x", "/static/style.css", "/static/web.css", "/nothing"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("name", ["../guard.py", "..%2fguard.py", "%2e%2e/guard.py", "nothing.css", ""])
def test_static_files_are_those_that_are_listed(served, name):
    assert raw(served, f"/static/{name}").split(b" ", 2)[1] in (b"404", b"403")


def test_a_public_address_is_a_host_too():
    with Serving(public="https://study.example") as served, served.client(entered=False) as client:
        assert served.address.link("x") == "https://study.example/?token=x"
        came = client.get(f"/page/x?token={TOKEN}", headers={"Host": "study.example"})
        assert came.status_code == 303
        assert client.get("/page/x", headers={"Host": "other.example"}).status_code == 421


@pytest.mark.parametrize(
    ("public", "secure"), [("https://study.example", True), ("http://study.example", False), (None, False)]
)
def test_a_cookie_is_for_https_alone_where_people_come_by_https(public, secure):
    with Serving(public=public) as served, served.client(entered=False) as client:
        came = client.get(f"/page/x?token={TOKEN}")  # from a proxy, which may say our own host
        assert ("; Secure" in came.headers["set-cookie"]) == secure


@pytest.mark.parametrize(
    ("public", "origin"),
    [
        ("https://x.org:443", "https://x.org"),
        ("http://x.org:80/", "http://x.org"),
        ("https://x.org:80", "https://x.org:80"),
        ("http://x.org:8000", "http://x.org:8000"),
        ("https://x.org:", "https://x.org"),
        ("HTTPS://X.org", "https://x.org"),
        ("https://[::1]:443", "https://[::1]"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_a_public_address_is_written_as_browsers_write_it(public, origin):
    address = bind("127.0.0.1", 0, public)
    address.listening.close()
    assert address.origins[0] == origin


@pytest.mark.parametrize(
    "public",
    [
        *(
            "study.example",
            "ftp://study.example",
            "https://study.example/path",
            "https://",
            "https://:443",
            "https://[x",
        ),
        *("https://me@study.example", "https://me:word@study.example", "https://study.example?x=1", "https://a b"),
        *("https://study.example/?", "https://study.example#x", "https://study.example:port", "https://x.org:99999"),
    ],
)
def test_a_public_address_must_be_one(public):
    with pytest.raises(UsageError, match="expected http"):
        bind("127.0.0.1", 0, public)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "study.example"])
def test_other_machines_need_an_address_to_come_by(host):
    with pytest.raises(UsageError, match="--public-url"):
        bind(host, 0)


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "localhost"])
def test_an_address_to_come_by_opens_any_host(host):
    bind(host, 0, "http://study.example").listening.close()


def test_a_port_that_is_taken_is_said(served):
    with pytest.raises(UsageError, match="cannot listen on"):
        bind("127.0.0.1", served.address.port)
