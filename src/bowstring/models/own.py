"""A user's own Python as a model: `python:module:name`, or the object itself in the API.

    def answer(messages):                     # [{"role": "user", "content": "…"}, …]
        return "my model's answer"

    bowstring eval hicupid --model python:my_module:answer

It may be a function or a class (made without arguments, then called), sync or async, and may take the sampling
settings as a second argument. It returns text, or a Completion to say more.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from bowstring.errors import UsageError
from bowstring.models.interface import RequestFailed
from bowstring.models.reasoning import split_reasoning
from bowstring.records import Completion, Prompt, Sampling


class OwnModel:
    def __init__(self, function: Callable[..., Any], name: str) -> None:
        call = function if inspect.isroutine(function) else type(function).__call__
        self._call = function
        self._is_async = inspect.iscoroutinefunction(call)
        self._takes_sampling = _positional(function) > 1
        self.name = name
        self.identity = f"{name}#{_source_hash(function)}"
        # Code that blocks may also not bear to run twice at once; who knows better says --concurrency.
        self.concurrency = 16 if self._is_async else 1

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        messages = [{"role": m.role, "content": m.text} for m in prompt.messages]
        arguments = (messages, sampling) if self._takes_sampling else (messages,)
        try:
            if self._is_async:
                answer = await self._call(*arguments)
            else:
                answer = await asyncio.to_thread(self._call, *arguments)
        except Exception as error:  # whatever the user's code raises belongs to this request
            raise RequestFailed("server", f"{self.name} raised {type(error).__name__}: {error}") from error
        if isinstance(answer, Completion):
            return answer
        if not isinstance(answer, str):
            raise RequestFailed("protocol", f"{self.name} returned {type(answer).__name__}; expected text")
        text, reasoning = split_reasoning(answer)
        return Completion(text, reasoning=reasoning)

    async def close(self) -> None:
        pass


def load_own(name: str) -> OwnModel:
    """The model behind `python:module:name`; modules of the current folder are found."""
    parts = name.split(":")
    if len(parts) != 3 or not all(parts):
        raise UsageError(f"{name}: expected python:module:name, such as python:my_module:answer")
    _, module_name, attribute = parts
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"{name}: {module_name} cannot be imported: {error}") from error
    found = getattr(module, attribute, None)
    if found is None:
        raise UsageError(f"{name}: {module_name} has no {attribute}")
    return own_model(found, name)


def own_model(found: Any, name: str | None = None) -> OwnModel:
    """A callable or a class as a model. A class is made here, once."""
    if inspect.isclass(found):
        found = found()
    if not callable(found):
        raise UsageError(f"{name or found!r} is not callable; expected a function or a class with __call__")
    owner = found if inspect.isroutine(found) else type(found)
    default = f"python:{getattr(owner, '__module__', '?')}:{getattr(owner, '__qualname__', '?')}"
    return OwnModel(found, name or default)


def _positional(function: Callable[..., Any]) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        return sum(p.kind in kinds for p in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built-in code without a signature
        return 1


def _source_hash(function: Callable[..., Any]) -> str:
    """A hash of the file that defines it: other code gives other answers, so it is another model to the store."""
    owner = function if inspect.isroutine(function) else type(function)
    try:
        source = inspect.getsource(inspect.getmodule(owner) or owner)
    except (OSError, TypeError):
        return "unknown"
    return hashlib.sha256(source.encode()).hexdigest()[:12]
