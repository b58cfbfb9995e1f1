"""The interface of all models, and the errors that a request can raise.

class Parrot:
    name = identity = "parrot"
    concurrency = 4

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        return Completion(prompt.messages[-1].text)

    async def close(self) -> None: ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from bowstring.records import Completion, FailureKind, Prompt, Sampling

THINKING = ("template_args", "thinking_tokens")  # settings of thoughts, which not all models take


class Model(Protocol):
    name: str  # as the user wrote it
    identity: str  # what stored responses record: no port, no key
    concurrency: int  # default number of concurrent requests

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Send the request, with the retries that the protocol requires.

        Raises RequestFailed, or ModelError if no request to this model can succeed.
        """
        ...

    async def close(self) -> None: ...

    # A model may also have:
    #   stop(), called when a run is ending, so that nothing is retried
    #   before_retry(wait), called with a function to await before a request is sent again
    #   refused: why it cannot take settings of thoughts (THINKING), by their names
    #   least_thinking: the least size of a budget of thoughts, in tokens
    #   takes_schema: whether requests may have the JSON schema of an answer; it may raise SchemaRefused
    #   is_openai: whether it is OpenAI's API (see `is_openai`)
    #   full_name: a name that opens it again, whatever the environment says then
    #   take_wasted(): the usage of attempts that failed, since it was called last
    #   place_of(prompt): the server that a prompt goes to, of several (`Place`); each has `concurrency` requests in
    #   flight. It may then raise Moved, and it has `addresses`, `outages` and when_servers_change(call)
    #   notes(): what a reader of its answers must know
    #   score(prompt, options, sampling): how probable it finds given answers (`Scores` in models/scores.py); of the
    #   sampling, only the arguments of its template apply


def can_score(model: Model) -> bool:
    """Return whether a model says how probable it finds given answers."""
    return callable(getattr(model, "score", None))


def is_openai(model: object) -> bool:
    """Return whether a model is asked as OpenAI's API is: protocols of authors send it instructions in the role
    `developer`, and fewer settings. By its address OpenAI itself is; other servers are if the user says so."""
    return bool(getattr(model, "is_openai", False))


class NotYet(Exception):
    """The run is ending before the answer arrived; a later run with the same request will get it."""


@dataclass(frozen=True, slots=True)
class Place:
    """The server that a prompt goes to, and how often that server has failed: its cache is lost with it."""

    server: str = ""
    outages: int = 0


class Moved(Exception):
    """The prompt now goes to another server: wait for a turn there, and send the request again."""


class SchemaRefused(Exception):
    """The server does not take the JSON schema of the answer: it can be asked for text."""


class RequestFailed(Exception):
    """This request failed, but others may succeed, so the run continues. The reason is always one line."""

    def __init__(self, kind: FailureKind, reason: str) -> None:
        self.kind = kind
        self.reason = " ".join(reason.split())
        super().__init__(self.reason)


_CONTEXT = re.compile(
    r"context.{0,20}(length|size|window)|too (long|large)|maximum.{0,20}tokens|exceeds? the (available|max)|"
    r"input is too long|prompt is too long",
    re.IGNORECASE,
)


def is_too_long(message: str) -> bool:
    """Return whether an error message means that the prompt exceeds the context length."""
    return bool(_CONTEXT.search(message))
