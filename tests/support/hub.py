"""A hub on loopback that speaks the part of the Hugging Face protocol that fetching a data set needs.

with Hub({"someone/set": {"test.parquet": b"..."}}) as hub:
    bowstring("data", "info", "someone/set", env=hub.env(tmp_path))
"""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" + "0" * 34
OLDER = "abad1dea" + "0" * 32


class Hub:
    def __init__(self, repositories: dict[str, dict[str, bytes]], older: dict[str, dict[str, bytes]] | None = None):
        self.revisions = {COMMIT: repositories, OLDER: older or {}}
        self.asked: list[str] = []  # the path of every request
        self.sent: list[str] = []
        self.broken: set[str] = set()  # files that the hub fails to send
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub._answer(self)

            do_HEAD = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> "Hub":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def env(self, home: Path) -> dict[str, str]:
        return {
            "HF_ENDPOINT": f"http://127.0.0.1:{self._server.server_address[1]}",
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
        }

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(request.path).path)
        self.asked.append(path)
        api, _, rest = path.partition("/datasets/")
        words = rest.split("/")
        name, words = "/".join(words[:2]), words[2:]
        verb, revision = (words[0], words[1]) if len(words) > 1 else ("revision", "main")
        commit = {"main": COMMIT, "v0": OLDER}.get(revision, revision)
        if name not in self.revisions[COMMIT]:
            self._send(request, 401, b"{}", {"X-Error-Code": "RepoNotFound"})
            return
        files = self.revisions.get(commit, {}).get(name)
        if files is None:
            self._send(request, 404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        elif api == "/api" and verb == "revision":
            self._send_json(request, {"id": name, "sha": commit, "siblings": [{"rfilename": f} for f in files]})
        elif api == "/api" and verb == "tree":
            self._send_json(
                request,
                [{"type": "file", "path": f, "size": len(b), "oid": _oid(b)} for f, b in files.items()],
            )
        elif verb == "resolve" and "/".join(words[2:]) in files:
            content = files["/".join(words[2:])]
            if request.command == "GET" and "/".join(words[2:]) in self.broken:
                self._send(request, 500, b"", {})
                return
            if request.command == "GET":
                self.sent.append("/".join(words[2:]))
            self._send(request, 200, content, {"ETag": f'"{_oid(content)}"', "X-Repo-Commit": commit})
        else:
            self._send(request, 404, b"{}", {"X-Error-Code": "EntryNotFound"})

    def _send_json(self, request: BaseHTTPRequestHandler, value: object) -> None:
        self._send(request, 200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, request: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
        request.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(key, value)
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(body)


def _oid(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def files_below(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
