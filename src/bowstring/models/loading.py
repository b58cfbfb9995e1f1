"""Load weights on PyTorch: a model folder with its tokenizer, ready for tree decoding or training."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bowstring.errors import BowstringError, DataError, UsageError
from bowstring.files.redaction import error_line
from bowstring.models.rendering import Rendering


@dataclass(slots=True)
class Weights:
    model: Any
    tokenizer: Any
    rendering: Rendering
    ends: frozenset[int]  # all tokens that end an answer
    limit: int  # maximum number of positions
    no_tree_reason: str | None  # why its prompts cannot be decoded as a tree; None if they can


def load_weights(folder: Path, *, dtype: Any, device: Any, tell: Callable[[str], None]) -> Weights:
    """Load a causal language model, with tree attention unless that would give wrong results."""
    require_torch()
    import transformers
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    from bowstring.tree.layers import register
    from bowstring.tree.norms import fuse_norms

    logging.getLogger("transformers").setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    tell(f"Loading {folder.name} …")
    register()
    with as_load_error(folder):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        reason = no_tree_reason(config)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        # Loaded with its default attention first: not every model supports ours.
        kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        model: Any = kind.from_pretrained(folder, dtype=dtype, trust_remote_code=False).to(device)
    if reason is None:
        reason = _try_tree_attention(model)
    if reason is None and model.device.type == "cuda":
        fuse_norms(model)
    found = model.generation_config.eos_token_id
    listed = found if isinstance(found, list | tuple) else [found]
    ends = frozenset(token for token in (*listed, tokenizer.eos_token_id) if token is not None)
    limit: int = getattr(config.get_text_config(), "max_position_embeddings", None) or 1 << 30
    return Weights(model, tokenizer, Rendering(tokenizer, ends), ends, limit, reason)


def _try_tree_attention(model: Any) -> str | None:
    """Switch a model to tree attention and test it; if the results differ, switch back and return the reason."""
    from bowstring.tree.layers import NAME
    from bowstring.tree.trial import tree_mismatch

    before = model.config._attn_implementation
    try:
        model.set_attn_implementation(NAME)
        why = tree_mismatch(model.eval())
    except Exception as error:  # any error means that tree attention is not possible
        why = error_line(error)
    if why is None:
        return None
    model.set_attn_implementation(before)
    return f"tree attention failed the trial run ({why})"


class as_load_error:  # noqa: N801 - reads as a statement
    """Context manager: turn any library error about a folder into a one-line DataError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, BowstringError):  # libraries raise many kinds
            reason = error_line(error)
            raise DataError(f"hf/{self._folder}: the model cannot be loaded: {reason}") from error


def no_tree_reason(config: Any) -> str | None:
    """Return why a model's prompts cannot be decoded as a tree; None if they can."""
    text = config.get_text_config()
    if getattr(config, "is_encoder_decoder", False):
        return "it is not decoder-only"
    kinds = set(getattr(text, "layer_types", None) or ["full_attention"])
    if kinds - {"full_attention"}:
        return f"it has {', '.join(sorted(kinds - {'full_attention'}))} layers, which depend on token indices"
    if getattr(text, "sliding_window", None) and getattr(text, "use_sliding_window", True):
        return "its sliding-window attention depends on token indices"
    rope = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
    kind = rope.get("rope_type", rope.get("type", "default")) if isinstance(rope, dict) else "default"
    if kind in ("dynamic", "longrope"):
        return f"its positions ({kind} RoPE) depend on the total length"
    return None


def require_torch() -> Any:
    try:
        import torch
        import transformers  # noqa: F401 - check that it is installed
    except ImportError as error:
        raise UsageError("hf/… needs PyTorch and transformers: pip install 'bowstring[local]'") from error
    return torch
