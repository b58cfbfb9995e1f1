"""Whether answers of a server begin inside a thought: asked of the server itself, once, and only where it matters.

An answer that ended at its limit and has no marker is either an answer or a thought that the template opened. What
other answers look like would decide it by their order of arrival. So the server is asked how it renders a chat: at
/apply-template (llama.cpp), or at /tokenize and /detokenize (vLLM). Nothing is generated for that. llama.cpp does not
say whether it has removed an empty thought, so there one short answer is compared with the same one in raw form.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bowstring.errors import ModelError
from bowstring.models.interface import RequestFailed
from bowstring.models.reasoning import ThoughtFormat, opened_format
from bowstring.models.transport import Rejected, Transport

_CHAT = [{"role": "user", "content": "Hi"}]
_LAST = 16  # tokens of a prompt among which the opening marker is looked for
_SHORT = 8  # tokens of an answer


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
        self._asking = asyncio.Lock()

    async def opening(self, template_args: str | None) -> Opening:
        async with self._asking:
            if template_args not in self._found:
                self._found[template_args] = await self._ask(template_args)
            return self._found[template_args]

    async def _ask(self, template_args: str | None) -> Opening:
        chat: dict[str, Any] = {"model": self._model, "messages": _CHAT}
        if template_args is not None:
            chat["chat_template_kwargs"] = json.loads(template_args)
        root = self._url.removesuffix("/v1")
        prompt = (await self._post(f"{root}/apply-template", chat)).get("prompt")
        if isinstance(prompt, str) and prompt:
            format = opened_format(prompt)
            return Opening(True, None if format and await self._separates(chat) else format)
        tokens = (await self._post(f"{root}/tokenize", chat)).get("tokens")
        if isinstance(tokens, list) and tokens:
            asked = {"model": self._model, "tokens": tokens[-_LAST:]}
            prompt = (await self._post(f"{root}/detokenize", asked)).get("prompt")
        return Opening(True, opened_format(prompt)) if isinstance(prompt, str) and prompt else Opening(False)

    async def _separates(self, chat: Mapping[str, Any]) -> bool:
        """Return whether the server removes thoughts from the text of answers."""
        short = {**chat, "max_tokens": _SHORT, "temperature": 0.0}
        url = f"{self._url}/chat/completions"
        plain, raw = await self._post(url, short), await self._post(url, short | {"reasoning_format": "none"})
        return _content(plain) != _content(raw)

    async def _post(self, url: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the server's answer; nothing if it does not know what is asked."""
        try:
            found = await self._transport.exchange(
                lambda: self._transport.plain_request("POST", url, json=dict(value)), lambda r: r.json(), attempts=2
            )
        except (Rejected, RequestFailed, ModelError):
            return {}
        return found if isinstance(found, dict) else {}


def _content(answer: Mapping[str, Any]) -> object:
    try:
        return answer["choices"][0]["message"].get("content") or ""
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
