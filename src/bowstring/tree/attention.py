"""Attention over a tree whose trunk is stored once, in parts that are merged.

A query looks at the trunk and at its own branch. The two are computed apart, each with the logarithm of its sum, and
put together as one softmax would: out = Σ exp(lseᵢ - lse) outᵢ. So the trunk's keys and values exist once for all
branches, grouped queries share their key head without copies of it, and no mask of the whole tree is ever made.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Part(NamedTuple):
    """What a query gathered from some of its keys (…, queries, width), and the log of the weights' sum (…, queries)."""

    out: Tensor
    lse: Tensor


def merge(first: Part, second: Part) -> Part:
    """Two parts as if all of their keys had been looked at together."""
    lse = torch.logaddexp(first.lse, second.lse)
    weight = (first.lse - lse).exp().unsqueeze(-1)
    other = (second.lse - lse).exp().unsqueeze(-1)
    return Part(first.out * weight.to(first.out.dtype) + second.out * other.to(second.out.dtype), lse)


def attend(query: Tensor, key: Tensor, value: Tensor, scale: float, mask: Tensor | None = None) -> Part:
    """Attention of (batch, key heads, queries, width) to (batch, key heads, keys, width); `mask` is true where a query
    may look. Queries of all heads of a group lie side by side on the third axis."""
    if mask is None and _has_flash(query):
        found = torch.ops.aten._scaled_dot_product_flash_attention(
            query, key, value, 0.0, False, return_debug_mask=False, scale=scale
        )
        return Part(found[0], found[1][..., : query.shape[2]])
    scores = _scores(query, key) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    lse = torch.logsumexp(scores, dim=-1)
    weights = (scores - lse.unsqueeze(-1)).exp()
    if query.is_cuda:  # summed in float32 either way, as flash attention does
        return Part(weights.to(value.dtype) @ value, lse)
    return Part((weights @ value.float()).to(query.dtype), lse)


def _scores(query: Tensor, key: Tensor) -> Tensor:
    """Products in float32, without a copy of the keys in it where the device can do that."""
    if not query.is_cuda or query.dtype == torch.float32:
        return query.float() @ key.float().transpose(-1, -2)
    batch, heads, queries, width = query.shape
    flat = torch.bmm(
        query.reshape(-1, queries, width), key.reshape(-1, *key.shape[2:]).transpose(1, 2), out_dtype=torch.float32
    )
    return flat.view(batch, heads, queries, -1)


def attend_causal(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Part:
    """Attention of new tokens, (1, heads, tokens, width), to themselves and those before them; key heads are fewer."""
    heads, key_heads, tokens = query.shape[1], key.shape[1], query.shape[2]
    if _has_flash(query):
        wide_key, wide_value = (t.repeat_interleave(heads // key_heads, dim=1) for t in (key, value))
        found = torch.ops.aten._scaled_dot_product_flash_attention(
            query, wide_key, wide_value, 0.0, True, return_debug_mask=False, scale=scale
        )
        return Part(found[0], found[1][..., :tokens])
    causal = torch.ones(tokens, tokens, dtype=torch.bool, device=query.device).tril()
    part = attend(group(query, key_heads), key, value, scale, causal.repeat(heads // key_heads, 1))
    return Part(ungroup(part.out, heads), part.lse.reshape(1, heads, tokens))


def _has_flash(query: Tensor) -> bool:
    return query.is_cuda and query.dtype in (torch.float16, torch.bfloat16) and query.shape[-1] <= 256


def group(query: Tensor, key_heads: int) -> Tensor:
    """(batch, heads, queries, width) with the queries of a key head's group side by side."""
    batch, heads, queries, width = query.shape
    return query.reshape(batch, key_heads, heads // key_heads * queries, width)


def ungroup(out: Tensor, heads: int) -> Tensor:
    """The inverse of `group`."""
    batch, key_heads, rows, width = out.shape
    return out.reshape(batch, heads, rows * key_heads // heads, width)
