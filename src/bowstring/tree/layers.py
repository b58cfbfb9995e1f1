"""Tree attention as an attention implementation of transformers, registered as `NAME`.

The tree is passed to the model as an argument, which transformers forwards to every layer. Its `attend` computes the
attention: over a growing cache (`cache`), or over a whole packed sequence during training (`packed`).

    register()
    model.set_attn_implementation(NAME)
    model(input_ids=…, position_ids=…, use_cache=False, tree=tree)
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

NAME = "bowstring_tree"


class TreeAttention(Protocol):
    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Attention for queries of shape (1, heads, tokens, width); keys and values have as many heads or fewer."""
        ...


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _mask: Any,
    scaling: float | None = None,
    tree: TreeAttention | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    if tree is None:
        raise RuntimeError("the model was called without a tree: pass tree=…")
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    return tree.attend(module.layer_idx, query, key, value, scale).transpose(1, 2), None


def register() -> None:
    """Register the attention with transformers. No mask function is registered, so transformers builds no mask;
    choosing one would synchronize with the GPU at every call."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, _attention)
