"""A trial run: check that a model gives the same logits for a tree as for separate prompts.

Replacing the attention does not work for every model: some layers attend more than once, use a window, or ignore the
given positions. Two short prompts, packed and decoded, are compared with plain forward passes: at the first positions,
and far behind them, where some models scale their attention. All of it is in float32, whatever the weights are stored
in: in half precision, rounding can reach a third of the logits' spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from bowstring.files.redaction import error_line
from bowstring.tree.cache import TreeState
from bowstring.tree.layers import NAME
from bowstring.tree.packed import Packed
from bowstring.tree.packing import build_tree

_PROMPTS = ([5, 9, 3, 7, 4], [5, 9, 3, 8, 2, 6])
_ROUNDING = 1e-3  # tolerated error of the logits, as a share of their spread
_FAR = 20_480  # a position behind those that models are first trained on


@torch.no_grad()
def tree_mismatch(model: Any) -> str | None:
    """Return why a model cannot be run as a tree; None if it can. It uses the tree attention before and after."""
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None) or _FAR
    far = min(_FAR, limit - max(map(len, _PROMPTS)))
    for start in (0, far) if far > 0 else (0,):
        with _in_float32(model):
            wanted = _plainly(model, start)
            try:
                ways = {"packed": _packed(model, start), "decoded": _decoded(model, start)}
            except Exception as error:  # any error means that the model cannot run as a tree
                return error_line(error, with_type=True)
        for way, found in ways.items():
            off = float((found - wanted).abs().mean() / wanted.std())
            if not off <= _ROUNDING:
                where = f" at position {start:,}" if start else ""
                return f"{way}, its logits are off by {off:.2g} of their spread{where}"
    return None


@contextmanager
def _in_float32(model: Any) -> Iterator[None]:
    """Convert each module's weights to float32 while it runs: full precision at the memory cost of one module."""
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


def _plainly(model: Any, start: int) -> Tensor:
    """Return the logits after each prompt's last token, from separate forward passes."""
    model.set_attn_implementation("eager")
    found = []
    for prompt in _PROMPTS:
        places = start + torch.arange(len(prompt), device=model.device)
        given = {"input_ids": _row(model, prompt), "use_cache": False}
        if start:  # models read the place of a token from either
            given |= {"position_ids": places[None], "cache_position": places}
        found.append(model(**given).logits[0, -1])
    model.set_attn_implementation(NAME)
    return torch.stack(found)


def _packed(model: Any, start: int) -> Tensor:
    tree = build_tree(_PROMPTS)
    lengths = [len(branch) for branch in tree.branches]
    ends = torch.tensor(lengths, device=model.device).cumsum(0) + len(tree.trunk) - 1
    found = model(
        input_ids=_row(model, tree.tokens),
        position_ids=start + torch.tensor([tree.positions], device=model.device),
        use_cache=False,
        tree=Packed(len(tree.trunk), lengths),
    )
    logits: Tensor = found.logits[0, ends]
    return logits


def _decoded(model: Any, start: int) -> Tensor:
    """Decode the trunk first, then both branches token by token; the shorter one repeats its last token."""
    tree = build_tree(_PROMPTS)
    trunk, longest = len(tree.trunk), max(map(len, tree.branches))
    state = TreeState(trunk=trunk, branches=len(_PROMPTS), width=longest)
    with state.trunk_chunk(trunk):
        model(
            input_ids=_row(model, tree.trunk),
            position_ids=start + torch.arange(trunk, device=model.device)[None],
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
            position_ids=start + trunk + torch.tensor([at], device=model.device),
            use_cache=False,
            tree=state,
        ).logits[0]
        found = [logits[n] if at[n] == column else kept for n, kept in enumerate(found)]
    return torch.stack(found)


def _row(model: Any, tokens: Any) -> Tensor:
    most = model.config.get_text_config().vocab_size
    return torch.tensor([[token % most for token in tokens]], device=model.device)
