"""Any server with OpenAI's chat completions API: hosted services, vLLM, SGLang, Ollama, llama.cpp."""

from __future__ import annotations

import json
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bowstring.errors import ModelError
from bowstring.files.redaction import credentials_in_url, without_credentials
from bowstring.models.finish_reasons import AnswerFailed, check_error, finish_of, label, paid
from bowstring.models.interface import THINKING, RequestFailed, SchemaRefused
from bowstring.models.reasoning import split_reasoning
from bowstring.models.served import ServedTemplate
from bowstring.models.server_errors import ServerError, Unsupported, is_about_schema, unsupported_setting
from bowstring.models.transport import NotFound, Patience, Rejected, Transport, tokens
from bowstring.records import Completion, Message, Prompt, Provenance, Sampling, Trunk, Usage

if TYPE_CHECKING:
    import httpx

_NO_THINKING = "takes no such setting; servers given as openai/NAME@http://host:port/v1 do"
_OPTIONAL = ("temperature", "top_k", "top_p", "seed")
_SCHEMA = "response_format"
_LARGEST_FILE = 1 << 30  # bytes of a file with the results of a batch


class Endpoint:
    """A model behind a URL. Settings that it says it does not support are no longer sent."""

    takes_schema = True

    def __init__(
        self,
        name: str,
        identity: str,
        model: str,
        url: str,
        key: str | None,
        *,
        full_name: str = "",
        concurrency: int = 16,
        leave_out: tuple[str, ...] = (),
        length_field: str = "max_tokens",
        is_openai: bool = False,
        has_template: bool = False,
        patience: Patience | None = None,
    ) -> None:
        """`full_name` opens it again, whatever the environment says then. `is_openai` says that the server is OpenAI's
        API, or has it behind it. `has_template` says that the server renders chats with a template that
        requests may give arguments to."""
        self.name = name
        self.full_name = full_name or name
        self.identity = identity
        self.concurrency = concurrency
        self._model = model
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.transport = Transport(name, headers, patience, secrets=[key or "", *credentials_in_url(url)])
        self._unsupported = {Unsupported(setting) for setting in leave_out}
        self._length_field = length_field
        self.is_openai = is_openai
        self._template = ServedTemplate(self.transport, self.url, model) if has_template else None
        self.refused = {} if has_template else dict.fromkeys(THINKING, _NO_THINKING)
        self._encoded: weakref.WeakKeyDictionary[Trunk, bytes] = weakref.WeakKeyDictionary()

    async def complete(self, prompt: Prompt, sampling: Sampling, *, attempts: int | None = None) -> Completion:
        """Send the request, at most `attempts` times in place of the usual number."""
        rejected_once = False
        while True:
            if self.refuses(sampling):
                raise SchemaRefused
            sent = self.settings(sampling)
            try:
                completion = await self.transport.post(
                    f"{self.url}/chat/completions", self.body(prompt, sent), self._read_completion, attempts=attempts
                )
                try:
                    return self._with_provenance(await self.resolved(completion, sampling), sent)
                except RequestFailed:
                    self.transport.waste(completion.usage)
                    raise
            except Rejected as rejected:
                if not self.adapt(rejected.errors, sent, prompt):
                    # For no reason that is known, it is sent again; then the same may be asked for as text.
                    if _SCHEMA in sent and not rejected_once:
                        rejected_once = True
                        continue
                    if _SCHEMA in sent:
                        raise SchemaRefused from rejected
                    raise RequestFailed("rejected", f"{self.name}: 400 {rejected.message}") from rejected

    def _with_provenance(self, completion: Completion, sent: Mapping[str, Any]) -> Completion:
        """Return a completion that says where it came from and which settings were sent."""
        settings = {name: value for name, value in sent.items() if name != "model"}
        if _SCHEMA in settings:
            settings[_SCHEMA] = f"json_schema {settings[_SCHEMA]['json_schema']['name']}"
        as_text = json.dumps(settings) if settings else ""
        made = replace(completion.provenance, address=without_credentials(self.url), sent=as_text)
        return replace(completion, provenance=made)

    def _read_completion(self, answer: Any) -> Completion:
        return read_completion(answer, self._model)

    def read(self, answer: Any, sent: Mapping[str, Any]) -> Completion:
        """Parse a completion that came in a file; raise ValueError or similar, or RequestFailed, if it is not one."""
        try:
            return self._with_provenance(self.transport.cleaned(self._read_completion(answer)), sent)
        except AnswerFailed as failed:
            raise self.transport.failure_inside(failed) from failed

    def redacted(self, text: str) -> str:
        return self.transport.redacted(text)

    async def resolved(self, completion: Completion, sampling: Sampling) -> Completion:
        """Return an answer that ended at its limit as a thought, if the server says that answers begin in one; if it
        does not say it, return the answer with a mark. Raises RequestFailed if the server fails to say it."""
        if not (self._template and completion.finish == "length" and completion.text and completion.reasoning is None):
            return completion
        opening = await self._template.opening(sampling.template_args)
        if not opening.known:
            return replace(completion, provenance=replace(completion.provenance, may_be_thought=True))
        if opening.format is None:
            return completion
        text, thought = split_reasoning(completion.text, opened=opening.format, cut=True)
        return replace(completion, text=text, reasoning=thought)

    async def close(self) -> None:
        await self.transport.close()

    def stop(self) -> None:
        self.transport.stop()

    def take_wasted(self) -> Usage:
        return self.transport.take_wasted()

    def before_retry(self, wait: Callable[[], Awaitable[None]]) -> None:
        self.transport.before_retry = wait

    async def get(self, path: str) -> dict[str, Any]:
        return await self._exchange("GET", path)

    async def post_once(self, path: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Post without a retry: the server may have acted before it failed."""
        return await self._exchange("POST", path, attempts=1, json=dict(value))

    async def pause(self, attempt: int, asked: float | None = None) -> None:
        await self.transport.pause(attempt, asked)

    @property
    def attempts(self) -> int:
        return self.transport.patience.attempts

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
            found = await self.transport.exchange(
                lambda: self.transport.plain_request("GET", url), lambda r: r.text, largest=_LARGEST_FILE
            )
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
            found = await self.transport.exchange(
                lambda: self.transport.plain_request(method, url, **content), self._read_object, attempts
            )
        except (Rejected, RequestFailed) as failed:
            raise ModelError(f"{self.name}: {method} {path.partition('?')[0]}: {failed}") from failed
        return dict(found)

    def _read_object(self, response: httpx.Response) -> dict[str, Any]:
        found = self.transport.cleaned_json(response.json())
        if not isinstance(found, dict):
            raise ValueError("not a JSON object")
        return found

    def refuses(self, sampling: Sampling) -> bool:
        """Return whether the server is known not to take the schema of a request."""
        return bool(sampling.schema) and Unsupported(_SCHEMA) in self._unsupported

    def settings(self, sampling: Sampling) -> dict[str, Any]:
        length = self._length_field
        settings: dict[str, Any] = {"model": self._model, length: sampling.max_tokens}
        for field in _OPTIONAL:
            value = getattr(sampling, field)
            if value is not None and not {Unsupported(field), Unsupported(field, value)} & self._unsupported:
                settings[field] = value
        if sampling.schema:
            settings[_SCHEMA] = {"type": "json_schema", "json_schema": json.loads(sampling.schema)}
        if sampling.template_args is not None:
            settings["chat_template_kwargs"] = json.loads(sampling.template_args)
        if (budget := sampling.thinking_tokens) is not None:
            settings[length] += budget
            settings |= {"thinking_token_budget": budget, "thinking_budget_tokens": budget}  # vLLM's name, llama.cpp's
        return settings

    def adapt(self, errors: Sequence[ServerError], sent: Mapping[str, Any], prompt: Prompt) -> bool:
        """Stop sending a setting, or one value of it, that the server says it does not support; return whether there
        was one. An earlier request may fail with an error that was already handled."""
        text = "\n".join(m.text for m in prompt.messages)
        if _SCHEMA in sent and is_about_schema(errors, text):
            self._unsupported.add(Unsupported(_SCHEMA))
            return True
        optional = {name: value for name, value in sent.items() if name in (*_OPTIONAL, "max_tokens")}
        found = unsupported_setting(errors, optional, text)
        if found is None:
            return False
        if found.setting != "max_tokens":
            self._unsupported.add(found)
            return True
        if not any("max_completion_tokens" in error.message for error in errors):
            return False
        self._length_field = "max_completion_tokens"
        return True

    def body(self, prompt: Prompt, settings: dict[str, Any]) -> bytes:
        trunk = self._encoded.get(prompt.trunk)
        if trunk is None:
            trunk = self._encoded[prompt.trunk] = encode_trunk(prompt.trunk)
        head = json.dumps(settings, separators=(",", ":")).encode()[:-1]
        return head + b',"messages":[' + trunk + encode_branch(prompt) + b"]}"


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


def read_completion(answer: Any, asked: str = "") -> Completion:
    """Parse a chat completion in any dialect; raise ValueError or similar if it is not one, and AnswerFailed if it
    reports the server's failure."""
    with paid(_usage(answer)):
        return _completion(answer, asked)


def _completion(answer: Any, asked: str) -> Completion:
    check_error(answer.get("error"))
    choice = answer["choices"][0]
    check_error(choice.get("error"))
    message = choice["message"]
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if part.get("type") in ("text", None))
    if not isinstance(content, str | None):
        raise ValueError("content is not text")
    raw, refusal = choice.get("finish_reason"), message.get("refusal")
    text, thought = split_reasoning(content or "", cut=raw == "length")
    # A server that separates thoughts may leave a rest of them in the text.
    apart = [said for field in ("reasoning_content", "reasoning") if isinstance(said := message.get(field), str)]
    thoughts = dict.fromkeys(filter(None, [*apart, thought]))
    refused = isinstance(refusal, str) and not text
    finish = finish_of(raw, refusal if refused else text)
    return Completion(
        refusal if refused else text,
        "refusal" if refused else finish,
        "\n\n".join(thoughts) if thoughts or apart else None,  # "" says that thoughts are separated
        _usage(answer),
        Provenance(raw_finish=label(raw), response_id=label(answer.get("id")), engine=_engine(answer, asked)),
    )


def _engine(answer: Any, asked: str) -> str:
    """Return what the server says of the model that answered: its name, if it is not the name asked for, and the
    fingerprint of its configuration."""
    names = (label(answer.get("model")), label(answer.get("system_fingerprint")))
    return ", ".join(name for name in names if name and name != asked)


def _usage(answer: Any) -> Usage:
    usage = answer.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    prompt = tokens(usage.get("prompt_tokens"))
    cached = tokens(details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens"))
    return Usage(prompt, min(cached, prompt), tokens(usage.get("completion_tokens")))
