"""A trial: does a tree give a model what each prompt alone would?

Attention is replaced in many models, and not in all of them does a layer look once, at all that came before, by
positions that it is told. Two short prompts show it: packed, and decoded, against the plain pass. All of it in float32,
whatever the weights are stored in: half precision can be off by a third of the logits' spread and still be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from bowstring.tree.cache import TreeState
from bowstring.tree.layers import NAME
from bowstring.tree.packed import Packed
from bowstring.tree.packing import build_tree

_PROMPTS = ([5, 9, 3, 7, 4], [5, 9, 3, 8, 2, 6])
_ROUNDING = 1e-3  # how far logits may be off, as a share of their spread


@torch.no_grad()
def tree_mismatch(model: Any) -> str | None:
    """What is wrong with a model as a tree; None where nothing is. It runs with the tree's attention before and
    after."""
    with _in_float32(model):
        wanted = _plainly(model)
        try:
            ways = {"packed": _packed(model), "decoded": _decoded(model)}
        except Exception as error:  # a model that cannot be called this way is no tree, whatever it raises
            return f"{type(error).__name__}: {error}"
    for way, found in ways.items():
        off = float((found - wanted).abs().mean() / wanted.std())
        if not off <= _ROUNDING:
            return f"{way}, its logits are off by {off:.2g} of their spread"
    return None


@contextmanager
def _in_float32(model: Any) -> Iterator[None]:
    """Every module has its own weights in float32 while it runs: all of a model's numbers for one module's memory."""
    stored: dict[Any, Tensor] = {}

    def widen(module: Any, _given: Any) -> None:
        for weight in module.parameters(recurse=False):
            if weight.dtype in (torch.float16, torch.bfloat16):
                stored[weight] = weight.data
                weight.data = weight.data.float()

    def narrow(module: Any, _given: Any, _found: Any) -> None:
        for weight in module.parameters(recurse=False):
            if weight in stored:
                weight.data = stored.pop(weight)

    hooks = []
    for module in model.modules():
        hooks += [module.register_forward_pre_hook(widen), module.register_forward_hook(narrow, always_call=True)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for weight, data in stored.items():
            weight.data = data


def _plainly(model: Any) -> Tensor:
    """Logits behind each prompt's last token."""
    model.set_attn_implementation("eager")
    found = [model(input_ids=_row(model, p), use_cache=False).logits[0, -1] for p in _PROMPTS]
    model.set_attn_implementation(NAME)
    return torch.stack(found)


def _packed(model: Any) -> Tensor:
    tree = build_tree(_PROMPTS)
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
    tree = build_tree(_PROMPTS)
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
