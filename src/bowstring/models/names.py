"""Model names: which provider a name means, which key it needs, and whether that is here.

openai/NAME, anthropic/NAME, google/NAME, together/NAME, openrouter/NAME, bedrock/NAME
openai/NAME@http://host:port/v1     any compatible server: vLLM, SGLang, Ollama, llama.cpp
embedded                            the model that ships with the install
python:module:name                  your own code
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bowstring.errors import UsageError
from bowstring.models.interface import Model
from bowstring.models.transport import Patience

SERVER_KEY = "BOWSTRING_API_KEY"


@dataclass(frozen=True, slots=True)
class Provider:
    """A hosted service: where it is, which variable holds its key (the first that is set), what it refuses."""

    name: str
    url: str
    keys: tuple[str, ...]
    url_variable: str | None = None
    leave_out: tuple[str, ...] = ()
    length_field: str = "max_tokens"


PROVIDERS = {
    p.name: p
    for p in (
        Provider(
            "openai",
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            "OPENAI_BASE_URL",
            ("top_k",),
            "max_completion_tokens",
        ),
        Provider("anthropic", "https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL"),
        Provider(
            "google",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            leave_out=("top_k", "seed"),
        ),
        Provider("together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
        Provider("openrouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
        Provider(
            "bedrock",
            "https://bedrock-runtime.{region}.amazonaws.com",
            ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"),
        ),
    )
}
_NAME = re.compile(r"(?P<provider>[a-z]+)/(?P<model>.+?)(?:@(?P<url>https?://\S+))?", re.DOTALL)


def open_model(
    name: Any, *, patience: Patience | None = None, tell: Callable[[str], None] = lambda line: None
) -> Model:
    """The model of a name, ready to be asked; or of an object of the user's own."""
    if not isinstance(name, str):
        return _of_object(name)
    if name == "embedded":
        from bowstring.models.embedded import Embedded

        return Embedded(tell)
    if name.startswith("python:"):
        from bowstring.models.own import load_own

        return load_own(name)
    match = _NAME.fullmatch(name)
    if match is None or match["provider"] not in PROVIDERS:
        raise UsageError(f"{name!r} is no model; expected embedded, python:module:name, or {_forms()}")
    return _of_provider(name, PROVIDERS[match["provider"]], match["model"], match["url"], patience)


def _of_object(found: Any) -> Model:
    if all(hasattr(found, a) for a in ("name", "identity", "concurrency", "complete", "close")):
        return found  # type: ignore[no-any-return]
    from bowstring.models.own import own_model

    return own_model(found)


def _of_provider(name: str, provider: Provider, model: str, url: str | None, patience: Patience | None) -> Model:
    identity = f"{provider.name}/{model}" + (f"@{_place(url)}" if url else "")
    configured = os.environ.get(provider.url_variable) if provider.url_variable else None
    if provider.name == "bedrock":
        from bowstring.models.bedrock import Bedrock

        credentials = _aws_credentials(name)
        configured = os.environ.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
        at = url or configured or provider.url.format(region=credentials.region)
        return Bedrock(name, identity, model, at, credentials, patience=patience)
    # A service's own key goes to that service only. Any other server has a key of its own, or none.
    key = os.environ.get(SERVER_KEY) if url else _key(name, provider)
    if provider.name == "anthropic":
        from bowstring.models.anthropic import Anthropic

        return Anthropic(name, identity, model, url or configured or provider.url, key or "", patience=patience)
    from bowstring.models.endpoint import Endpoint

    return Endpoint(
        name,
        identity,
        model,
        url or configured or provider.url,
        key,
        leave_out=() if url else provider.leave_out,
        length_field="max_tokens" if url else provider.length_field,
        patience=patience,
    )


def _place(url: str) -> str:
    """A server without its port: the same model behind another port is the same model."""
    parts = urlsplit(url)
    return f"{parts.hostname or ''}{parts.path.rstrip('/')}"


def _key(name: str, provider: Provider) -> str:
    for variable in provider.keys:
        if key := os.environ.get(variable):
            return key
    raise UsageError(f"{name} needs {' or '.join(provider.keys)} in the environment (or try --model embedded)")


def _aws_credentials(name: str) -> Any:
    from bowstring.models.bedrock import Credentials

    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    if bearer := os.environ.get("AWS_BEARER_TOKEN_BEDROCK"):
        return Credentials(region, bearer)
    access, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not (access and secret):
        either = "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
        raise UsageError(f"{name} needs {either} in the environment (or try --model embedded)")
    return Credentials(region, None, access, secret, os.environ.get("AWS_SESSION_TOKEN"))


def _forms() -> str:
    return ", ".join(f"{p}/NAME" for p in PROVIDERS) + ", openai/NAME@http://host:port/v1"
