"""User-supplied stages, `--history python:module:Class`: a memory system, a search, or anything else.

    class Recent:
        def __init__(self, ask):               # ask: optional; await ask("text or messages", max_tokens=200) -> str
            self.ask = ask

        def open(self, user):                  # a new user; one instance serves one user
            self.seen = []

        def ingest(self, dialogue):            # oldest first: dialogue.id, .when, .messages (role, text)
            self.seen.append(dialogue.id)

        def retrieve(self, question):          # what to show: text, texts, ids of dialogues, or a Shown
            return self.seen[-3:]

Methods may be async; other methods call `ask.wait(...)`. Requests are stored, budgeted and counted
under the role `history`. `check_stage` in bowstring.history.stages.conformance tests a class.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bowstring.errors import UsageError
from bowstring.files.redaction import error_line
from bowstring.files.tracebacks import log_traceback
from bowstring.history.stages.interface import Ask, Shown
from bowstring.models.interface import RequestFailed
from bowstring.models.isolation import Outcome, await_apart, call_on_thread
from bowstring.models.user_code import load_attribute, source_hash
from bowstring.records import Dialogue, Message, Prompt, Sampling, Trunk

_METHODS = ("open", "ingest", "retrieve")
_ROLES = ("system", "user", "assistant")
Text = str | Sequence[Mapping[str, str]]


class UserAsk:
    """The model of a stage's role, as user code calls it."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._loop: asyncio.AbstractEventLoop | None = None
        self.end: Exception | None = None  # why the run is ending, such as a spent budget

    async def __call__(
        self, text: Text, *, max_tokens: int = 400, temperature: float = 0.0, seed: int | None = None
    ) -> str:
        """Return the answer to a text, or to messages such as {"role": "user", "content": "…"}."""
        prompt = Prompt(Trunk(()), tuple(_messages(text)))
        sampling = Sampling(max_tokens=max_tokens, temperature=temperature, seed=seed)
        try:
            return (await self._ask(prompt, sampling, expect=min(120, max_tokens))).text
        except RequestFailed:
            raise
        except Exception as error:
            self.end = error
            raise

    def wait(self, text: Text, **sampling: Any) -> str:
        """The same for synchronous code, which runs on its own thread."""
        if self._loop is None:
            raise RuntimeError("ask.wait() can be used only inside open, ingest and retrieve")
        return asyncio.run_coroutine_threadsafe(self(text, **sampling), self._loop).result()


def _messages(text: Text) -> list[Message]:
    if isinstance(text, str):
        return [Message("user", (text,))]
    found = [(m.get("role"), m.get("content")) for m in text]
    if not found or not all(role in _ROLES and isinstance(content, str) for role, content in found):
        raise TypeError("ask() takes text, or messages with a role (system, user, assistant) and content")
    return [Message(role, (content,)) for role, content in found]  # type: ignore[arg-type]


class UserStage:
    """Wraps a user's class as a stage. Any error it raises fails the question, not the run."""

    name = "history"

    def __init__(self, made: type[Any], called: str, ask: Ask) -> None:
        self._called, self._asks = called, UserAsk(ask)
        self._dialogues: dict[int, Dialogue] = {}
        try:
            self._stage = made(self._asks) if _takes_ask(made) else made()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # user code may raise anything
            log_traceback(called, error)
            raise RequestFailed("server", f"{called} raised {error_line(error, with_type=True, limit=None)}") from error

    async def open(self, user: str) -> None:
        await self._call("open", user)

    async def ingest(self, dialogue: Dialogue) -> None:
        self._dialogues[dialogue.id] = dialogue
        await self._call("ingest", replace(dialogue, kind=""))  # a label of the data, such as HiCUPID's persona

    async def expect(self, questions: Sequence[str]) -> None:
        """Do nothing: a user's stage is queried question by question."""

    async def retrieve(self, question: str) -> Shown:
        return self._shown(await self._call("retrieve", question))

    async def _call(self, method: str, argument: Any) -> Any:
        function = getattr(self._stage, method)
        self._asks._loop = asyncio.get_running_loop()
        error = (outcome := await self._outcome(function, argument)).error
        if error is not None:
            if isinstance(error, RequestFailed) and self._asks.end is None:
                raise error
            if self._asks.end is not None:
                raise self._asks.end from error
            log_traceback(f"{self._called}.{method}", error)
            reason = error_line(error, with_type=True, limit=None)
            raise RequestFailed("server", f"{self._called}.{method} raised {reason}") from error
        if self._asks.end is not None:  # user code went on without the answer
            raise self._asks.end
        return outcome.value

    async def _outcome(self, function: Any, argument: Any) -> Outcome:
        """Call a method. Async code runs in this loop, because it may await `ask`."""
        if inspect.iscoroutinefunction(function):
            return await await_apart(function(argument))
        outcome = await call_on_thread(function, argument)
        return await await_apart(outcome.value) if inspect.isawaitable(outcome.value) else outcome

    def _shown(self, found: Any) -> Shown:
        if isinstance(found, Shown):
            self._check_sources(found.sources or ())
            return found
        if isinstance(found, str):
            return Shown(notes=(found,))
        listed = list(found) if isinstance(found, list | tuple) else None
        if listed and all(isinstance(one, str) for one in listed):
            return Shown(notes=tuple(listed))
        ids = [one.id if isinstance(one, Dialogue) else one for one in ([None] if listed is None else listed)]
        if not all(isinstance(one, int) and not isinstance(one, bool) for one in ids):
            raise RequestFailed(
                "protocol",
                f"{self._called}.retrieve returned {type(found).__name__}; expected text, texts, ids of dialogues, "
                "dialogues or a Shown",
            )
        self._check_sources(ids)
        chosen = {one.id: one for one in listed or () if isinstance(one, Dialogue)}
        wanted = set(ids)
        dialogues = tuple(
            replace(chosen[n], kind=dialogue.kind) if n in chosen else dialogue
            for n, dialogue in self._dialogues.items()
            if n in wanted
        )
        return Shown(dialogues, sources=tuple(dialogue.id for dialogue in dialogues))

    def _check_sources(self, ids: Sequence[Any]) -> None:
        if unknown := [one for one in ids if one not in self._dialogues]:
            raise RequestFailed(
                "protocol", f"{self._called}.retrieve returned dialogue {unknown[0]!r}, which this user does not have"
            )


class UserStages:
    """Creates one stage per user, from `python:module:Class` or from the class itself."""

    def __init__(self, stage: str | type[Any]) -> None:
        found = load_attribute(stage, "--history") if isinstance(stage, str) else stage
        self.name = stage if isinstance(stage, str) else f"python:{found.__module__}:{found.__qualname__}"
        if not inspect.isclass(found):
            raise UsageError(f"--history {self.name}: expected a class with {', '.join(_METHODS)}")
        if lacking := [name for name in _METHODS if not callable(getattr(found, name, None))]:
            raise UsageError(f"--history {self.name}: the class lacks {', '.join(lacking)}")
        self.identity = f"{self.name}#{source_hash(found) or 'unknown'}"
        self._made = found

    def __call__(self, ask: Ask) -> UserStage:
        return UserStage(self._made, self.name, ask)


def _takes_ask(made: type[Any]) -> bool:
    """Return whether the class wants to call models: its first argument has no default, or is named `ask`."""
    if made.__init__ is object.__init__:
        return False
    parameters = list(inspect.signature(made).parameters.values())
    return bool(parameters) and (parameters[0].name == "ask" or parameters[0].default is inspect.Parameter.empty)
