"""Which kinds of model can be used on this machine, and what the others need."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec

from bowstring.models import weights
from bowstring.models.names import PROVIDERS, SERVER_KEY


@dataclass(frozen=True, slots=True)
class Availability:
    name: str
    usable: bool
    note: str


def availability() -> list[Availability]:
    here = weights.cached() is not None
    rows = [
        Availability(
            "embedded",
            True,
            "SmolLM2-135M on llama.cpp" + ("" if here else f"; {weights.SIZE / 1e6:.0f} MB, downloaded on first use"),
        ),
        Availability(
            "openai/NAME@http://host:port/v1", True, f"any compatible server; its key, if it needs one, in {SERVER_KEY}"
        ),
        Availability("openai/NAME@URL1,URL2", True, "several such servers with the same model; needs --served-as NAME"),
        Availability("python:module:name", True, "your own function or class"),
        _with_extra("hf/FOLDER-or-ID[+ADAPTER]", "local weights on PyTorch", "local", "torch", "transformers"),
        _with_extra("vllm/FOLDER-or-ID[+ADAPTER]", "local weights on vLLM, in this process", "vllm", "vllm"),
    ]
    for provider in PROVIDERS.values():
        present = next((k for k in provider.keys if os.environ.get(k)), None)
        note = f"key from {present}" if present else f"needs {' or '.join(provider.keys)}"
        if (
            provider.name == "bedrock"
            and present == "AWS_ACCESS_KEY_ID"
            and not os.environ.get("AWS_SECRET_ACCESS_KEY")
        ):
            present, note = None, "needs AWS_SECRET_ACCESS_KEY as well as AWS_ACCESS_KEY_ID"
        rows.append(Availability(f"{provider.name}/NAME", present is not None, note))
    return rows


def _with_extra(name: str, note: str, extra: str, *modules: str) -> Availability:
    here = all(find_spec(module) for module in modules)  # not imported: that takes seconds
    return Availability(name, here, note if here else f"needs pip install 'bowstring[{extra}]'")
