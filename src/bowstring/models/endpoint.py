"""Any server with OpenAI's chat completions API: hosted services, vLLM, SGLang, Ollama, llama.cpp."""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bowstring.errors import ModelError
from bowstring.files.redaction import credentials_in_url
from bowstring.models.interface import THINKING, RequestFailed
from bowstring.models.reasoning import split_reasoning
from bowstring.models.served import ServedTemplate
from bowstring.models.transport import NotFound, Patience, Rejected, Transport, tokens
from bowstring.records import Completion, Finish, Message, Prompt, Sampling, Trunk, Usage

if TYPE_CHECKING:
    import httpx

_FINISH: dict[str, Finish] = {"length": "length", "max_tokens": "length", "content_filter": "filter"}
_NO_THINKING = "takes no such setting; servers given as openai/NAME@http://host:port/v1 do"
_OPTIONAL = ("temperature", "top_k", "top_p", "seed")


class Endpoint:
    """A model behind a URL. `dropped` names settings that the server rejected and that are no longer sent."""

    def __init__(
        self,
        name: str,
        identity: str,
        model: str,
        url: str,
        key: str | None,
        *,
        concurrency: int = 16,
        leave_out: tuple[str, ...] = (),
        length_field: str = "max_tokens",
        has_template: bool = False,
        patience: Patience | None = None,
    ) -> None:
        """`has_template` says that the server renders chats with a template that requests may give arguments to."""
        self.name = name
        self.identity = identity
        self.concurrency = concurrency
        self.dropped: list[str] = []
        self._model = model
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._transport = Transport(name, headers, patience, secrets=[key or "", *credentials_in_url(url)])
        self._leave_out = set(leave_out)
        self._length_field = length_field
        self._template = ServedTemplate(self._transport, self.url, model) if has_template else None
        self._has_thought = False
        self._unclear = 0  # answers that may be thoughts
        self.refused = {} if has_template else dict.fromkeys(THINKING, _NO_THINKING)
        self._encoded: weakref.WeakKeyDictionary[Trunk, bytes] = weakref.WeakKeyDictionary()

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        while True:
            sent = self.settings(sampling)
            try:
                completion: Completion = await self._transport.post(
                    f"{self.url}/chat/completions", self.body(prompt, sent), read_completion
                )
                return await self.resolved(completion, sampling)
            except Rejected as rejected:
                if not self.adapt(rejected.message, sent):
                    raise RequestFailed("rejected", f"{self.name}: 400 {rejected.message}") from rejected

    async def resolved(self, completion: Completion, sampling: Sampling) -> Completion:
        """Return an answer that ended at its limit as a thought, if the server says that answers begin in one."""
        self._has_thought = self._has_thought or bool(completion.reasoning)
        if not (self._template and completion.finish == "length" and completion.text and completion.reasoning is None):
            return completion
        opening = await self._template.opening(sampling.template_args)
        if opening.format is None:
            self._unclear += not opening.known
            return completion
        text, thought = split_reasoning(completion.text, opened=opening.format)
        return replace(completion, text=text, reasoning=thought)

    @property
    def notes(self) -> list[str]:
        if not (self._unclear and self._has_thought):
            return []
        return [
            f"{self.name} thinks, and {self._unclear:,} of its answers ended at their limit without a marker: they may "
            "be thoughts (let the server separate them, with a reasoning parser)"
        ]

    async def close(self) -> None:
        await self._transport.close()

    def stop(self) -> None:
        self._transport.stop()

    async def get(self, path: str) -> dict[str, Any]:
        return await self._exchange("GET", path)

    async def post_once(self, path: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Post without a retry: the server may have acted before it failed."""
        return await self._exchange("POST", path, attempts=1, json=dict(value))

    async def pause(self, attempt: int) -> None:
        await self._transport.pause(attempt)

    @property
    def attempts(self) -> int:
        return self._transport.patience.attempts

    async def upload(self, name: str, content: bytes, *, purpose: str) -> str:
        """Upload a file and return its id."""
        part = {"file": (name, content, "application/jsonl")}
        answer = await self._exchange("POST", "files", files=part, data={"purpose": purpose})
        if not isinstance(answer.get("id"), str):
            raise ModelError(f"{self.name}: POST files: the answer has no file id: {str(answer)[:100]}")
        return str(answer["id"])

    async def content(self, file: str) -> str | None:
        """Return a file's text; None if the server no longer has it."""
        url = f"{self.url}/files/{quote(file, safe='')}/content"
        try:
            found = await self._transport.exchange(lambda: self._transport.plain_request("GET", url), lambda r: r.text)
        except (NotFound, Rejected):
            return None
        except RequestFailed as failed:
            if failed.kind == "rejected":  # 410 and other codes for a deleted file
                return None
            raise ModelError(f"{self.name}: GET files/{file}/content: {failed}") from failed
        return str(found)

    async def _exchange(self, method: str, path: str, attempts: int | None = None, **content: Any) -> dict[str, Any]:
        url = f"{self.url}/{path}"
        try:
            found = await self._transport.exchange(
                lambda: self._transport.plain_request(method, url, **content), _read_object, attempts
            )
        except (Rejected, RequestFailed) as failed:
            raise ModelError(f"{self.name}: {method} {path.partition('?')[0]}: {failed}") from failed
        return dict(found)

    def settings(self, sampling: Sampling) -> dict[str, Any]:
        settings: dict[str, Any] = {"model": self._model, self._length_field: sampling.max_tokens}
        for field in _OPTIONAL:
            value = getattr(sampling, field)
            if value is not None and field not in self._leave_out:
                settings[field] = value
        if sampling.template_args is not None:
            settings["chat_template_kwargs"] = json.loads(sampling.template_args)
        if (budget := sampling.thinking_tokens) is not None:
            settings[self._length_field] += budget
            settings |= {"thinking_token_budget": budget, "thinking_budget_tokens": budget}  # vLLM's name, llama.cpp's
        return settings

    def adapt(self, message: str, sent: dict[str, Any]) -> bool:
        """Stop sending a setting that the server's error names as unsupported; return whether there was one."""
        if self._length_field == "max_tokens" and "max_completion_tokens" in message:
            self._length_field = "max_completion_tokens"
            return True
        for field in _OPTIONAL:
            # An earlier request may fail with the same error that was already handled.
            if re.search(rf"\b{field}\b", message) and field in sent:
                if field not in self._leave_out:
                    self._leave_out.add(field)
                    self.dropped.append(field)
                return True
        return False

    def body(self, prompt: Prompt, settings: dict[str, Any]) -> bytes:
        trunk = self._encoded.get(prompt.trunk)
        if trunk is None:
            trunk = self._encoded[prompt.trunk] = encode_trunk(prompt.trunk)
        head = json.dumps(settings, separators=(",", ":")).encode()[:-1]
        return head + b',"messages":[' + trunk + encode_branch(prompt) + b"]}"


def _read_object(response: httpx.Response) -> dict[str, Any]:
    found = response.json()
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def encode_trunk(trunk: Trunk) -> bytes:
    """Encode the trunk's messages as JSON, leaving the last one open: the same bytes precede every branch."""
    return b",".join(_encode(m) for m in trunk.messages)[:-2] if trunk.messages else b""


def encode_branch(prompt: Prompt) -> bytes:
    """Encode what follows `encode_trunk`: the rest of its last message, and the branch's messages."""
    branch = list(prompt.branch)
    if not prompt.trunk.messages:
        return b",".join(map(_encode, branch))
    if not prompt.continues:
        return b'"}' + b"".join(b"," + _encode(m) for m in branch)
    first, *rest = branch
    return _escape(first.text) + b'"}' + b"".join(b"," + _encode(m) for m in rest)


def _encode(message: Message) -> bytes:
    return b'{"role":"' + message.role.encode() + b'","content":"' + _escape(message.text) + b'"}'


def _escape(text: str) -> bytes:
    """Encode text as the inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")[1:-1]


def read_completion(answer: Any) -> Completion:
    """Parse a chat completion in any dialect; raise ValueError or similar if it is not one."""
    choice = answer["choices"][0]
    message = choice["message"]
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if part.get("type") in ("text", None))
    refusal = message.get("refusal")
    if content is None and refusal is None and choice.get("finish_reason") is None:
        raise ValueError("neither content nor a finish reason that explains its absence")
    if not isinstance(content, str | None):
        raise ValueError("content is not text")
    text, thought = split_reasoning(content or "", cut=choice.get("finish_reason") == "length")
    # A server that separates thoughts may leave a rest of them in the text.
    apart = [said for field in ("reasoning_content", "reasoning") if isinstance(said := message.get(field), str)]
    thoughts = dict.fromkeys(filter(None, [*apart, thought]))
    reasoning = "\n\n".join(thoughts) if thoughts or apart else None  # "" says that thoughts are separated
    finish = _FINISH.get(choice.get("finish_reason") or "stop", "stop")
    if isinstance(refusal, str) and not text:
        text, finish = refusal, "refusal"
    return Completion(text, finish, reasoning, _usage(answer))


def _usage(answer: Any) -> Usage:
    usage = answer.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0
    return Usage(tokens(usage.get("prompt_tokens")), tokens(cached), tokens(usage.get("completion_tokens")))
