"""A trial: does a tree give a model what each prompt alone would?

Attention is replaced in many models, and not in all of them does a layer look once, at all that came before, by
positions that it is told. Two short prompts show it: packed, and decoded, against the plain pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bowstring.tree.cache import TreeState
from bowstring.tree.layers import NAME
from bowstring.tree.packed import Packed
from bowstring.tree.packing import cut

_PROMPTS = ([5, 9, 3, 7, 4], [5, 9, 3, 8, 2, 6])
# How far logits may be off, as a share of their spread: rounding, and no more.
_ROUNDING = {torch.float32: 1e-3}
_HALF = 0.1


@torch.no_grad()
def is_a_tree(model: Any) -> bool:
    """The model runs with the tree's attention before and after."""
    wanted = _plainly(model)
    try:
        found = (_packed(model), _decoded(model))
    except Exception:  # a model that cannot be called this way is no tree, whatever it raises
        return False
    near = _ROUNDING.get(wanted.dtype, _HALF) * wanted.float().std()
    return all(bool((f.float() - wanted.float()).abs().mean() <= near) for f in found)


def _plainly(model: Any) -> Tensor:
    """Logits behind each prompt's last token."""
    model.set_attn_implementation("eager")
    found = [model(input_ids=_row(model, p), use_cache=False).logits[0, -1] for p in _PROMPTS]
    model.set_attn_implementation(NAME)
    return torch.stack(found)


def _packed(model: Any) -> Tensor:
    tree = cut(_PROMPTS)
    lengths = [len(branch) for branch in tree.branches]
    ends = torch.tensor(lengths, device=model.device).cumsum(0) + len(tree.trunk) - 1
    found = model(
        input_ids=_row(model, tree.tokens),
        position_ids=torch.tensor([tree.positions], device=model.device),
        use_cache=False,
        tree=Packed(len(tree.trunk), lengths),
    )
    logits: Tensor = found.logits[0, ends]
    return logits


def _decoded(model: Any) -> Tensor:
    """The trunk first, then both branches token by token; a shorter one waits at its last."""
    tree = cut(_PROMPTS)
    trunk, longest = len(tree.trunk), max(map(len, tree.branches))
    state = TreeState(trunk=trunk, branches=len(_PROMPTS), width=longest)
    with state.trunk_chunk(trunk):
        model(
            input_ids=_row(model, tree.trunk),
            position_ids=torch.arange(trunk, device=model.device)[None],
            use_cache=False,
            tree=state,
        )
    found: list[Tensor] = [torch.empty(0)] * len(_PROMPTS)
    for column in range(longest):
        at = [min(column, len(branch) - 1) for branch in tree.branches]
        state.grid(torch.tensor(at, device=model.device), len(at), 1)
        tokens = [branch[n] for branch, n in zip(tree.branches, at, strict=True)]
        logits = model(
            input_ids=_row(model, tokens),
            position_ids=trunk + torch.tensor([at], device=model.device),
            use_cache=False,
            tree=state,
        ).logits[0]
        found = [logits[n] if at[n] == column else kept for n, kept in enumerate(found)]
    return torch.stack(found)


def _row(model: Any, tokens: Any) -> Tensor:
    most = model.config.get_text_config().vocab_size
    return torch.tensor([[token % most for token in tokens]], device=model.device)
