"""Anthropic's protocol, with a cache marker at the end of the trunk so that its tokens are billed once."""

from __future__ import annotations

import json
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, ClassVar

from bowstring.files.redaction import credentials_in_url, without_credentials
from bowstring.models.finish_reasons import check_error, finish_of, label, paid
from bowstring.models.interface import RequestFailed, SchemaRefused
from bowstring.models.server_errors import is_about_schema
from bowstring.models.transport import Patience, Rejected, Transport, tokens
from bowstring.records import Completion, Prompt, Provenance, Sampling, Trunk, Usage

_VERSION = "2023-06-01"


class Anthropic:
    refused: ClassVar = {"template_args": "has no template that requests can give arguments to"}
    takes_schema = True
    least_thinking = 1024  # tokens, or none at all

    def __init__(
        self,
        name: str,
        identity: str,
        model: str,
        url: str,
        key: str,
        *,
        full_name: str = "",
        patience: Patience | None = None,
    ) -> None:
        self.name = name
        self.full_name = full_name or name
        self.identity = identity
        self.concurrency = 8
        self._model = model
        self._url = url.rstrip("/") + "/messages"
        self._address = without_credentials(url.rstrip("/"))
        headers = {"x-api-key": key, "anthropic-version": _VERSION}
        self._transport = Transport(name, headers, patience, secrets=[key, *credentials_in_url(url)])
        self._refuses_schemas = False
        self._encoded: weakref.WeakKeyDictionary[Trunk, bytes] = weakref.WeakKeyDictionary()

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        if sampling.schema and self._refuses_schemas:
            raise SchemaRefused
        sent = _settings(sampling)
        schema = json.loads(sampling.schema) if sampling.schema else None
        settings = sent if schema is None else sent | {"output_config": _output(schema["schema"])}
        try:
            completion = await self._transport.post(self._url, self._body(prompt, settings), self._read)
        except Rejected as rejected:
            words = "".join(m.text for m in prompt.messages)
            if schema is not None and is_about_schema(rejected.errors, words):  # models before Claude 4.5 take none
                self._refuses_schemas = True
                raise SchemaRefused from rejected
            raise RequestFailed("rejected", f"{self.name}: 400 {rejected.message}") from rejected
        if schema is not None:
            sent |= {"output_config": f"json_schema {schema['name']}"}
        made = replace(completion.provenance, address=self._address, sent=json.dumps(sent))
        return replace(completion, provenance=made)

    async def close(self) -> None:
        await self._transport.close()

    def stop(self) -> None:
        self._transport.stop()

    def take_wasted(self) -> Usage:
        return self._transport.take_wasted()

    def before_retry(self, wait: Callable[[], Awaitable[None]]) -> None:
        self._transport.before_retry = wait

    def _read(self, answer: Any) -> Completion:
        return read_completion(answer, self._model)

    def _body(self, prompt: Prompt, settings: dict[str, Any]) -> bytes:
        trunk = self._encoded.get(prompt.trunk)
        if trunk is None:
            trunk = self._encoded[prompt.trunk] = _encode_trunk(prompt.trunk)
        head = json.dumps({"model": self._model, **settings}, separators=(",", ":")).encode()[:-1]
        return head + b"," + trunk + _encode_branch(prompt) + b"]}"


def _output(schema: Any) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "schema": schema}}


def _settings(sampling: Sampling) -> dict[str, Any]:
    """Return the settings that are sent. This protocol has no seed, and does not let a model that thinks be sampled in
    another way than its own."""
    settings: dict[str, Any] = {"max_tokens": sampling.max_tokens}
    if (budget := sampling.thinking_tokens) is not None:
        settings["thinking"] = {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}
        settings["max_tokens"] += budget
    for field in () if budget else ("temperature", "top_k", "top_p"):
        if (value := getattr(sampling, field)) is not None:
            settings[field] = value
    return settings


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


def read_completion(answer: Any, asked: str = "") -> Completion:
    with paid(_usage(answer)):
        return _completion(answer, asked)


def _usage(answer: Any) -> Usage:
    usage = answer.get("usage") or {}
    cached, written = tokens(usage.get("cache_read_input_tokens")), tokens(usage.get("cache_creation_input_tokens"))
    return Usage(tokens(usage.get("input_tokens")) + cached + written, cached, tokens(usage.get("output_tokens")))


def _completion(answer: Any, asked: str) -> Completion:
    check_error(answer.get("error"))
    blocks = answer["content"]
    text = "".join(b["text"] for b in blocks if b["type"] == "text")
    thought = "".join(b.get("thinking", "") for b in blocks if b["type"] == "thinking")
    raw, model = answer.get("stop_reason"), label(answer.get("model"))
    return Completion(
        text,
        finish_of(raw, text),
        thought or None,
        _usage(answer),
        Provenance(
            raw_finish=label(raw),
            response_id=label(answer.get("id")),
            engine=model if model and model != asked else "",
        ),
    )
