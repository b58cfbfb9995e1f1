"""vLLM in this process: `vllm/ID-or-folder[+ADAPTER]`.

Requests are collected briefly and passed to vLLM in one call, sorted by trunk, so that branches hit its prefix cache.
Prompts are rendered here, as for `hf/`, and passed as tokens.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from bowstring.errors import DataError, ModelError, UsageError
from bowstring.files.redaction import error_line
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.models.gathering import GatheringModel, Request
from bowstring.models.hubfiles import ModelFiles, model_files
from bowstring.models.interface import RequestFailed
from bowstring.models.reasoning import split_reasoning
from bowstring.models.rendering import Rendering
from bowstring.records import Completion, Sampling, Usage

_OWN = (
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "repetition_penalty",
)  # settings that vLLM reads from a generation config
_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # the maximum adapter ranks that vLLM accepts


class VllmModel(GatheringModel):
    """Weights on vLLM. They are loaded on the first request."""

    # A batch returns when its last answer is done: larger batches wait less for stragglers, smaller ones lose less if
    # killed.
    concurrency = 512

    def __init__(self, reference: str, tell: Callable[[str], None] = lambda line: None) -> None:
        _vllm()
        super().__init__()
        self.name = f"vllm/{reference}"
        self._files = model_files("vllm", reference, tell)
        self.precision = _precision(self._files.folder)
        self.identity = f"vllm/{self._files.label}#{self._files.fingerprint},{self.precision}"
        self.trained_prompts = self._files.trained_prompts
        self._tell = tell
        self._engine: _Engine | None = None

    async def close(self) -> None:
        await super().close()
        self._engine = None

    def _batch(self, waiting: Sequence[Request]) -> list[Request]:
        return sorted(waiting, key=_trunk)

    def _answer(self, batch: Sequence[Request]) -> list[Completion | Exception]:
        if self._engine is None:
            self._tell(f"Loading {self._files.folder.name} into vLLM …")
            self._engine = _Engine(self.name, self._files)
        return self._engine.answer(batch)


class _Engine:
    """vLLM with a loaded model."""

    def __init__(self, name: str, files: ModelFiles) -> None:
        vllm = _vllm()
        from transformers import AutoTokenizer
        from vllm.lora.request import LoRARequest

        self._name = name
        self._lora = LoRARequest("adapter", 1, str(files.adapter)) if files.adapter else None
        with _as_model_error(f"{name} cannot be loaded"):
            more = {"enable_lora": True, "max_lora_rank": _rank(files.adapter)} if files.adapter else {}
            self._rendering = Rendering(AutoTokenizer.from_pretrained(files.folder, trust_remote_code=False))
            self._llm = vllm.LLM(str(files.folder), enable_prefix_caching=True, trust_remote_code=False, **more)
            own = self._llm.get_default_sampling_params()
        self._own = {setting: getattr(own, setting) for setting in _OWN}
        self._limit: int = self._llm.llm_engine.model_config.max_model_len

    def answer(self, batch: Sequence[Request]) -> list[Completion | Exception]:
        """Return a completion for every request, or an error."""
        answers: dict[Request, Completion | Exception] = {}
        sent: dict[Request, list[int]] = {}
        for _, of_a_trunk in groupby(batch, key=_trunk):
            requests = list(of_a_trunk)
            found = self._rendering.tokens_within_limit(
                [request.prompt for request in requests], [request.sampling for request in requests], self._limit
            )
            for request, tokens in zip(requests, found, strict=True):
                if isinstance(tokens, RequestFailed):  # vLLM would reject the whole batch
                    answers[request] = tokens
                else:
                    sent[request] = tokens
        if sent:
            answers |= self._generated(sent)
        return [answers[request] for request in batch]

    def _generated(self, sent: dict[Request, list[int]]) -> dict[Request, Completion | Exception]:
        vllm = _vllm()
        with _as_model_error(f"{self._name}: vLLM failed"):
            outputs = self._llm.generate(
                [vllm.TokensPrompt(prompt_token_ids=tokens) for tokens in sent.values()],
                [vllm.SamplingParams(**self._settings(request.sampling)) for request in sent],
                use_tqdm=False,
                lora_request=self._lora,
            )
        # vLLM returns outputs in the order of the prompts, whichever ends first.
        return {request: _completion(output) for request, output in zip(sent, outputs, strict=True)}

    def _settings(self, sampling: Sampling) -> dict[str, Any]:
        """Return the request's settings, under vLLM's names (the same), with the model's defaults for those left
        open."""
        return self._own | {name: value for name, value in sampling.settings().items() if value is not None}


def _trunk(request: Request) -> str:
    return request.prompt.trunk.digest


def _completion(output: Any) -> Completion | RequestFailed:
    made = output.outputs[0]
    if made.finish_reason not in ("stop", "length"):
        return RequestFailed("server", f"vLLM ended with {made.finish_reason!r}")
    text, thought = split_reasoning(made.text.strip())
    usage = Usage(len(output.prompt_token_ids), output.num_cached_tokens or 0, len(made.token_ids))
    return Completion(text, made.finish_reason, thought, usage)


def _precision(folder: Path) -> str:
    """Return the precision of the weights, which vLLM takes from their configuration."""
    try:
        config = parse_strict_json((folder / "config.json").read_bytes())
        return str(config.get("dtype") or config.get("torch_dtype") or "auto")
    except (OSError, ParseError, AttributeError):
        return "auto"


def _rank(adapter: Path) -> int:
    """Return the smallest maximum rank that vLLM accepts for an adapter; vLLM itself rejects adapters that are too
    large."""
    path = adapter / "adapter_config.json"
    try:
        config = parse_strict_json(path.read_bytes())
        rank = max(int(n) for n in [config["r"], *config.get("rank_pattern", {}).values()])
    except (OSError, ParseError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path} cannot be read as an adapter configuration: {error}") from error
    return next((allowed for allowed in _RANKS if allowed >= rank), rank)


@contextmanager
def _as_model_error(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # vLLM raises many kinds of errors, and none is recoverable
        raise ModelError(f"{what}: {error_line(error)}") from error


def _vllm() -> Any:
    # vLLM logs to stdout, among the command's output; a log level set by the user is respected.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    try:
        import vllm
    except ImportError as error:
        raise UsageError("vllm/… needs vLLM: pip install 'bowstring[vllm]'") from error
    return vllm
