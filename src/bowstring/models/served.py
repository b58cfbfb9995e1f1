"""Whether answers of a server begin inside a thought: asked of the server itself, once, and only where it matters.

An answer that ended at its limit and has no marker is either an answer or a thought that the template opened. What
other answers look like would decide it by their order of arrival. So the server is asked how it renders a chat: at
/apply-template (llama.cpp), or at /tokenize and /detokenize (vLLM). Nothing is generated for that. llama.cpp does not
say whether it has removed an empty thought, so there one short answer is compared with the same one in raw form.

A server that does not have these paths does not say it. A server that fails for the moment is asked again, and if it
still fails, so does the request: a thought would be stored as an answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from bowstring.models.finish_reasons import check_error
from bowstring.models.interface import RequestFailed
from bowstring.models.reasoning import ThoughtFormat, opened_format
from bowstring.models.transport import Transport, is_passing

_CHAT = [{"role": "user", "content": "Hi"}]
_LAST = 16  # tokens of a prompt among which the opening marker is looked for
_SHORT = 8  # tokens of an answer
# What servers and gateways answer to a path that they do not have, or to a request that they do not know.
_DOES_NOT_SAY = frozenset({*range(300, 400), 400, 401, 403, 404, 405, 406, 410, 413, 415, 421, 422, 501})


@dataclass(frozen=True, slots=True)
class Opening:
    """The format of the thought that answers begin in, if they do; not `known` if the server does not say it."""

    known: bool
    format: ThoughtFormat | None = None


class ServedTemplate:
    """The chat template of a server."""

    def __init__(self, transport: Transport, url: str, model: str) -> None:
        self._transport = transport
        self._url = url
        self._model = model
        self._found: dict[str | None, Opening] = {}
        self._failed: dict[str | None, RequestFailed] = {}  # the last time
        self._asking = asyncio.Lock()

    async def opening(self, template_args: str | None) -> Opening:
        """Return how answers begin. Raises RequestFailed if the server fails; a later call asks again."""
        failed_before = self._failed.get(template_args)
        async with self._asking:
            if template_args in self._found:
                return self._found[template_args]
            failed = self._failed.get(template_args)
            if failed is not None and failed is not failed_before:  # while this call waited
                raise RequestFailed(failed.kind, failed.reason)
            try:
                self._found[template_args] = await self._ask(template_args)
            except RequestFailed as failed:
                self._failed[template_args] = failed
                raise
            return self._found[template_args]

    async def _ask(self, template_args: str | None) -> Opening:
        chat: dict[str, Any] = {"model": self._model, "messages": _CHAT}
        if template_args is not None:
            chat["chat_template_kwargs"] = json.loads(template_args)
        root = self._url.removesuffix("/v1")
        prompt = (await self._post(f"{root}/apply-template", chat)).get("prompt")
        if isinstance(prompt, str) and prompt:
            format = opened_format(prompt)
            separates = format is not None and await self._separates(chat)
            return Opening(False) if separates is None else Opening(True, None if separates else format)
        tokens = (await self._post(f"{root}/tokenize", chat)).get("tokens")
        if isinstance(tokens, list) and tokens:
            asked = {"model": self._model, "tokens": tokens[-_LAST:]}
            prompt = (await self._post(f"{root}/detokenize", asked)).get("prompt")
        return Opening(True, opened_format(prompt)) if isinstance(prompt, str) and prompt else Opening(False)

    async def _separates(self, chat: Mapping[str, Any]) -> bool | None:
        """Return whether the server removes thoughts from the text of answers; None if it does not say."""
        short = {**chat, "max_tokens": _SHORT, "temperature": 0.0}
        url = f"{self._url}/chat/completions"
        plain = _content(await self._post(url, short))
        raw = _content(await self._post(url, short | {"reasoning_format": "none"}))
        return None if plain is None or raw is None else plain != raw

    async def _post(self, url: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the server's answer; nothing if it does not know what is asked."""
        try:
            found: dict[str, Any] = await self._transport.exchange(
                lambda: self._transport.plain_request("POST", url, json=dict(value)), _read, readable=_DOES_NOT_SAY
            )
        except RequestFailed as failed:
            if failed.kind not in ("server", "timeout"):
                return {}
            asked = f"asked at {urlsplit(url).path} whether answers begin in a thought"
            raise RequestFailed("server", f"{failed.reason} ({asked})") from failed
        return found


def _read(response: httpx.Response) -> dict[str, Any]:
    """Return the object that a server sent; nothing if it is something else. Raises AnswerFailed if it reports a
    failure that may pass."""
    try:
        found = response.json() if response.is_success else None
    except (ValueError, RecursionError):  # such as a page
        return {}
    if not isinstance(found, dict):
        return {}
    error = found.get("error")
    if isinstance(error, dict) and isinstance(code := error.get("code"), int) and is_passing(code):
        check_error(error)
    return found


def _content(answer: Mapping[str, Any]) -> object:
    try:
        return answer["choices"][0]["message"].get("content") or ""
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
