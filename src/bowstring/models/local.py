"""Local weights on PyTorch and transformers: `hf/ID-or-folder[+ADAPTER]`.

Requests are collected briefly; those that share a trunk are decoded together as a tree, with one prefill of the trunk.
Models that tree attention would get wrong (sliding windows depend on indices, not positions) decode one prompt at a
time, and a log line says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bowstring.errors import UsageError
from bowstring.models.gathering import GatheringModel, Request
from bowstring.models.hubfiles import model_files, stored_precision
from bowstring.models.interface import NotYet, RequestFailed
from bowstring.models.loading import Weights, as_load_error, load_weights, require_torch
from bowstring.models.rendering import RenderedPrompt
from bowstring.models.scores import Scores, scoring
from bowstring.models.scoring import OptionScorer
from bowstring.records import Completion, Prompt, Sampling, Usage
from bowstring.tree.limits import Generated, Growth

if TYPE_CHECKING:
    from bowstring.tree.choosing import DecodingSettings

TOGETHER = 64  # maximum branches decoded together
ROOM = 65_536  # maximum branch tokens decoded together, including tokens to be generated: bounds the key-value cache


class LocalModel(GatheringModel):
    """Weights in this process. They are loaded on the first request."""

    concurrency = 128

    def __init__(
        self,
        reference: str,
        tell: Callable[[str], None] = lambda line: None,
        *,
        stored: Collection[str] | None = None,
    ) -> None:
        """`stored` has the identities in a store, if nothing will be asked: PyTorch and a GPU may then be missing."""
        if stored is None:
            require_torch()
        super().__init__()
        self.name = f"hf/{reference}"
        self._files = model_files("hf", reference, tell)
        weights = f"hf/{self._files.label}#{self._files.fingerprint}"
        precision = stored_precision(weights, stored or ())
        self.device, self.precision = ("cpu", precision) if precision else _device_and_precision()
        self.identity = f"{weights},{self.precision}"
        self.trained_prompts = self._files.trained_prompts
        self._tell = tell
        self._weights: Weights | None = None

    async def close(self) -> None:
        await super().close()
        self._weights = None

    async def score(self, prompt: Prompt, options: Sequence[str], sampling: Sampling) -> Scores:
        asked = replace(scoring(options), template_args=sampling.template_args)
        return Scores.of_completion(await self.complete(prompt, asked))

    def _batch(self, waiting: Sequence[Request]) -> list[Request]:
        """Return the requests of the same kind that share a trunk with the oldest one."""
        kind = _kind(waiting[0])
        return [r for r in waiting if _kind(r) == kind][:TOGETHER]

    def _answer(self, batch: Sequence[Request]) -> list[Completion | Exception]:
        if self._weights is None:
            self._weights = self._load()
        prompts, samplings = [r.prompt for r in batch], [r.sampling for r in batch]
        if samplings[0].options is None:
            return LocalGenerator(self._weights).answer(prompts, samplings, lambda: self._stopped)
        return OptionScorer(self._weights, ROOM).completions(prompts, samplings, lambda: self._stopped)

    def _load(self) -> Weights:
        """Load on the best available device."""
        torch = require_torch()
        folder, adapter = self._files.folder, self._files.adapter
        dtype = getattr(torch, self.precision)
        weights = load_weights(folder, dtype=dtype, device=self.device, tell=self._tell)
        if weights.no_tree_reason:
            self._tell(f"{folder.name} decodes one prompt at a time: {weights.no_tree_reason}.")
        if adapter is not None:
            with as_load_error(adapter):
                weights.model = _with_adapter(weights.model, adapter)
        return weights


def _device_and_precision() -> tuple[str, str]:
    return ("cuda", "bfloat16") if require_torch().cuda.is_available() else ("cpu", "float32")


class LocalGenerator:
    """Generates answers: all branches of a trunk together, or one prompt at a time if no tree is possible."""

    def __init__(self, weights: Weights) -> None:
        self.model = weights.model.eval()
        self.no_tree_reason, self.ends, self.limit = weights.no_tree_reason, weights.ends, weights.limit
        self.tokenizer, self.rendering = weights.tokenizer, weights.rendering

    def answer(
        self, prompts: Sequence[Prompt], samplings: Sequence[Sampling], stopped: Callable[[], bool]
    ) -> list[Completion | Exception]:
        """Return a completion for every prompt, or an error."""
        found = self.rendering.tokens_within_limit(prompts, samplings, self.limit)
        asked = {n: prompt for n, prompt in enumerate(found) if not isinstance(prompt, RequestFailed)}
        answers: dict[int, Completion | Exception] = {
            n: failed for n, failed in enumerate(found) if isinstance(failed, RequestFailed)
        }
        if asked:
            way = self._one_by_one if self.no_tree_reason else self._as_tree
            draws = [self._draw(samplings[n], prompt) for n, prompt in asked.items()]
            drawn = way([prompt.tokens for prompt in asked.values()], draws, stopped)
            if stopped():
                return [NotYet() for _ in prompts]
            for (n, prompt), (one, cached) in zip(asked.items(), drawn, strict=True):
                text, thought = self.rendering.thoughts.split(one.tokens, prompt.opened)
                answers[n] = Completion(text, one.finish, thought, Usage(len(prompt.tokens), cached, len(one.tokens)))
        return [answers[n] for n in range(len(prompts))]

    def _as_tree(
        self, ids: Sequence[Sequence[int]], draws: Sequence[DecodingSettings], stopped: Callable[[], bool]
    ) -> list[tuple[Generated, int]]:
        """Return the generated tokens of each prompt, and how many of its prompt tokens were prefilled for another
        one."""
        from bowstring.tree.decoding import decode
        from bowstring.tree.packing import build_tree, split_batches

        found: dict[int, tuple[Generated, int]] = {}
        lengths = [len(branch) + draw.most_tokens for branch, draw in zip(build_tree(ids).branches, draws, strict=True)]
        for lot in split_batches(lengths, ROOM):
            if stopped():
                break
            tree = build_tree([ids[n] for n in lot])
            drawn = decode(self.model, tree, [draws[n] for n in lot], self.ends, stopped=stopped)
            for n, one in zip(lot, drawn, strict=True):
                found[n] = (one, len(tree.trunk) if n != lot[0] else 0)
        return [found[n] for n in sorted(found)]

    def _draw(self, sampling: Sampling, prompt: RenderedPrompt) -> DecodingSettings:
        """Return the request's settings, with the model's defaults for those left open."""
        from bowstring.tree.choosing import DecodingSettings

        own = self.model.generation_config
        budget = None if self.model.config.is_encoder_decoder else sampling.thinking_tokens
        return DecodingSettings(
            sampling.max_tokens,
            sampling.temperature if sampling.temperature is not None else (own.temperature or 1.0),
            sampling.top_k if sampling.top_k is not None else own.top_k,
            sampling.top_p if sampling.top_p is not None else own.top_p,
            sampling.seed or 0,
            own.repetition_penalty or 1.0,
            None if budget is None else self.rendering.thoughts.budget(budget, prompt.opened),
        )

    def _one_by_one(
        self, ids: Sequence[Sequence[int]], draws: Sequence[DecodingSettings], stopped: Callable[[], bool]
    ) -> list[tuple[Generated, int]]:
        found = []
        for prompt, draw in zip(ids, draws, strict=True):
            if stopped():
                break
            require_torch().manual_seed(draw.seed)
            growth = Growth(draw.max_tokens, draw.thinking)
            growth.extend(())
            while not growth.ended:  # more than once if a thought is closed by force
                made = self._continued([*prompt, *growth.drawn.tokens], growth.room, draw)
                growth.extend(made, self.ends)
            found.append((growth.drawn, 0))
        return found

    def _continued(self, tokens: Sequence[int], n: int, draw: DecodingSettings) -> list[int]:
        """Return up to `n` tokens that follow, the last one an end token if the model has ended its answer."""
        torch = require_torch()
        given = torch.tensor([tokens], device=self.model.device)
        how: dict[str, Any] = {"do_sample": False}
        if draw.temperature:
            how = {"do_sample": True, "temperature": draw.temperature, "top_k": draw.top_k, "top_p": draw.top_p}
        with torch.inference_mode():
            out = self.model.generate(
                given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=n,
                eos_token_id=sorted(self.ends) or None,
                **how,
            )
        # A decoder-only model continues the prompt; an encoder-decoder model begins with its own start token.
        made: list[int] = out[0, 1 if self.model.config.is_encoder_decoder else len(tokens) :].tolist()
        return made


def _kind(request: Request) -> tuple[str, bool]:
    return request.prompt.trunk.digest, request.sampling.options is None


def _with_adapter(model: Any, adapter: Path) -> Any:
    try:
        from peft import PeftModel
    except ImportError as error:
        raise UsageError("an adapter needs PEFT: pip install 'bowstring[local]'") from error
    # In the model's own precision, as in training; in float32 a tree takes 1.6 times as long.
    found = PeftModel.from_pretrained(model, str(adapter), autocast_adapter_dtype=False)
    # Merging into weights of half precision or of four bits would round small changes away: there it stays separate.
    is_exact = model.dtype == require_torch().float32 and getattr(model, "quantization_method", None) is None
    return found.merge_and_unload() if is_exact else found
