"""Models that are split between processes on the CPU.

accelerate splits models between accelerators alone, and leaves processes on a CPU with whole ones, whatever it was
configured for. That one condition is changed here; what splits, gathers and saves is PyTorch's and theirs.
"""

from typing import Any

from accelerate import accelerator, state
from accelerate.utils import DistributedType
from torch.distributed.tensor import DTensor

_begin = state.AcceleratorState.__init__
_split = accelerator.fsdp2_prepare_model


def begin(self: Any, *given: Any, fsdp_plugin: Any = None, **more: Any) -> None:
    _begin(self, *given, fsdp_plugin=fsdp_plugin, **more)
    if fsdp_plugin is not None:
        self.fsdp_plugin, self.distributed_type = fsdp_plugin, DistributedType.FSDP
        state.PartialState._shared_state["distributed_type"] = self.distributed_type


def split(*given: Any) -> Any:
    model = _split(*given)
    parts = [isinstance(weight, DTensor) for weight in model.parameters()]
    print(f"{sum(parts)} of {len(parts)} weights are split")
    return model


def split_on_cpu() -> None:
    state.AcceleratorState.__init__ = begin
    accelerator.fsdp2_prepare_model = split
