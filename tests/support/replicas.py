"""Servers of the same model with a prefix cache each: in this process, or as processes that a test kills.

    with replicas(3) as servers:
        bowstring("eval", "hicupid", "--model", model_of(servers), "--served-as", "m")

    process = ReplicaProcess(folder)
    process.kill()
    process.start()  # on the same port

A server reports as cached what a prompt has in common with one that it has answered, by whole messages.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.support.processes import wait_until
from tests.support.server import Reply, Request, Server, text_of

ROOT = Path(__file__).parents[2]


class Replica(Server):
    """A server that lists its models, if it is given any."""

    def __init__(self, models: Sequence[dict[str, Any]] | None = None, **given: Any) -> None:
        self.models = models
        self.listed = 0  # how often it was asked for its models
        self.fault: Callable[[Request], Reply | None] = given.pop("faults", lambda request: None)
        super().__init__(faults=self._reply, **given)
        self._cached: set[tuple[str, ...]] = set()

    def _reply(self, request: Request) -> Reply | None:
        if not request.path.endswith("/models"):
            return self.fault(request)
        self.requests.remove(request)
        self.listed += 1
        found = self.fault(request)
        if found is not None or self.models is None:
            return found or Reply(404)
        return Reply(body=json.dumps({"object": "list", "data": list(self.models)}).encode())

    def _answered(self, request: Request) -> Reply:
        reply = super()._answered(request)
        texts = [text_of(m) for m in request.body["messages"]]
        beginnings = [tuple(texts[:n]) for n in range(1, len(texts) + 1)]
        cached = max((b for b in beginnings if b in self._cached), key=len, default=())
        self._cached.update(beginnings)
        value = json.loads(reply.body)
        words = sum(len(text.split()) for text in cached)
        value["usage"]["prompt_tokens_details"] = {"cached_tokens": words}
        return Reply(body=json.dumps(value).encode())


@contextmanager
def replicas(n: int, **given: Any) -> Iterator[list[Replica]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Replica(**given)) for _ in range(n)]


def model_of(servers: Sequence[Any], name: str = "m") -> str:
    return f"openai/{name}@{','.join(server.url for server in servers)}"


class ReplicaProcess:
    """A server in a process of its own. What it was asked is in a file, line by line, before it answers."""

    def __init__(self, folder: Path, *, wait: float = 0.0) -> None:
        folder.mkdir()
        self.log = folder / "requests.jsonl"
        self._wait = wait
        self.port = 0
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        words = [sys.executable, "-m", "tests.support.replicas", str(self.log), str(self.port), str(self._wait)]
        self._process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def wait_for(self, n: int) -> None:
        wait_until(lambda: len(self.asked()) >= n)


def _serve(log: Path, port: int, wait: float) -> None:
    def note(request: Request) -> None:
        if request.path.endswith("/completions"):
            with log.open("a") as file:
                file.write(json.dumps([[m["role"], text_of(m)] for m in request.body["messages"]]) + "\n")

    server = Replica(faults=note, delay=lambda: wait)
    server.port = port
    with server:
        print(server.port, flush=True)
        signal.pause()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
