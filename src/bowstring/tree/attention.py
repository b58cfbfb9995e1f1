"""Attention over a tree whose trunk is stored once, computed in parts that are merged.

A query attends to the trunk and to its own branch. The two parts are computed separately, each with its log-sum-exp,
and merged as one softmax would: out = Σ exp(lseᵢ - lse) outᵢ. So the trunk's keys and values exist once for all
branches, grouped queries share a key head without copies, and no mask of the whole tree is built.

The backward pass of a part needs the merged output and log-sum-exp instead of its own: the weight of a key is exp(score
- lse), whichever part it is in. So `attend_back` runs per part, and the gradients add up.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

_flash = torch.ops.aten._scaled_dot_product_flash_attention
_flash_back = torch.ops.aten._scaled_dot_product_flash_attention_backward
_cudnn = torch.ops.aten._scaled_dot_product_cudnn_attention
_cudnn_back = torch.ops.aten._scaled_dot_product_cudnn_attention_backward
_efficient = torch.ops.aten._scaled_dot_product_efficient_attention
_flash_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_cpu_back = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


# cuDNN's kernel is the fastest for long causal sequences on the GPUs it targets, but planning takes about half a second
# per new length. So it only gets multiples of this length.
_LONG = 4096
_LENGTHS = 2048
HUGE = 1e30  # larger than any real log-sum-exp


class Part(NamedTuple):
    """Attention output over some of the keys (…, queries, width), and the log of the weights' sum (…, queries)."""

    out: Tensor
    lse: Tensor


class Gradients(NamedTuple):
    query: Tensor
    key: Tensor
    value: Tensor


def merge(first: Part, second: Part) -> Part:
    """Merge two parts as if all their keys had been attended to together."""
    return Part(mix(first, second), torch.logaddexp(first.lse, second.lse))


def mix(first: Part, second: Part) -> Tensor:
    """Return the output of `merge`: exp(lse₁) / (exp(lse₁) + exp(lse₂)) is a sigmoid of their difference."""
    weight = torch.sigmoid(first.lse - second.lse).unsqueeze(-1)
    return torch.lerp(second.out, first.out, weight.to(first.out.dtype))


def attend(query: Tensor, key: Tensor, value: Tensor, scale: float, *, causal: bool = False) -> Part:
    """Attention of (batch, heads, queries, width) to (batch, key heads, keys, width), where a group of heads shares a
    key head. Causal: queries and keys belong to the same tokens, and no query attends to a later key."""
    if _on_gpu(query) and not (causal and _is_long(query)):
        found = _flash(query, key, value, 0.0, causal, return_debug_mask=False, scale=scale)
        return Part(found[0], found[1][..., : query.shape[2]])
    wide_key, wide_value = (_widened(t, query.shape[1]) for t in (key, value))
    if _on_gpu(query):
        filled = (_filled_up(t) for t in (query, wide_key, wide_value))
        found = _cudnn(*filled, None, True, 0.0, True, False, scale=scale)
        n = query.shape[2]
        return Part(found[0][:, :, :n], found[1].reshape(*query.shape[:2], -1)[:, :, :n])
    if _on_cpu(query):
        return Part(*_flash_cpu(query, wide_key, wide_value, 0.0, causal, scale=scale))
    return _attend_plainly(query, wide_key, wide_value, scale, _triangle(query) if causal else None)


def attend_back(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, whole: Part, scale: float, *, causal: bool = False
) -> Gradients:
    """Return the gradients of one part, given the merged output and log-sum-exp of all parts."""
    out, lse = whole
    lengths = (None, None, query.shape[2], key.shape[2])
    if _on_gpu(query) and not (causal and _is_long(query)):
        state = _no_dropout(query.device, torch.uint64)
        how: tuple[Any, ...] = (*lengths, 0.0, causal, state, state)
        return Gradients(*_flash_back(grad, query, key, value, out, lse.contiguous(), *how, scale=scale))
    wide_key, wide_value = (_widened(t, query.shape[1]) for t in (key, value))
    if _on_gpu(query):
        found = _cudnn_backward(grad, query, wide_key, wide_value, whole, scale)
        return Gradients(found[0], _narrowed(found[1], key.shape[1]), _narrowed(found[2], key.shape[1]))
    if _on_cpu(query):
        inner = lse.transpose(1, 2).contiguous().transpose(1, 2)  # the memory layout of the forward pass
        found = _flash_cpu_back(grad, query, wide_key, wide_value, out, inner, 0.0, causal, scale=scale)
    else:
        found = _plain_back(grad, query, wide_key, wide_value, whole, scale, _triangle(query) if causal else None)
    return Gradients(found[0], _narrowed(found[1], key.shape[1]), _narrowed(found[2], key.shape[1]))


def attend_masked(query: Tensor, key: Tensor, value: Tensor, scale: float, mask: Tensor) -> Part:
    """Attention of (batch, key heads, queries, width), with the queries of a group's heads side by side on the third
    axis, to the keys where `mask` is 0; minus infinity hides a key."""
    if _on_gpu(query):
        shape = (*query.shape[:3], key.shape[2])
        found = _efficient(query, key, value, mask.expand(shape), True, 0.0, False, scale=scale)
        return Part(found[0], found[1][..., : query.shape[2]])
    return _attend_plainly(query, key, value, scale, mask == 0)


def _attend_plainly(query: Tensor, key: Tensor, value: Tensor, scale: float, mask: Tensor | None) -> Part:
    scores = _scores(query, key) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    lse = torch.logsumexp(scores, dim=-1)
    weights = (scores - lse.unsqueeze(-1)).exp()
    if query.is_cuda:  # accumulated in float32 either way, as in flash attention
        return Part(weights.to(value.dtype) @ value, lse)
    return Part((weights @ value.float()).to(query.dtype), lse)


def _plain_back(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, whole: Part, scale: float, mask: Tensor | None
) -> Gradients:
    scores = _scores(query, key) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = (scores - whole.lse.unsqueeze(-1)).exp()
    of_value = weights.transpose(-1, -2) @ grad.float()
    gathered = (grad.float() * whole.out.float()).sum(-1, keepdim=True)
    of_scores = weights * (grad.float() @ value.float().transpose(-1, -2) - gathered) * scale
    of_query, of_key = of_scores @ key.float(), of_scores.transpose(-1, -2) @ query.float()
    return Gradients(of_query.to(query.dtype), of_key.to(key.dtype), of_value.to(value.dtype))


def _scores(query: Tensor, key: Tensor) -> Tensor:
    """Return products in float32, without a float32 copy of the keys where the device supports that."""
    if not query.is_cuda or query.dtype == torch.float32:
        return query.float() @ key.float().transpose(-1, -2)
    batch, heads, queries, width = query.shape
    flat = torch.bmm(
        query.reshape(-1, queries, width), key.reshape(-1, *key.shape[2:]).transpose(1, 2), out_dtype=torch.float32
    )
    return flat.view(batch, heads, queries, -1)


def _on_gpu(query: Tensor) -> bool:
    return query.is_cuda and query.dtype in (torch.float16, torch.bfloat16) and query.shape[-1] <= 256


def _cudnn_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, whole: Part, scale: float
) -> tuple[Tensor, ...]:
    """Causal backward pass. Padding has zero gradient and, through its log-sum-exp, zero weight."""
    n = query.shape[2]
    grad, query, key, value, out = (_filled_up(t) for t in (grad, query, key, value, whole.out))
    lse = functional.pad(whole.lse, (0, query.shape[2] - n), value=HUGE).unsqueeze(-1)
    state = _no_dropout(query.device, torch.int64)
    how = (out, lse, state, state, None, None, None, query.shape[2], query.shape[2], 0.0, True)
    found: tuple[Tensor, ...] = _cudnn_back(grad, query, key, value, *how, scale=scale)
    return tuple(t[:, :, :n] for t in found)


def _filled_up(sequences: Tensor) -> Tensor:
    """Pad to one of a few lengths; no earlier token attends to the padding."""
    more = -sequences.shape[2] % _LENGTHS
    return functional.pad(sequences, (0, 0, 0, more)).contiguous()


def _is_long(query: Tensor) -> bool:
    return (
        query.shape[2] >= _LONG and query.shape[-1] <= 128 and torch.cuda.get_device_capability(query.device) >= (9, 0)
    )


def _no_dropout(device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return a dropout state; the kernels require one even without dropout."""
    return torch.zeros(2, dtype=dtype, device=device)


def _on_cpu(query: Tensor) -> bool:
    # In half precision the kernel uses instructions that some machines report but lack.
    return query.is_cpu and query.dtype == torch.float32


def _triangle(query: Tensor) -> Tensor:
    n = query.shape[2]
    return torch.ones(n, n, dtype=torch.bool, device=query.device).tril()


def _widened(key: Tensor, heads: int) -> Tensor:
    return key if key.shape[1] == heads else key.repeat_interleave(heads // key.shape[1], dim=1)


def _narrowed(grad: Tensor, key_heads: int) -> Tensor:
    batch, heads, keys, width = grad.shape
    return grad if heads == key_heads else grad.view(batch, key_heads, heads // key_heads, keys, width).sum(2)


def group(query: Tensor, key_heads: int) -> Tensor:
    """Reshape (batch, heads, queries, width) so that the queries of a key head's group are side by side."""
    batch, heads, queries, width = query.shape
    return query.reshape(batch, key_heads, heads // key_heads * queries, width)


def ungroup(out: Tensor, heads: int) -> Tensor:
    """The inverse of `group`."""
    batch, key_heads, rows, width = out.shape
    return out.reshape(batch, heads, rows * key_heads // heads, width)
