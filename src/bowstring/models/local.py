"""Local weights on PyTorch and transformers: `hf/ID-or-folder[+ADAPTER]`.

Requests gather for a moment; those that share a trunk are decoded together as a tree, the trunk going through the model
once. Models whose attention a tree would get wrong (windows count indices, not positions) take the plain path, one
prompt at a time, and a line says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bowstring.errors import UsageError
from bowstring.models.gathering import GatheringModel, Request
from bowstring.models.hubfiles import model_files
from bowstring.models.interface import NotYet, RequestFailed
from bowstring.models.loading import Weights, as_load_error, load_weights, require_torch
from bowstring.models.reasoning import split_reasoning
from bowstring.records import Completion, Prompt, Sampling, Usage

if TYPE_CHECKING:
    from bowstring.tree.decoding import Generated

TOGETHER = 64  # branches decoded at a time
_ROOM = 65_536  # tokens of branches decoded at a time, those to come among them: what their keys and values take


class LocalModel(GatheringModel):
    """Weights in this process. They are loaded when the first request comes."""

    concurrency = 128

    def __init__(self, reference: str, tell: Callable[[str], None] = lambda line: None) -> None:
        require_torch()
        super().__init__()
        self.name = f"hf/{reference}"
        self._files = model_files("hf", reference, tell)
        self.identity = f"{self.name}#{self._files.fingerprint}"
        self.trained_prompts = self._files.trained_prompts
        self._tell = tell
        self._loaded: LocalGenerator | None = None

    async def close(self) -> None:
        await super().close()
        self._loaded = None

    def _batch(self, waiting: Sequence[Request]) -> list[Request]:
        """The requests of one trunk: of those that wait, the one that came first."""
        digest = waiting[0].prompt.trunk.digest
        return [r for r in waiting if r.prompt.trunk.digest == digest][:TOGETHER]

    def _answer(self, batch: Sequence[Request]) -> list[Completion | Exception]:
        if self._loaded is None:
            self._loaded = LocalGenerator(self._load())
        return self._loaded.answer([r.prompt for r in batch], [r.sampling for r in batch], lambda: self._stopped)

    def _load(self) -> Weights:
        """On the best device there is."""
        torch = require_torch()
        folder, adapter = self._files.folder, self._files.adapter
        device, dtype = ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)
        weights = load_weights(folder, dtype=dtype, device=device, tell=self._tell)
        if weights.no_tree_reason:
            self._tell(f"{folder.name} is asked one prompt at a time: {weights.no_tree_reason}.")
        if adapter is not None:
            with as_load_error(adapter):
                weights.model = _with_adapter(weights.model, adapter)
        return weights


class LocalGenerator:
    """What weights answer: branches of a trunk together, or one prompt at a time where no tree can be."""

    def __init__(self, weights: Weights) -> None:
        self.model = weights.model.eval()
        self.no_tree_reason, self.ends, self.limit = weights.no_tree_reason, weights.ends, weights.limit
        self.tokenizer, self.rendering = weights.tokenizer, weights.rendering

    def answer(
        self, prompts: Sequence[Prompt], samplings: Sequence[Sampling], stopped: Callable[[], bool]
    ) -> list[Completion | Exception]:
        """A completion for every prompt, or why there is none."""
        found = self.rendering.tokens_within_limit(prompts, samplings, self.limit)
        ids = {n: tokens for n, tokens in enumerate(found) if not isinstance(tokens, RequestFailed)}
        answers: dict[int, Completion | Exception] = {
            n: failed for n, failed in enumerate(found) if isinstance(failed, RequestFailed)
        }
        if ids:
            way = self._one_by_one if self.no_tree_reason else self._as_tree
            drawn = way(list(ids.values()), [samplings[n] for n in ids], stopped)
            if stopped():
                return [NotYet() for _ in prompts]
            for (n, tokens), (one, cached) in zip(ids.items(), drawn, strict=True):
                text, thought = split_reasoning(self.tokenizer.decode(one.tokens, skip_special_tokens=True).strip())
                answers[n] = Completion(text, one.finish, thought, Usage(len(tokens), cached, len(one.tokens)))
        return [answers[n] for n in range(len(prompts))]

    def _as_tree(
        self, ids: Sequence[Sequence[int]], samplings: Sequence[Sampling], stopped: Callable[[], bool]
    ) -> list[tuple[Generated, int]]:
        """What is drawn for each, and how much of its prompt had been read for another."""
        from bowstring.tree.decoding import decode
        from bowstring.tree.packing import build_tree

        found: dict[int, tuple[Generated, int]] = {}
        for lot in _split_batches(
            [len(branch) + s.max_tokens for branch, s in zip(build_tree(ids).branches, samplings, strict=True)]
        ):
            if stopped():
                break
            tree = build_tree([ids[n] for n in lot])
            drawn = decode(self.model, tree, [self._draw(samplings[n]) for n in lot], self.ends, stopped=stopped)
            for n, one in zip(lot, drawn, strict=True):
                found[n] = (one, len(tree.trunk) if n != lot[0] else 0)
        return [found[n] for n in sorted(found)]

    def _draw(self, sampling: Sampling) -> Any:
        """The request's settings; where it leaves one open, the model's own."""
        from bowstring.tree.choosing import DecodingSettings

        own = self.model.generation_config
        return DecodingSettings(
            sampling.max_tokens,
            sampling.temperature if sampling.temperature is not None else (own.temperature or 1.0),
            sampling.top_k if sampling.top_k is not None else own.top_k,
            sampling.top_p if sampling.top_p is not None else own.top_p,
            sampling.seed or 0,
            own.repetition_penalty or 1.0,
        )

    def _one_by_one(
        self, ids: Sequence[Sequence[int]], samplings: Sequence[Sampling], stopped: Callable[[], bool]
    ) -> list[tuple[Generated, int]]:
        torch = require_torch()
        from bowstring.tree.decoding import Generated

        found = []
        for prompt, sampling in zip(ids, samplings, strict=True):
            if stopped():
                break
            draw = self._draw(sampling)
            torch.manual_seed(draw.seed)
            given = torch.tensor([prompt], device=self.model.device)
            how: dict[str, Any] = {"do_sample": False}
            if draw.temperature:
                how = {"do_sample": True, "temperature": draw.temperature, "top_k": draw.top_k, "top_p": draw.top_p}
            with torch.inference_mode():
                out = self.model.generate(
                    given,
                    attention_mask=torch.ones_like(given),
                    max_new_tokens=draw.max_tokens,
                    eos_token_id=sorted(self.ends) or None,
                    **how,
                )
            # A decoder that is alone goes on from the prompt; one behind an encoder begins with a token of its own.
            tokens = out[0, 1 if self.model.config.is_encoder_decoder else len(prompt) :].tolist()
            ended = next((n for n, token in enumerate(tokens) if token in self.ends), None)
            found.append((Generated(tokens[:ended], "length" if ended is None else "stop"), 0))
        return found


def _split_batches(lengths: Sequence[int]) -> list[list[int]]:
    """Which branches are decoded together: all of them, if there is room; otherwise those of like lengths."""
    if len(lengths) * max(lengths) <= _ROOM:
        return [list(range(len(lengths)))]
    lots: list[list[int]] = []
    for n in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        if not lots or (len(lots[-1]) + 1) * lengths[n] > _ROOM:
            lots.append([])
        lots[-1].append(n)
    return lots


def _with_adapter(model: Any, adapter: Path) -> Any:
    try:
        from peft import PeftModel
    except ImportError as error:
        raise UsageError("an adapter needs PEFT: pip install 'bowstring[local]'") from error
    # In the model's own precision, as its training computes with it; in float32 a tree takes 1.6 times as long.
    found = PeftModel.from_pretrained(model, str(adapter), autocast_adapter_dtype=False)
    # Half precision has no room for a small change of a large weight: there an adapter stays beside the weights.
    return found.merge_and_unload() if model.dtype == require_torch().float32 else found
