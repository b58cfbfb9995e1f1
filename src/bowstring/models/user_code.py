"""User-supplied Python code as a model: `python:module:name`, or the object itself in the API.

    def answer(messages):                     # [{"role": "user", "content": "…"}, …]
        return "my model's answer"

    bowstring eval hicupid --model python:my_module:answer

It may be a function or a class (instantiated without arguments, then called), sync or async, and may take the sampling
settings as a second argument. It returns text, or a Completion for more detail.
"""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import importlib
import inspect
import os
import sys
import uuid
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

from bowstring.errors import UsageError
from bowstring.files.escaping import replace_surrogates
from bowstring.files.redaction import error_line
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.tracebacks import log_traceback
from bowstring.models.interface import THINKING, RequestFailed, is_too_long
from bowstring.models.isolation import BackgroundLoop, Outcome, StillRunning, ThreadPlaces
from bowstring.models.reasoning import split_reasoning
from bowstring.records import Completion, FailureKind, Finish, Prompt, Provenance, Sampling, Usage, fields_of


class UserModel:
    def __init__(self, function: Callable[..., Any], name: str, identity: str, *, timeout: float | None = None) -> None:
        call = function if inspect.isroutine(function) else type(function).__call__
        self._call = function
        self._is_async = inspect.iscoroutinefunction(call)
        self._takes_sampling = _takes_sampling(function)
        why = "takes no settings: give it a second argument, sampling"
        self.refused = {} if self._takes_sampling else dict.fromkeys(THINKING, why)
        self._timeout = timeout
        self._loop: BackgroundLoop | None = None
        self._threads = ThreadPlaces()
        self.name = name
        self.identity = identity
        # Blocking code may not be thread-safe, so it runs one call at a time unless --concurrency is given.
        self.concurrency = 16 if self._is_async else 1

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        messages = [{"role": m.role, "content": m.text} for m in prompt.messages]
        arguments = (messages, sampling) if self._takes_sampling else (messages,)
        end = None if self._timeout is None else asyncio.get_running_loop().time() + self._timeout
        try:
            outcome = await self._outcome(*arguments, end=end)
        except TimeoutError as error:
            raise RequestFailed("code", f"{self.name} did not answer within {self._timeout:g} s") from error
        except StillRunning as error:
            why = f"an earlier call did not return within {self._timeout:g} s and is still running"
            raise RequestFailed("code", f"{self.name} was not called: {why}") from error
        if outcome.error is not None:
            log_traceback(self.name, outcome.error)
            reason = error_line(outcome.error, with_type=True, limit=None)
            raise RequestFailed(_kind_of(outcome.error, reason), f"{self.name} raised {reason}") from outcome.error
        answer = outcome.value
        if isinstance(answer, Completion):
            return self._checked(answer)
        if not isinstance(answer, str):
            raise RequestFailed("code", f"{self.name} returned {type(answer).__name__}; expected text")
        text, reasoning = split_reasoning(answer)
        return Completion(text, reasoning=reasoning)

    async def _outcome(self, *arguments: Any, end: float | None) -> Outcome:
        if self._is_async:
            return await self._in_background(self._call, *arguments, end=end)
        outcome = await self._threads.call(self._call, *arguments, end=end)
        if not inspect.isawaitable(awaitable := outcome.value):
            return outcome

        async def awaited() -> Any:
            return await awaitable

        return await self._in_background(awaited, end=end)

    async def _in_background(self, function: Callable[..., Any], *arguments: Any, end: float | None) -> Outcome:
        # Not in the run's own loop: async code that blocks would stop the timeouts and Ctrl-C too.
        if self._loop is None:
            self._loop = BackgroundLoop()
        async with asyncio.timeout_at(end):
            return await self._loop.call(function, *arguments)

    def _checked(self, answer: Completion) -> Completion:
        if (field := _wrong_field(answer)) is not None:
            raise RequestFailed("code", f"{self.name} returned a Completion whose {field} has a wrong type or value")
        return answer

    async def close(self) -> None:
        if self._loop is not None:
            self._loop.close()
            self._loop = None


def _wrong_field(answer: Completion) -> str | None:
    """Return the field of a completion that cannot be stored; None if all of them can."""
    made = answer.provenance
    sound = {
        "text": isinstance(answer.text, str),
        "finish": isinstance(answer.finish, str) and answer.finish in get_args(Finish),
        "reasoning": isinstance(answer.reasoning, str | None),
        "usage": isinstance(answer.usage, Usage)
        and all(isinstance(n, int) and 0 <= n < 1 << 63 for n in fields_of(answer.usage).values()),
        "provenance": isinstance(made, Provenance)
        and all(isinstance(value, _PROVENANCE[name]) and _is_unicode(value) for name, value in fields_of(made).items())
        and (not made.sent or _is_json_object(made.sent)),
    }
    return next((name for name, is_sound in sound.items() if not is_sound), None)


_PROVENANCE = get_type_hints(Provenance) | {"stored_at": int | float}


def _is_unicode(value: object) -> bool:
    """Return whether a text has no lone surrogates, which the store cannot hold."""
    return not isinstance(value, str) or replace_surrogates(value) == value


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(parse_strict_json(text), dict)
    except ParseError:
        return False


def _kind_of(error: BaseException, reason: str) -> FailureKind:
    """What failed: the connection of the code to something else, its context window, or the code itself."""
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionError):
        return "server"
    return "context" if is_too_long(reason) else "code"


def load_user_model(name: str, timeout: float | None = None) -> UserModel:
    """Load the model `python:module:name`; modules in the current folder are found. `timeout` is in seconds per
    answer."""
    parts = name.split(":")
    if len(parts) != 3 or not all(parts):
        raise UsageError(f"{name}: expected python:module:name, such as python:my_module:answer")
    found = load_attribute(name)
    return UserModel(_callable(found, name), name, f"{name}#{source_hash(found) or 'unknown'}", timeout=timeout)


def load_attribute(name: str, option: str = "") -> Any:
    """Import the object that `python:module:name` names; modules in the current folder are found. `option` is the
    option that named it, for errors."""
    where = f"{option} {name}".lstrip()
    _, module_name, attribute = name.split(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # user code may raise anything
        raise UsageError(
            f"{where}: {module_name} cannot be imported: {error_line(error, with_type=True, limit=None)}"
        ) from error
    found = getattr(module, attribute, None)
    if found is None:
        close = difflib.get_close_matches(attribute, [one for one in vars(module) if not one.startswith("_")], n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UsageError(f"{where}: {module_name} has no {attribute}{hint}")
    return found


def user_model(found: Any, timeout: float | None = None) -> UserModel:
    """Wrap a callable or a class as a model. A class is instantiated here, once.

    A function or class at module level is identified by its name and source across runs. Anything else (an object with
    state, a lambda, a closure) could change under the same name: its answers are not reused, unless it has an attribute
    `identity`.
    """
    owner = found if inspect.isroutine(found) or inspect.isclass(found) else type(found)
    name = f"python:{getattr(owner, '__module__', '?')}:{getattr(owner, '__qualname__', '?')}"
    said = getattr(found, "identity", None)
    plain = (inspect.isfunction(found) and not found.__closure__) or inspect.isclass(found)
    source = source_hash(found) if plain and "<" not in name else None
    identity = said if isinstance(said, str) else f"{name}#{source or uuid.uuid4().hex}"
    return UserModel(_callable(found, name), name, identity, timeout=timeout)


def _callable(found: Any, name: str) -> Callable[..., Any]:
    if inspect.isclass(found):
        try:
            found = found()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # user code may raise anything
            raise UsageError(
                f"{name}: instantiating it without arguments raised {error_line(error, with_type=True, limit=None)}"
            ) from error
    if not callable(found):
        raise UsageError(f"{name} is not a model; expected a name, a function, or an object that can be called")
    return found  # type: ignore[no-any-return]


def _takes_sampling(function: Callable[..., Any]) -> bool:
    """Return whether the second argument is for sampling settings: it has no default, or is named `sampling`."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
    except (TypeError, ValueError):  # built-in code without a signature
        return False
    return len(parameters) > 1 and (parameters[1].name == "sampling" or parameters[1].default is parameters[1].empty)


def source_hash(found: Any) -> str | None:
    """Return a hash of the defining file: changed code gives different answers, so the store treats it as another
    model."""
    try:
        source = inspect.getsource(inspect.getmodule(found) or found)
    except (OSError, TypeError):
        return None
    return hashlib.sha256(source.encode()).hexdigest()[:12]
