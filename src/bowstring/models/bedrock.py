"""Models on Amazon Bedrock, by its Converse protocol, with a bearer key or signed requests."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from bowstring.files.redaction import credentials_in_url, without_credentials
from bowstring.models.finish_reasons import check_error, finish_of, label, paid
from bowstring.models.interface import THINKING, RequestFailed
from bowstring.models.transport import Patience, Rejected, Transport, tokens
from bowstring.records import Completion, Prompt, Provenance, Sampling, Trunk, Usage


@dataclass(frozen=True, slots=True)
class Credentials:
    """Either a bearer key, or an access key with its secret (and optionally a session token)."""

    region: str
    bearer: str | None = None
    access_key: str = ""
    secret: str = ""
    session_token: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.bearer, self.access_key, self.secret, self.session_token)))


class Bedrock:
    refused: ClassVar = dict.fromkeys(THINKING, "is asked by Converse, which has no such setting for all models")

    def __init__(
        self,
        name: str,
        identity: str,
        model: str,
        url: str,
        credentials: Credentials,
        *,
        full_name: str = "",
        patience: Patience | None = None,
    ) -> None:
        self.name = name
        self.full_name = full_name or name
        self.identity = identity
        self.concurrency = 8
        self._url = f"{url.rstrip('/')}/model/{quote(model, safe='')}/converse"
        self._address = without_credentials(url.rstrip("/"))
        self._credentials = credentials
        self._transport = Transport(name, {}, patience, secrets=[*credentials.secrets, *credentials_in_url(url)])
        self._marks_trunks = True

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        while True:
            sent = _settings(sampling)
            body = json.dumps(self._body(prompt, sent), ensure_ascii=False).encode("utf-8", "replace")
            try:
                headers = self._authorization(body)
                completion = await self._transport.post(self._url, body, read_completion, headers=headers)
                made = replace(completion.provenance, address=self._address, sent=json.dumps(sent))
                return replace(completion, provenance=made)
            except Rejected as rejected:
                # Models that do not support cache points reject them with an error.
                if self._marks_trunks and "cach" in rejected.message.lower():
                    self._marks_trunks = False
                    continue
                raise RequestFailed("rejected", f"{self.name}: 400 {rejected.message}") from rejected

    async def close(self) -> None:
        await self._transport.close()

    def stop(self) -> None:
        self._transport.stop()

    def take_wasted(self) -> Usage:
        return self._transport.take_wasted()

    def before_retry(self, wait: Callable[[], Awaitable[None]]) -> None:
        self._transport.before_retry = wait

    def _body(self, prompt: Prompt, settings: dict[str, Any]) -> dict[str, Any]:
        trunk = prompt.trunk.messages
        system: list[Any] = [{"text": m.text} for m in trunk if m.role == "system"]
        chat: list[Any] = [{"role": m.role, "content": [{"text": m.text}]} for m in trunk if m.role != "system"]
        if self._marks_trunks and prompt.trunk.branches > 1:
            _mark(prompt.trunk, system, chat)
        for n, message in enumerate(prompt.branch):
            if n == 0 and prompt.continues and chat:
                chat[-1]["content"].append({"text": message.text})
            else:
                chat.append({"role": message.role, "content": [{"text": message.text}]})
        body: dict[str, Any] = {"messages": chat, "inferenceConfig": settings}
        return body | {"system": system} if system else body

    def _authorization(self, body: bytes) -> dict[str, str]:
        if self._credentials.bearer:
            return {"Authorization": f"Bearer {self._credentials.bearer}"}
        return sign(self._url, body, self._credentials, datetime.datetime.now(datetime.UTC))


def _settings(sampling: Sampling) -> dict[str, Any]:
    given = {"maxTokens": sampling.max_tokens, "temperature": sampling.temperature, "topP": sampling.top_p}
    return {name: value for name, value in given.items() if value is not None}


def _mark(trunk: Trunk, system: list[Any], chat: list[Any]) -> None:
    place = chat[-1]["content"] if chat else system
    if trunk.messages:
        place.append({"cachePoint": {"type": "default"}})


def sign(
    url: str, body: bytes, credentials: Credentials, now: datetime.datetime, service: str = "bedrock"
) -> dict[str, str]:
    """Return the headers of an AWS signature, version 4, for a POST of this body."""
    parts = urlsplit(url)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    signed: Mapping[str, str] = {
        "content-type": "application/json",
        "host": parts.netloc,
        "x-amz-date": stamp,
        **({"x-amz-security-token": credentials.session_token} if credentials.session_token else {}),
    }
    names = ";".join(sorted(signed))
    # The path is URL-encoded a second time, as every service but S3 requires.
    request = "\n".join(
        [
            "POST",
            quote(parts.path or "/", safe="/-_.~"),
            parts.query,
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )
    scope = f"{day}/{credentials.region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{credentials.secret}".encode()
    for part in (day, credentials.region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    headers = {name: value for name, value in signed.items() if name.startswith("x-amz")}
    credential = f"{credentials.access_key}/{scope}"
    headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return headers


def read_completion(answer: Any) -> Completion:
    with paid(_usage(answer)):
        return _completion(answer)


def _usage(answer: Any) -> Usage:
    usage = answer.get("usage") or {}
    cached, written = tokens(usage.get("cacheReadInputTokens")), tokens(usage.get("cacheWriteInputTokens"))
    return Usage(tokens(usage.get("inputTokens")) + cached + written, cached, tokens(usage.get("outputTokens")))


def _completion(answer: Any) -> Completion:
    check_error(answer.get("error"))
    blocks = answer["output"]["message"]["content"]
    text = "".join(b["text"] for b in blocks if "text" in b)
    thought = "".join(
        b["reasoningContent"].get("reasoningText", {}).get("text", "") for b in blocks if "reasoningContent" in b
    )
    raw = answer.get("stopReason")
    return Completion(
        text,
        finish_of(raw, text),
        thought or None,
        _usage(answer),
        Provenance(raw_finish=label(raw)),
    )
