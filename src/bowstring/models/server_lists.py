"""Lists of servers in model names, openai/NAME@URL1,URL2,…: checked, and opened as one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bowstring.errors import UsageError
from bowstring.models.addresses import public_url
from bowstring.models.endpoint import Endpoint
from bowstring.models.replicas import Replicas
from bowstring.models.transport import Patience

if TYPE_CHECKING:
    from bowstring.models.names import Provider

_ROLES = {"--model": "", "--history-model": "history=", "--second-judge": "second="}


def check_list(provider: Provider, where: str, urls: Sequence[str], served_as: str | None, option: str) -> None:
    """Raise a UsageError if several servers cannot be used as one model; `option` named them."""
    if provider.name != "openai":
        raise UsageError(f"{where}: only openai/NAME can have several servers; give one URL")
    public = [public_url(url) for url in urls]
    if twice := next((url for url in public if public.count(url) > 1), None):
        raise UsageError(f"{where}: {twice} is listed twice; list every server once")
    if provider.url in public:
        raise UsageError(f"{where}: OpenAI's own API cannot be one of several servers; give openai/NAME alone")
    if served_as is None:
        role = _ROLES.get(option, f"{option.removeprefix('--')}=")
        raise UsageError(f"{where}: several servers need a name for the model that they serve: --served-as {role}NAME")


def open_replicas(
    model: str,
    identity: str,
    urls: Sequence[str],
    key: str | None,
    *,
    as_provider: Provider | None,
    patience: Patience | None,
    tell: Callable[[str], None],
) -> Replicas:
    """Open a model with several servers, which all get the key. `as_provider` is whose API they are a gateway to."""
    endpoints = [
        Endpoint(
            f"openai/{model}@{public_url(url)}",
            identity,
            model,
            url,
            key,
            leave_out=as_provider.leave_out if as_provider else (),
            length_field=as_provider.length_field if as_provider else "max_tokens",
            is_openai=as_provider is not None,
            has_template=as_provider is None,
            patience=patience,
        )
        for url in urls
    ]
    name = f"openai/{model}@{','.join(map(public_url, urls))}"
    return Replicas(name, identity, model, endpoints, patience=patience, tell=tell)
