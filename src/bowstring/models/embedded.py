"""The bundled model: SmolLM2-135M on llama.cpp, served on the loopback interface like any endpoint.

It is small enough to run anywhere, and far too small to be good. It lets everything be tried and tested without an API
key.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from bowstring.errors import ModelError
from bowstring.files.redaction import redact
from bowstring.models import weights
from bowstring.models.endpoint import Endpoint
from bowstring.models.forced_scoring import ForcedScoring
from bowstring.models.interface import THINKING
from bowstring.models.isolation import call_on_thread
from bowstring.models.scores import Scores
from bowstring.models.transport import Patience
from bowstring.records import Completion, Prompt, Provenance, Sampling

CONTEXT = 8192
_PROGRAM = Path(__file__).with_name("embedded_server.py")


class Embedded:
    name = "embedded"
    identity = f"embedded/{weights.MEMBER.rsplit('/', 1)[-1]}"
    refused: ClassVar = dict.fromkeys(THINKING, "does not think")
    takes_schema = True
    concurrency = 1  # one slot, so that the cached trunk is the one in use

    def __init__(self, tell: Callable[[str], None] = lambda line: None, *, patience: Patience | None = None) -> None:
        self._tell = tell
        self._patience = patience
        self._server: Server | None = None
        self._endpoint: Endpoint | None = None
        self._scorer = ForcedScoring(CONTEXT)
        self._starting = asyncio.Lock()

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        endpoint = await self._started()
        completion = await endpoint.complete(prompt, sampling)
        return replace(completion, provenance=_made(completion.provenance))

    async def score(self, prompt: Prompt, options: Sequence[str], sampling: Sampling) -> Scores:  # noqa: ARG002
        endpoint = await self._started()
        scores = await self._scorer.scores(endpoint.transport, endpoint.url, prompt, options)
        return replace(scores, provenance=_made(scores.provenance))

    async def _started(self) -> Endpoint:
        async with self._starting:
            if self._endpoint is None:
                # On a daemon thread: a process that is interrupted meanwhile does not wait for it.
                started = await call_on_thread(Server, self._tell)
                if started.error is not None:
                    raise started.error
                self._server = started.value
                url = f"{started.value.address}/v1"
                self._endpoint = Endpoint(self.name, self.identity, "embedded", url, None, patience=self._patience)
            return self._endpoint

    def stop(self) -> None:
        if self._endpoint is not None:
            self._endpoint.stop()

    async def close(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.close()
        if self._server is not None:
            self._server.close()
        self._server = self._endpoint = None


def _made(by: Provenance) -> Provenance:
    return replace(by, engine=_engine(), precision=precision_in_name(weights.MEMBER))


@cache
def _engine() -> str:
    return f"llama.cpp (xllamacpp {version('xllamacpp')})"


def precision_in_name(path: str) -> str:
    """Return the precision that the name of a GGUF file states, such as Q4_1; empty if it states none."""
    found = re.search(r"(?:^|[-._])((?:I?Q\d\w*|B?F16|F32|MXFP4))$", Path(path).stem, re.IGNORECASE)
    return found[1].upper() if found else ""


class Server:
    """A llama.cpp server on a free port of 127.0.0.1, in a process of its own, with its log silenced."""

    def __init__(self, tell: Callable[[str], None] = lambda line: None) -> None:
        path = weights.fetch(tell)
        # In a session of its own, because Ctrl-C lets requests in flight finish; it ends with its input. With -P a
        # module in the current folder does not take the place of an installed one.
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", str(_PROGRAM), str(path), str(CONTEXT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        assert self._process.stdout is not None
        printed = []
        for line in self._process.stdout:
            if line.startswith("http://"):
                self.address = line.strip()
                return
            printed.append(line.strip())
        self.close()
        reason = redact(next((line for line in reversed(printed) if line), "its process ended"))
        raise ModelError(f"the embedded model cannot be started: {reason[:300]}")

    def close(self) -> None:
        """End it at once, even with a request in flight."""
        self._process.kill()
        self._process.communicate()
