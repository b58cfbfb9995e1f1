"""Anthropic's protocol, with a cache marker at the end of the trunk so that its tokens are billed once."""

from __future__ import annotations

import json
import weakref
from typing import Any, ClassVar

from bowstring.files.redaction import credentials_in_url
from bowstring.models.interface import RequestFailed
from bowstring.models.transport import Patience, Rejected, Transport, tokens
from bowstring.records import Completion, Finish, Prompt, Sampling, Trunk, Usage

_VERSION = "2023-06-01"
_FINISH: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class Anthropic:
    refused: ClassVar = {"template_args": "has no template that requests can give arguments to"}
    least_thinking = 1024  # tokens, or none at all

    def __init__(
        self, name: str, identity: str, model: str, url: str, key: str, *, patience: Patience | None = None
    ) -> None:
        self.name = name
        self.identity = identity
        self.concurrency = 8
        self._model = model
        self._url = url.rstrip("/") + "/messages"
        headers = {"x-api-key": key, "anthropic-version": _VERSION}
        self._transport = Transport(name, headers, patience, secrets=[key, *credentials_in_url(url)])
        self._encoded: weakref.WeakKeyDictionary[Trunk, bytes] = weakref.WeakKeyDictionary()

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        try:
            completion: Completion = await self._transport.post(
                self._url, self._body(prompt, sampling), read_completion
            )
        except Rejected as rejected:
            raise RequestFailed("rejected", f"{self.name}: 400 {rejected.message}") from rejected
        return completion

    async def close(self) -> None:
        await self._transport.close()

    def stop(self) -> None:
        self._transport.stop()

    def _body(self, prompt: Prompt, sampling: Sampling) -> bytes:
        settings: dict[str, Any] = {"model": self._model, "max_tokens": sampling.max_tokens}
        if (budget := sampling.thinking_tokens) is not None:
            settings["thinking"] = {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}
            settings["max_tokens"] += budget
        # This protocol has no seed, and does not let a model that thinks be sampled in another way than its own.
        for field in () if budget else ("temperature", "top_k", "top_p"):
            if (value := getattr(sampling, field)) is not None:
                settings[field] = value
        trunk = self._encoded.get(prompt.trunk)
        if trunk is None:
            trunk = self._encoded[prompt.trunk] = _encode_trunk(prompt.trunk)
        head = json.dumps(settings, separators=(",", ":")).encode()[:-1]
        return head + b"," + trunk + _encode_branch(prompt) + b"]}"


def _encode_trunk(trunk: Trunk) -> bytes:
    """Encode `"system":[…],"messages":[…` up to the trunk's last block, which gets a cache marker if branches share
    it."""
    system = [_block(m.text) for m in trunk.messages if m.role == "system"]
    chat = [{"role": m.role, "content": [_block(m.text)]} for m in trunk.messages if m.role != "system"]
    if trunk.branches > 1:
        last = chat[-1]["content"][-1] if chat else system[-1] if system else None
        if isinstance(last, dict):
            last["cache_control"] = {"type": "ephemeral"}
    head = b'"system":' + _dump(system) + b"," if system else b""
    # The last message stays open: a branch may continue it.
    return head + b'"messages":[' + (_dump(chat)[1:-3] if chat else b"")


def _encode_branch(prompt: Prompt) -> bytes:
    messages = list(prompt.branch)
    out = b""
    open_message = any(m.role != "system" for m in prompt.trunk.messages)
    if open_message and prompt.continues:
        out += b"," + _dump(_block(messages.pop(0).text))
    if open_message:
        out += b"]}"
    encoded = [_dump({"role": m.role, "content": [_block(m.text)]}) for m in messages]
    if open_message and encoded:
        out += b","
    return out + b",".join(encoded)


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read_completion(answer: Any) -> Completion:
    blocks = answer["content"]
    text = "".join(b["text"] for b in blocks if b["type"] == "text")
    thought = "".join(b.get("thinking", "") for b in blocks if b["type"] == "thinking")
    usage = answer["usage"]
    cached, written = tokens(usage.get("cache_read_input_tokens")), tokens(usage.get("cache_creation_input_tokens"))
    return Completion(
        text,
        _FINISH.get(answer["stop_reason"], "stop"),
        thought or None,
        Usage(tokens(usage["input_tokens"]) + cached + written, cached, tokens(usage["output_tokens"])),
    )
