"""Training on a whole tree as one sequence, with the outputs and gradients of separate prompts.

    packed = Packed(len(tree.trunk), [len(branch) for branch in tree.branches])
    model(input_ids=tree.tokens, position_ids=tree.positions, use_cache=False, tree=packed)

Attention has three parts: the trunk to itself, the branches to the trunk, and each branch to itself. The last is a
grid with one row per branch, padded on the right: causal attention never reads the padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bowstring.tree.attention import HUGE, Gradients, Part, attend, attend_back, group, merge, ungroup


class Packed:
    def __init__(self, trunk: int, branches: Sequence[int]) -> None:
        """`trunk` and `branches` are lengths in tokens."""
        self.trunk = trunk
        lengths = torch.tensor(branches)
        column = torch.arange(int(lengths.max()))
        real = column < lengths.view(-1, 1)
        starts = lengths.cumsum(0) - lengths
        # For every grid cell, the index of its token; padding repeats a row's first token.
        self._taken = starts.view(-1, 1) + column * real
        self._real = real
        # For every token, its index in the flattened grid.
        self._place = real.flatten().nonzero().squeeze(1)

    def attend(self, _layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        if self._taken.device != query.device:
            self._taken, self._real, self._place = (t.to(query.device) for t in (self._taken, self._real, self._place))
        out: Tensor = _TreeAttention.apply(query, key, value, scale, self)  # type: ignore[no-untyped-call]
        return out

    def to_grid(self, tokens: Tensor) -> Tensor:
        """Reshape (1, heads, branch tokens, …) to (branches, heads, longest, …)."""
        return tokens[0][:, self._taken].transpose(0, 1)

    def gradient_to_grid(self, grad: Tensor) -> Tensor:
        """Like `to_grid`, with zero gradient for the padding."""
        return self.to_grid(grad) * self._real[:, None, :, None]

    def sums_to_grid(self, lse: Tensor) -> Tensor:
        """Like `to_grid`. Padding repeats a first token among later keys, whose scores may exceed its log-sum by enough
        to overflow; with this log-sum they get zero weight."""
        return self.to_grid(lse).masked_fill(~self._real[:, None, :], HUGE)

    def from_grid(self, grid: Tensor) -> Tensor:
        """The inverse of `to_grid`, without the padding."""
        return grid.transpose(0, 1).flatten(1, 2)[:, self._place].unsqueeze(0)


class Forest:
    """Several independent trees in one sequence: the rest of the model processes all of them in one pass."""

    def __init__(self, trees: Sequence[tuple[int, Sequence[int]]]) -> None:
        """Each tree is given as lengths: of its trunk, and of its branches."""
        self._trees = [Packed(trunk, branches) for trunk, branches in trees]
        self._lengths = [trunk + sum(branches) for trunk, branches in trees]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        if len(self._trees) == 1:
            return self._trees[0].attend(layer, query, key, value, scale)
        looked, start = [], 0
        for tree, length in zip(self._trees, self._lengths, strict=True):
            q, k, v = (t[:, :, start : start + length] for t in (query, key, value))
            looked.append(tree.attend(layer, q, k, v, scale))
            start += length
        return torch.cat(looked, dim=2)


class _Branches(NamedTuple):
    """The branches' queries, keys and values, and the trunk's keys and values."""

    query: Tensor
    key: Tensor
    value: Tensor
    trunk_key: Tensor
    trunk_value: Tensor


def _split(packed: Packed, query: Tensor, key: Tensor, value: Tensor) -> _Branches:
    end = packed.trunk
    return _Branches(query[:, :, end:], key[:, :, end:], value[:, :, end:], key[:, :, :end], value[:, :, :end])


def _of_branches(packed: Packed, at: _Branches, scale: float) -> Part:
    query, key, value = (packed.to_grid(t) for t in (at.query, at.key, at.value))
    grid = attend(query, key, value, scale, causal=True)
    own = Part(packed.from_grid(grid.out), packed.from_grid(grid.lse))
    if not packed.trunk:
        return own
    heads, key_heads = at.query.shape[1], at.key.shape[1]
    found = attend(group(at.query, key_heads), at.trunk_key, at.trunk_value, scale)
    return merge(Part(ungroup(found.out, heads), found.lse.reshape(1, heads, -1)), own)


def _back_through_branches(
    packed: Packed, at: _Branches, whole: Part, grad: Tensor, scale: float
) -> tuple[Gradients, Gradients | None]:
    """Return the gradients within the branches, and those of the trunk's keys and values (without a query gradient)."""
    grid_whole = Part(packed.to_grid(whole.out), packed.sums_to_grid(whole.lse))
    query, key, value = (packed.to_grid(t) for t in (at.query, at.key, at.value))
    grid = attend_back(packed.gradient_to_grid(grad), query, key, value, grid_whole, scale, causal=True)
    own = Gradients(*(packed.from_grid(t) for t in grid))
    if not packed.trunk:
        return own, None
    heads, key_heads = at.query.shape[1], at.key.shape[1]
    grouped = Part(group(whole.out, key_heads), whole.lse.reshape(1, key_heads, -1))
    found = attend_back(
        group(grad, key_heads), group(at.query, key_heads), at.trunk_key, at.trunk_value, grouped, scale
    )
    return own._replace(query=own.query + ungroup(found.query, heads)), found


class _TreeAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, scale: float, packed: Packed) -> Tensor:
        at = _split(packed, query, key, value)
        branches = _of_branches(packed, at, scale)
        if packed.trunk:
            trunk = attend(query[:, :, : packed.trunk], at.trunk_key, at.trunk_value, scale, causal=True)
            whole = Part(torch.cat([trunk.out, branches.out], 2), torch.cat([trunk.lse, branches.lse], 2))
        else:
            whole = branches
        ctx.save_for_backward(query, key, value, *whole)
        ctx.packed, ctx.scale = packed, scale
        return whole.out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, out, lse = ctx.saved_tensors
        packed, scale, end, grad = ctx.packed, ctx.scale, ctx.packed.trunk, grads[0]
        at = _split(packed, query, key, value)
        whole = Part(out[:, :, end:], lse[:, :, end:])
        own, given = _back_through_branches(packed, at, whole, grad[:, :, end:], scale)
        if given is None:
            return (*own, None, None)
        of_trunk = attend_back(
            grad[:, :, :end],
            query[:, :, :end],
            at.trunk_key,
            at.trunk_value,
            Part(out[:, :, :end], lse[:, :, :end]),
            scale,
            causal=True,
        )
        before = (of_trunk.query, of_trunk.key + given.key, of_trunk.value + given.value)
        return (*(torch.cat(pair, 2) for pair in zip(before, own, strict=True)), None, None)
