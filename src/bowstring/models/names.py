"""Model names: parse a name into its provider, find its API key, and open the model.

openai/NAME, anthropic/NAME, google/NAME, together/NAME, openrouter/NAME, bedrock/NAME
openai/NAME@http://host:port/v1     any compatible server: vLLM, SGLang, Ollama, llama.cpp
openai/NAME@URL1,URL2               several servers with the same model (models/replicas.py)
hf/ID-or-folder[+ADAPTER]           local weights on PyTorch
vllm/ID-or-folder[+ADAPTER]         the same on vLLM, in this process
embedded                            the bundled model
python:module:name                  user code
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bowstring.errors import UsageError
from bowstring.files.escaping import has_control_characters
from bowstring.models.addresses import public_url, split_urls
from bowstring.models.interface import Model, can_score
from bowstring.models.prices import load_prices
from bowstring.models.transport import Patience

SERVER_KEY = "BOWSTRING_API_KEY"
AS_OPENAI_HELP = "Role whose server is asked as OpenAI itself, because it is a gateway to it"
SERVED = "served/"  # begins the identity of a model that the user named with --served-as


@dataclass(frozen=True, slots=True)
class Provider:
    """A hosted service: its URL, the variables that may hold its key (the first one set is used), and unsupported
    settings."""

    name: str
    url: str
    keys: tuple[str, ...]
    url_variables: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    length_field: str = "max_tokens"


PROVIDERS = {
    p.name: p
    for p in (
        Provider(
            "openai",
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            ("OPENAI_BASE_URL",),
            ("top_k",),
            "max_completion_tokens",
        ),
        Provider("anthropic", "https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",)),
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
            ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"),
        ),
    )
}
_NAME = re.compile(r"(?P<provider>[a-z]+)/(?P<model>.+?)(?:@(?P<url>https?://\S+(?:,\s+\S+)*))?", re.DOTALL)


def _has_controls(name: str) -> bool:
    return has_control_characters(name) or "\n" in name or "\t" in name


def open_model(
    name: Any,
    *,
    patience: Patience | None = None,
    tell: Callable[[str], None] = lambda line: None,
    with_key: bool = True,
    stored: Collection[str] | None = None,
    served_as: str | None = None,
    as_openai: bool = False,
    option: str = "--model",
    others: Sequence[str] = (),
) -> Model:
    """Open a model by name, or wrap a user-supplied object.

    With `with_key=False` the key may be missing: enough to plan a run, not to send requests. `stored` says that no
    request will be sent, and which identities of models the store has; no weights are loaded, and what loads them may
    be missing. `served_as` names the
    model that a server has, whatever its address; without it, a server at another address has another model.
    `as_openai` says that a server is asked as OpenAI itself, because it is a gateway to it. Errors speak of `option`,
    and suggest one of `others`, which are no models, where that is nearer.
    """
    if served_as is not None and not _is_served(name):
        named = _without_server(name) if isinstance(name, str) else type(name).__name__
        raise UsageError(f"--served-as {served_as}: {named} is not behind an address; it is known by what it is")
    if as_openai and not (isinstance(name, str) and name.startswith("openai/")):
        named = _without_server(name) if isinstance(name, str) else type(name).__name__
        raise UsageError(f"--as-openai {option.removeprefix('--')}: {named} is not openai/NAME or openai/NAME@URL")
    if not isinstance(name, str):
        return _of_object(name, patience)
    if name == "embedded":
        from bowstring.models.embedded import Embedded

        return Embedded(tell, patience=patience)
    if name.startswith("hf/") and len(name) > 3:
        from bowstring.models.local import LocalModel

        return LocalModel(name.removeprefix("hf/"), tell, stored=stored)
    if name.startswith("vllm/") and len(name) > 5:
        from bowstring.models.vllm import VllmModel

        return VllmModel(name.removeprefix("vllm/"), tell, asks=stored is None)
    if name.startswith("python:"):
        from bowstring.models.user_code import load_user_model

        return load_user_model(name, patience.timeout if patience else None)
    match = _NAME.fullmatch(name)
    if match is None or match["provider"] not in PROVIDERS or not match["model"].strip() or _has_controls(name):
        known = _without_server(name)
        raise UsageError(f"{option}: {known!r} is not a model name. {_suggestion(known, others)}")
    urls = _checked_urls(_without_server(name), match["url"]) if match["url"] else []
    if len(urls) > 1:
        from bowstring.models.server_lists import check_list, open_replicas

        check_list(PROVIDERS[match["provider"]], _without_server(name), urls, served_as, option)
        identity, key = f"{SERVED}{served_as}", _checked_key(SERVER_KEY, os.environ.get(SERVER_KEY))
        as_provider = PROVIDERS["openai"] if as_openai else None
        return open_replicas(match["model"], identity, urls, key, as_provider=as_provider, patience=patience, tell=tell)
    url = urls[0] if urls else None
    if url is None and re.search(r"@[^@]*[:/.]|:.*@", match["model"]):
        raise UsageError(
            f"{_without_server(name)}: give the server with its scheme, as in openai/NAME@http://host:port/v1"
        )
    provider = PROVIDERS[match["provider"]]
    wanted = option if with_key else None
    return _of_provider(
        provider, match["model"], url, patience, option=wanted, served_as=served_as, as_openai=as_openai
    )


def has_several_servers(name: str) -> bool:
    match = _NAME.fullmatch(name)
    return match is not None and "," in (match["url"] or "")


def check_as_openai(given: Sequence[str], roles: Collection[str]) -> None:
    """Check the roles of --as-openai."""
    for role in given:
        if role not in roles:
            raise UsageError(f"--as-openai {role}: there is no model in this role; expected {' or '.join(roles)}")


def check_address_of_run(name: str, option: str, where: str = "run.json") -> str:
    """Return a name that is in the files of a run, not given by the user: a stranger's files must not get a key.

    Raises UsageError if a key would be sent to its address, unless that is this machine.
    """
    match = _NAME.fullmatch(name)
    if match is None or not match["url"] or not os.environ.get(SERVER_KEY, "").strip():
        return name
    urls = _checked_urls(_without_server(name), match["url"])
    if all(map(_is_on_this_machine, urls)):
        return name
    shown = f"{match['provider']}/{match['model']}@{','.join(map(public_url, urls))}"
    raise UsageError(f"{where} names {shown}: give it with {option} if {SERVER_KEY} may be sent there")


def _is_on_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # not an IP address
        return False


def _is_served(name: Any) -> bool:
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    return match is not None and match["provider"] not in ("hf", "vllm")


def _checked_urls(where: str, urls: str) -> list[str]:
    """Return the valid URLs of a list; a comma inside a URL must be written as %2C."""
    return [_checked_url(where, url, is_of_list="," in urls) for url in split_urls(urls)]


def _checked_url(where: str, url: str, *, is_of_list: bool = False) -> str:
    """Return a valid server URL; the error does not repeat it, because it may contain a password."""
    try:
        parts = urlsplit(url)
        sound = bool(parts.hostname) and not parts.query and not parts.fragment and (parts.port or 1) > 0
        sound = sound and parts.scheme in ("http", "https") and url.isprintable() and len(url) < 2000
    except ValueError:
        sound = False
    if not sound or "," in url:
        several = "; a comma separates servers, each with its scheme (inside a URL it is %2C)" if is_of_list else ""
        raise UsageError(f"{where}: invalid server URL; expected http://host:port/v1{several}")
    return url.rstrip("/").removesuffix("/chat/completions")


def _without_server(name: str) -> str:
    """Return a model name that errors may repeat: without its URL, which may contain a password."""
    model, at, _ = name.partition("@")
    if not at:
        return name[:200]
    return f"{model[:200]}@…" if ":" not in model else "…@…"


def _configured(provider: Provider) -> str | None:
    """Return the address that the environment gives a provider."""
    for variable in provider.url_variables:
        if url := os.environ.get(variable):
            checked = _checked_url(variable, url)
            # Anthropic's own programs add the version.
            return checked if provider.name != "anthropic" or urlsplit(checked).path.strip("/") else f"{checked}/v1"
    return None


def _of_object(found: Any, patience: Patience | None) -> Model:
    if all(hasattr(found, a) for a in ("name", "identity", "concurrency", "complete", "close")):
        return found  # type: ignore[no-any-return]
    from bowstring.models.user_code import user_model

    return user_model(found, patience.timeout if patience else None)


def _of_provider(
    provider: Provider,
    model: str,
    url: str | None,
    patience: Patience | None,
    *,
    option: str | None,
    served_as: str | None,
    as_openai: bool,
) -> Model:
    """`option` named the model, if it needs its key.

    Settings and identity depend on the address alone, not on how it was given.
    """
    own = provider.url.format(region=_aws_region())
    configured = _configured(provider)
    at = url or configured or own
    elsewhere = public_url(at) if public_url(at) != own else None
    name = f"{provider.name}/{model}" + (f"@{public_url(url)}" if url else "")
    full_name = f"{provider.name}/{model}" + (f"@{elsewhere}" if elsewhere else "")
    identity = full_name if served_as is None else f"{SERVED}{served_as}"
    # A provider's key is sent only to that provider, and where its variable says. Any other server has its own key.
    of_provider = elsewhere is None or (configured is not None and public_url(configured) == elsewhere)
    own_key = _checked_key(SERVER_KEY, os.environ.get(SERVER_KEY)) if elsewhere and url else None
    if provider.name == "bedrock":
        from bowstring.models.bedrock import Bedrock, Credentials

        credentials = _aws_credentials(name, option) if of_provider else Credentials("us-east-1", own_key or "none")
        if elsewhere is None and url is None:
            at = provider.url.format(region=credentials.region)
        return Bedrock(name, identity, model, at, credentials, full_name=full_name, patience=patience)
    needed = option if url is None or elsewhere is None else None  # a server of one's own may need no key
    key = _key(name, provider, needed) if of_provider else None
    if provider.name == "anthropic":
        from bowstring.models.anthropic import Anthropic

        return Anthropic(name, identity, model, at, key or own_key or "", full_name=full_name, patience=patience)
    from bowstring.models.endpoint import Endpoint

    generic = elsewhere is not None and not as_openai
    return Endpoint(
        name,
        identity,
        model,
        at,
        key or own_key,
        full_name=full_name,
        leave_out=() if generic else provider.leave_out,
        length_field="max_tokens" if generic else provider.length_field,
        is_openai=provider.name == "openai" and not generic,
        has_template=generic,
        patience=patience,
    )


def _key(name: str, provider: Provider, option: str | None) -> str | None:
    for variable in provider.keys:
        if key := _checked_key(variable, os.environ.get(variable)):
            return key
    if option is None:
        return None
    raise UsageError(f"{name} needs {' or '.join(provider.keys)} in the environment (or try {option} embedded)")


def _checked_key(variable: str, key: str | None) -> str | None:
    """Return a key that a header can carry, without surrounding whitespace (keys often come from files)."""
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{variable} contains a character that is not allowed in a key; set it again")
    return key or None


def _aws_region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def _aws_credentials(name: str, option: str | None) -> Any:
    from bowstring.models.bedrock import Credentials

    region = _aws_region()
    if bearer := _checked_key("AWS_BEARER_TOKEN_BEDROCK", os.environ.get("AWS_BEARER_TOKEN_BEDROCK")):
        return Credentials(region, bearer)
    access, secret = (_checked_key(v, os.environ.get(v)) for v in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    if option is not None and not (access and secret):
        either = "AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
        raise UsageError(f"{name} needs {either} in the environment (or try {option} embedded)")
    session = _checked_key("AWS_SESSION_TOKEN", os.environ.get("AWS_SESSION_TOKEN"))
    return Credentials(region, None, access or "", secret or "", session)


def _suggestion(name: str, others: Sequence[str]) -> str:
    """Return the end of an error about an unknown model name: the nearest name, or else all forms."""
    provider, slash, model = name.partition("/")
    if slash and model.strip():
        close = difflib.get_close_matches(provider, [*PROVIDERS, "hf", "vllm"], n=1, cutoff=0.7)
        near = [f"{close[0]}/{model}"] if close and close[0] != provider else []
    else:
        near = difflib.get_close_matches(name, ["embedded", *others], n=1) or load_prices().named(name)
    if near:
        return f"Did you mean {near[0]}?"
    forms = ", ".join(f"{p}/NAME" for p in PROVIDERS)
    servers = "openai/NAME@http://host:port/v1[,URL2,…]"
    return f"Expected embedded, python:module:name, {forms}, {servers}, hf/FOLDER or vllm/FOLDER"


def may_score(name: Any) -> bool:
    """Return whether a model of this name, or this object, says how probable it finds given answers."""
    if not isinstance(name, str):
        return can_score(name)
    return name == "embedded" or name.startswith("hf/")


def name_of_identity(identity: str) -> str:
    """Return the name by which a model can be opened again, from the identity stored with a run."""
    if identity.startswith("embedded/"):
        return "embedded"
    return identity.partition("#")[0] if identity.startswith(("python:", "hf/", "vllm/")) else identity
