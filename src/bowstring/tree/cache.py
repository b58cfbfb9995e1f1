"""The key-value cache of a tree: the trunk stored once, plus each branch; and attention over it.

Layers pass the queries, keys and values of new tokens to the state, which stores them and attends by the rule in
`packing`. (`layers` connects it to a model.)

    with state.trunk_chunk(512):
        model(input_ids=…, position_ids=…, use_cache=False, tree=state)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from bowstring.tree.attention import Part, attend, attend_masked, group, merge, mix, ungroup

_ALIGNED = 8  # kernels need aligned mask rows


class TreeState:
    """A trunk that grows in chunks, then branches that grow together, one grid of new tokens at a time."""

    def __init__(self, *, trunk: int, branches: int, width: int) -> None:
        """`trunk` is its length; `width` is the maximum number of tokens per branch."""
        self._size, self._branches = trunk, branches
        self._width = self._seen = _aligned(width)
        self._keys: list[Tensor] = []  # per layer: (1, key heads, trunk, head width)
        self._values: list[Tensor] = []
        self._branch_keys: list[Tensor] = []  # per layer: (branches, width, key heads, head width)
        self._branch_values: list[Tensor] = []
        self._filled = 0  # trunk tokens stored so far
        self._chunk: int | None = None  # new trunk tokens, or None while branches grow
        self._slots = torch.empty(0)
        self._places = torch.empty(0)
        self._mask: Tensor | None = None

    @contextmanager
    def trunk_chunk(self, n: int) -> Iterator[None]:
        """Context in which the next `n` trunk tokens go through the model."""
        self._chunk = n
        yield
        self._filled += n
        self._chunk = None

    def grid(self, lengths: Tensor, rows: int, columns: int, seen: int | None = None) -> None:
        """Prepare for a grid of `rows` branches by `columns` new tokens. `lengths` holds the current length of each
        branch, `seen` the maximum length afterwards, if known."""
        self._seen = self._width if seen is None else min(_aligned(seen), self._width)
        self._slots = lengths.view(rows, 1) + torch.arange(columns, device=lengths.device)  # slots of the new tokens
        row = torch.arange(rows, device=lengths.device).view(rows, 1)
        self._places = (row * self._width + self._slots).flatten()  # the same, flattened over branches
        self._mask = None

    def keep(self, rows: Tensor) -> None:
        """Keep only these branches."""
        self._branch_keys = [keys[rows] for keys in self._branch_keys]
        self._branch_values = [values[rows] for values in self._branch_values]
        self._branches = len(rows)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Store the keys and values of new tokens, and return their attention, (1, heads, tokens, width)."""
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
        for branch in (self._branch_keys, self._branch_values):  # zeros, because a mask cannot hide NaN
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
            self._mask = self._build_mask(heads // key_heads, query.dtype)
        # (1, heads, rows * columns, width) to one row per branch.
        own = group(query.view(heads, rows, columns, width).transpose(0, 1), key_heads)
        keys, values = (kept[:, : self._seen].transpose(1, 2) for kept in (keys, values))
        found = attend_masked(own, keys, values, scale, self._mask)
        branch = Part(*_rows_to_one(found, rows, columns, heads))
        if not self._size:
            return branch.out
        trunk = attend(group(query, key_heads), self._keys[layer], self._values[layer], scale)
        return mix(_flat(trunk, heads), branch)

    def _build_mask(self, heads: int, dtype: torch.dtype) -> Tensor:
        """Build the mask for a group of `heads` heads: a new token sees the slots of its branch up to its own."""
        at = torch.arange(self._seen, device=self._slots.device)
        hidden = at.view(1, 1, -1) > self._slots.unsqueeze(-1)
        mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill(hidden, -torch.inf)
        return mask.repeat(1, heads, 1).unsqueeze(1)


def _aligned(width: int) -> int:
    return -(-width // _ALIGNED) * _ALIGNED


def _rows_to_one(part: Part, rows: int, columns: int, heads: int) -> tuple[Tensor, Tensor]:
    """Reshape parts of (rows, key heads, group * columns, …) to (1, heads, rows * columns, …)."""
    out = ungroup(part.out, heads).transpose(0, 1).reshape(1, heads, rows * columns, -1)
    lse = part.lse.reshape(rows, heads, columns).transpose(0, 1).reshape(1, heads, rows * columns)
    return out, lse


def _flat(part: Part, heads: int) -> Part:
    """Reshape a part of (1, key heads, group * tokens, …) to (1, heads, tokens, …)."""
    return Part(ungroup(part.out, heads), part.lse.reshape(1, heads, -1))
