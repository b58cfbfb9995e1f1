"""The bundled model: SmolLM2-135M on llama.cpp, served on the loopback interface like any endpoint.

It is small enough to run anywhere, and far too small to be good. It lets everything be tried and tested without an API
key.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from bowstring.models import weights
from bowstring.models.endpoint import Endpoint
from bowstring.models.interface import THINKING
from bowstring.models.transport import Patience
from bowstring.records import Completion, Prompt, Sampling

CONTEXT = 8192


class Embedded:
    name = "embedded"
    identity = f"embedded/{weights.MEMBER.rsplit('/', 1)[-1]}"
    refused: ClassVar = dict.fromkeys(THINKING, "does not think")
    concurrency = 1  # one slot, so that the cached trunk is the one in use

    def __init__(self, tell: Callable[[str], None] = lambda line: None, *, patience: Patience | None = None) -> None:
        self._tell = tell
        self._patience = patience
        self._server: Any = None
        self._endpoint: Endpoint | None = None
        self._starting = asyncio.Lock()

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        async with self._starting:
            if self._endpoint is None:
                self._server = await asyncio.to_thread(start_server, self._tell)
                url = f"{self._server.listening_address}/v1"
                self._endpoint = Endpoint(self.name, self.identity, "embedded", url, None, patience=self._patience)
        completion = await self._endpoint.complete(prompt, sampling)
        made = replace(completion.provenance, engine=_engine(), precision=precision_in_name(weights.MEMBER))
        return replace(completion, provenance=made)

    def stop(self) -> None:
        if self._endpoint is not None:
            self._endpoint.stop()

    async def close(self) -> None:
        if self._endpoint is not None:
            await self._endpoint.close()
        self._server = self._endpoint = None


@cache
def _engine() -> str:
    return f"llama.cpp (xllamacpp {version('xllamacpp')})"


def precision_in_name(path: str) -> str:
    """Return the precision that the name of a GGUF file states, such as Q4_1; empty if it states none."""
    found = re.search(r"(?:^|[-._])((?:I?Q\d\w*|B?F16|F32|MXFP4))$", Path(path).stem, re.IGNORECASE)
    return found[1].upper() if found else ""


def start_server(tell: Callable[[str], None] = lambda line: None) -> Any:
    """Start a llama.cpp server on a free port of 127.0.0.1, inside this process, with its log silenced."""
    path = weights.fetch(tell)
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = -1
    params.ui = False
    # Threads must not spin while waiting: on a busy machine that costs more than it gains.
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    return xllamacpp.Server(params)
