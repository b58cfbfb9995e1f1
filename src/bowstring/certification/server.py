"""A scripted model server on loopback. An answer depends on its request alone, so two programs that ask the same get
the same answers, in any order.

    with ScriptedServer(("gpt-4o",)) as server:
        server.script = lambda body: Answer("answer", "hello")
        …                                    # something that asks server.address
        server.exchanges                     # what was asked, once each, with its answer
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_CHAT = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Answer:
    stage: str  # what the request is for, such as "judge"
    text: str | None
    finish: str = "stop"
    status: int = 200
    error: str = ""  # the message, where the status is not 200


Script = Callable[[Mapping[str, Any]], Answer]


@dataclass(frozen=True, slots=True)
class Exchange:
    body: Mapping[str, Any]
    answer: Answer


def request_hash(body: Mapping[str, Any]) -> str:
    """Return the hash of everything in a request: model, messages, settings. 0 and 0.0 are one number."""
    return hashlib.sha256(json.dumps(_plain(body), sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Listening(ThreadingHTTPServer):
    request_queue_size = 256  # connections of a concurrent client that are not accepted yet
    daemon_threads = True


class ScriptedServer:
    def __init__(self, models: Sequence[str]) -> None:
        self.script: Script = lambda body: Answer("unknown", None, status=500, error="no script")
        self.exchanges: dict[str, Exchange] = {}
        self._models = tuple(models)
        self._lock = threading.Lock()
        self._server = _Listening(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self) -> dict[str, Exchange]:
        """Return what was asked since the last call."""
        with self._lock:
            taken, self.exchanges = self.exchanges, {}
        return taken

    def answer(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        answer = self.script(body)
        with self._lock:
            self.exchanges[request_hash(body)] = Exchange(body, answer)
        if answer.status != 200:
            return answer.status, {"error": {"message": answer.error, "type": "invalid_request_error"}}
        message = {"role": "assistant", "content": answer.text}
        if answer.text is None:
            message["refusal"] = "I cannot help with that."
        return 200, {
            "id": "scripted",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def models(self) -> dict[str, Any]:
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "scripted"} for name in self._models]
        return {"object": "list", "data": listed}


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            known = self.path.endswith("/models")
            self._send(200 if known else 404, server.models() if known else {"error": {"message": "not found"}})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path.endswith(_CHAT):
                self._send(*server.answer(json.loads(raw)))
            else:
                self._send(404, {"error": {"message": "not found"}})

        def _send(self, status: int, value: Mapping[str, Any]) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None: ...

    return Handler
