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
from bowstring.models.rendering import RenderedPrompt, Rendering
from bowstring.records import Completion, Sampling, Usage
from bowstring.seeding import seeded_number
from bowstring.tree.limits import Growth

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

    def __init__(self, reference: str, tell: Callable[[str], None] = lambda line: None, *, asks: bool = True) -> None:
        """Unless it `asks`, vLLM may be missing."""
        if asks:
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
            tokenizer = AutoTokenizer.from_pretrained(files.folder, trust_remote_code=False)
            self._rendering, self._end = Rendering(tokenizer), tokenizer.eos_token_id
            self._llm = vllm.LLM(str(files.folder), enable_prefix_caching=True, trust_remote_code=False, **more)
            own = self._llm.get_default_sampling_params()
        self._own = {setting: getattr(own, setting) for setting in _OWN}
        self._limit: int = self._llm.llm_engine.model_config.max_model_len

    def answer(self, batch: Sequence[Request]) -> list[Completion | Exception]:
        """Return a completion for every request, or an error."""
        answers: dict[Request, Completion | Exception] = {}
        sent: dict[Request, RenderedPrompt] = {}
        for _, of_a_trunk in groupby(batch, key=_trunk):
            requests = list(of_a_trunk)
            found = self._rendering.tokens_within_limit(
                [request.prompt for request in requests], [request.sampling for request in requests], self._limit
            )
            for request, prompt in zip(requests, found, strict=True):
                if isinstance(prompt, RequestFailed):  # vLLM would reject the whole batch
                    answers[request] = prompt
                else:
                    sent[request] = prompt
        if sent:
            answers |= self._generated(sent)
        return [answers[request] for request in batch]

    def _generated(self, sent: dict[Request, RenderedPrompt]) -> dict[Request, Completion | Exception]:
        growing = {request: self._growing(request.sampling, prompt) for request, prompt in sent.items()}
        while open_ones := {r: answer for r, answer in growing.items() if not answer.ended}:
            vllm = _vllm()
            with _as_model_error(f"{self._name}: vLLM failed"):
                outputs = self._llm.generate(
                    [vllm.TokensPrompt(prompt_token_ids=answer.tokens) for answer in open_ones.values()],
                    [vllm.SamplingParams(**self._settings(r.sampling, answer)) for r, answer in open_ones.items()],
                    use_tqdm=False,
                    lora_request=self._lora,
                )
            # vLLM returns outputs in the order of the prompts, whichever ends first.
            for answer, output in zip(open_ones.values(), outputs, strict=True):
                answer.add(output, self._end)
        return {request: answer.completion(self._rendering) for request, answer in growing.items()}

    def _growing(self, sampling: Sampling, prompt: RenderedPrompt) -> _Growing:
        budget = sampling.thinking_tokens
        thinking = None if budget is None else self._rendering.thoughts.budget(budget, prompt.opened)
        return _Growing(prompt, Growth(sampling.max_tokens, thinking))

    def _settings(self, sampling: Sampling, answer: _Growing) -> dict[str, Any]:
        """Return the request's settings, under vLLM's names (the same), with the model's defaults for those left
        open."""
        given = {name: value for name, value in sampling.settings().items() if value is not None}
        if answer.parts and sampling.seed is not None:
            given["seed"] = seeded_number(sampling.seed, "part", str(answer.parts)) % 2**31
        return self._own | given | {"max_tokens": answer.room}


class _Growing:
    """An answer, generated in one part, or in several if a thought is closed by force."""

    def __init__(self, prompt: RenderedPrompt, growth: Growth) -> None:
        self.parts = 0
        self._prompt = prompt
        self._growth = growth
        self._usage = Usage(len(prompt.tokens))
        self._failed: RequestFailed | None = None
        growth.extend(())

    @property
    def ended(self) -> bool:
        return self._growth.ended or self._failed is not None

    @property
    def room(self) -> int:
        return self._growth.room

    @property
    def tokens(self) -> list[int]:
        """The prompt, and what has been generated."""
        return [*self._prompt.tokens, *self._growth.drawn.tokens]

    def add(self, output: Any, end: int | None) -> None:
        made, room = output.outputs[0], self.room
        cached = 0 if self.parts else output.num_cached_tokens or 0
        self._usage += Usage(0, cached, len(made.token_ids))
        self.parts += 1
        if made.finish_reason not in ("stop", "length"):
            self._failed = RequestFailed("server", f"vLLM ended with {made.finish_reason!r}")
            return
        ends = [token for token in (end, made.stop_reason) if isinstance(token, int)]
        all_taken = self._growth.extend(made.token_ids, ends)
        if all_taken and (made.finish_reason == "stop" or len(made.token_ids) < room):
            self._growth.drawn.finish = made.finish_reason
            self._growth.ended = True

    def completion(self, rendering: Rendering) -> Completion | RequestFailed:
        if self._failed is not None:
            return self._failed
        text, thought = rendering.thoughts.split(self._growth.drawn.tokens, self._prompt.opened)
        return Completion(text, self._growth.drawn.finish, thought, self._usage)


def _trunk(request: Request) -> str:
    return request.prompt.trunk.digest


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
