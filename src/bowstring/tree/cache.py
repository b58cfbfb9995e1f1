"""Keys and values of a tree: the trunk's once, each branch's own; and how a model's layers look at them.

Layers hand the queries, keys and values of new tokens to the state, which keeps them and looks at what the rule in
`packing` allows. (How they come to it: `layers`.)

    with state.trunk_chunk(512):
        model(input_ids=…, position_ids=…, use_cache=False, tree=state)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from bowstring.tree.attention import Part, attend, attend_masked, group, merge, mix, ungroup

_ALIGNED = 8  # kernels want rows of a mask to begin at such places


class TreeState:
    """A trunk that grows by chunks, then branches that grow side by side, one grid of new tokens at a time."""

    def __init__(self, *, trunk: int, branches: int, width: int) -> None:
        """`trunk` is its length; `width` the most tokens a branch will have."""
        self._size, self._branches = trunk, branches
        self._width = self._seen = _aligned(width)
        self._keys: list[Tensor] = []  # a layer each: (1, key heads, trunk, width of a head)
        self._values: list[Tensor] = []
        self._branch_keys: list[Tensor] = []  # a layer each: (branches, width, key heads, width of a head)
        self._branch_values: list[Tensor] = []
        self._filled = 0  # of the trunk
        self._chunk: int | None = None  # new tokens of the trunk, or None while branches grow
        self._slots = torch.empty(0)
        self._places = torch.empty(0)
        self._mask: Tensor | None = None

    @contextmanager
    def trunk_chunk(self, n: int) -> Iterator[None]:
        """While the next `n` tokens of the trunk go through the model."""
        self._chunk = n
        yield
        self._filled += n
        self._chunk = None

    def grid(self, lengths: Tensor, rows: int, columns: int, seen: int | None = None) -> None:
        """Now a grid of `rows` branches by `columns` new tokens goes through; `lengths` is what each branch has, and
        `seen` the most that any of them has then, where that is known."""
        self._seen = self._width if seen is None else min(_aligned(seen), self._width)
        self._slots = lengths.view(rows, 1) + torch.arange(columns, device=lengths.device)  # where new tokens go
        row = torch.arange(rows, device=lengths.device).view(rows, 1)
        self._places = (row * self._width + self._slots).flatten()  # the same, in all branches side by side
        self._mask = None

    def keep(self, rows: Tensor) -> None:
        """Only these branches go on."""
        self._branch_keys = [keys[rows] for keys in self._branch_keys]
        self._branch_values = [values[rows] for values in self._branch_values]
        self._branches = len(rows)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Attention of new tokens, (1, heads, tokens, width), after keeping their keys and values."""
        self._open(layer, key)
        return (
            self._of_trunk(layer, query, key, value, scale)
            if self._chunk
            else self._of_grid(layer, query, key, value, scale)
        )

    def _open(self, layer: int, like: Tensor) -> None:
        if len(self._keys) > layer:
            return
        _, heads, _, width = like.shape
        for trunk in (self._keys, self._values):
            trunk.append(like.new_empty(1, heads, self._size, width))
        for branch in (self._branch_keys, self._branch_values):  # what hides a slot cannot hide that it is no number
            branch.append(like.new_zeros(self._branches, self._width, heads, width))

    def _of_trunk(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        start, end = self._filled, self._filled + key.shape[2]
        keys, values = self._keys[layer], self._values[layer]
        keys[:, :, start:end], values[:, :, start:end] = key, value
        part = attend(query, key, value, scale, causal=True)
        if start:
            grouped = group(query, key.shape[1])
            before = attend(grouped, keys[:, :, :start], values[:, :, :start], scale)
            part = merge(_flat(before, query.shape[1]), part)
        return part.out

    def _of_grid(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        rows, columns = self._slots.shape
        heads, key_heads, width = query.shape[1], key.shape[1], query.shape[3]
        keys, values = self._branch_keys[layer], self._branch_values[layer]
        for kept, new in ((keys, key), (values, value)):
            kept.view(-1, key_heads, width).index_copy_(0, self._places, new[0].transpose(0, 1))
        if self._mask is None:
            self._mask = self._made_mask(heads // key_heads, query.dtype)
        # (1, heads, rows * columns, width) to a row a branch.
        own = group(query.view(heads, rows, columns, width).transpose(0, 1), key_heads)
        keys, values = (kept[:, : self._seen].transpose(1, 2) for kept in (keys, values))
        found = attend_masked(own, keys, values, scale, self._mask)
        branch = Part(*_rows_to_one(found, rows, columns, heads))
        if not self._size:
            return branch.out
        trunk = attend(group(query, key_heads), self._keys[layer], self._values[layer], scale)
        return mix(_flat(trunk, heads), branch)

    def _made_mask(self, heads: int, dtype: torch.dtype) -> Tensor:
        """For a group of so many heads: a new token sees the slots of its own branch up to its own."""
        at = torch.arange(self._seen, device=self._slots.device)
        hidden = at.view(1, 1, -1) > self._slots.unsqueeze(-1)
        mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill(hidden, -torch.inf)
        return mask.repeat(1, heads, 1).unsqueeze(1)


def _aligned(width: int) -> int:
    return -(-width // _ALIGNED) * _ALIGNED


def _rows_to_one(part: Part, rows: int, columns: int, heads: int) -> tuple[Tensor, Tensor]:
    """Parts of (rows, key heads, group * columns, …) as (1, heads, rows * columns, …)."""
    out = ungroup(part.out, heads).transpose(0, 1).reshape(1, heads, rows * columns, -1)
    lse = part.lse.reshape(rows, heads, columns).transpose(0, 1).reshape(1, heads, rows * columns)
    return out, lse


def _flat(part: Part, heads: int) -> Part:
    """A part of (1, key heads, group * tokens, …) as (1, heads, tokens, …)."""
    return Part(ungroup(part.out, heads), part.lse.reshape(1, heads, -1))
