"""The one interface that everything which can be asked has, and how asking can fail.

class Parrot:
    name = identity = "parrot"
    concurrency = 4

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        return Completion(prompt.messages[-1].text)

    async def close(self) -> None: ...
"""

from __future__ import annotations

from typing import Protocol

from bowstring.records import Completion, FailureKind, Prompt, Sampling


class Model(Protocol):
    name: str  # as the user wrote it
    identity: str  # what a stored response remembers of it: no port, no key
    concurrency: int  # how many requests it takes at a time, unless the user says otherwise

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Ask, with whatever retries the protocol calls for.

        Raises RequestFailed, or ModelError where no request to this model can succeed.
        """
        ...

    async def close(self) -> None: ...

    # A model may also have stop(): called when a run is ending, so that nothing is tried again.


class NotYet(Exception):
    """The run is ending before the answer has come; another run that asks the same will get it."""


class RequestFailed(Exception):
    """This request got no answer, and others may: the run goes on. The reason is one line, whatever was said."""

    def __init__(self, kind: FailureKind, reason: str) -> None:
        self.kind = kind
        self.reason = " ".join(reason.split())
        super().__init__(self.reason)
