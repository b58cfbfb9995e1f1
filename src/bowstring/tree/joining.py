"""Fewer kernels for what a model computes: on a GPU a step of decoding is otherwise mostly the starting of small ones.

RMS norms are written out by models (square, mean, root, two products, two casts), and PyTorch has a kernel for the
whole. Which of a model's norms mean the same is found by trying each: Gemma's, say, add one to the weight.

A LoRA adapter beside a layer is two products, the second of which can add itself to the layer's own.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_ROUNDING = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}  # a share of the largest number


def join_norms(model: Any) -> int:
    """How many norms are one kernel from now on."""
    joined = 0
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm") and _is_plain(module):
            module.forward = MethodType(_norm, module)
            joined += 1
    return joined


@torch.no_grad()
def _is_plain(module: Any) -> bool:
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor) or weight.dim() != 1 or weight.dtype not in _ROUNDING or _epsilon(module) is None:
        return False
    # Small numbers as well as usual ones, for the epsilon to show.
    tried = torch.linspace(-2, 3, 2 * len(weight), dtype=weight.dtype, device=weight.device).view(2, -1)
    tried[1] *= 1e-3
    wanted, found = module(tried).float(), _norm(module, tried).float()
    return bool((found - wanted).abs().max() <= _ROUNDING[weight.dtype] * wanted.abs().max())


def _norm(module: Any, given: Tensor) -> Tensor:
    weight = module.weight.to(given.dtype)
    return functional.rms_norm(given, weight.shape, weight, _epsilon(module)).to(given.dtype)


def join_adapters(model: Any) -> int:
    """How many layers add their LoRA adapter in two kernels from now on: always, and not to be trained."""
    joined = 0
    for module in model.modules():
        if _is_plain_adapter(module):
            module.forward = MethodType(_adapted, module)
            joined += 1
    return joined


def _is_plain_adapter(module: Any) -> bool:
    """One adapter of two matrices, in the layer's own precision, and nothing else to it (DoRA, a bias, …)."""
    from peft.tuners.lora.layer import Linear

    if type(module) is not Linear:
        return False
    names = [name for name in module.active_adapters if name in module.lora_A]
    if len(names) != 1 or module.merged or module.disable_adapters or module.lora_variant:
        return False
    inner, outer = module.lora_A[names[0]], module.lora_B[names[0]]
    same = inner.weight.dtype == outer.weight.dtype == module.get_base_layer().weight.dtype
    return same and inner.bias is None and outer.bias is None


def _adapted(module: Any, given: Tensor) -> Tensor:
    (name,) = (name for name in module.active_adapters if name in module.lora_A)
    own: Tensor = module.base_layer(given)
    inner = functional.linear(given, module.lora_A[name].weight).flatten(0, -2)
    outer = module.lora_B[name].weight.t()
    return torch.addmm(own.flatten(0, -2), inner, outer, alpha=module.scaling[name]).view_as(own)


def _epsilon(module: Any) -> float | None:
    found = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    return found if isinstance(found, float) else None
