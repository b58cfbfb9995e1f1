"""How a model's layers come to look at a tree: as an attention implementation of transformers, `NAME`.

The tree goes into the model as an argument, which transformers hands on to every layer. It is asked by `attend`: of a
cache that grows (`cache`), or of a whole packed sequence that is trained on (`packed`).

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
        """Attention of (1, heads, tokens, width); keys and values have fewer heads, or as many."""
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
        raise RuntimeError("no tree was given: call the model with tree=…")
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    return tree.attend(module.layer_idx, query, key, value, scale).transpose(1, 2), None


def register() -> None:
    """Tell transformers of the attention. It is told of no mask for it and so makes none; to find out which one to make
    it would wait for the GPU at every call."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, _attention)
