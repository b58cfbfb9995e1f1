"""What transformers' Trainer is told, and where it left off."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bowstring.errors import UsageError
from bowstring.models.loading import require_torch
from bowstring.training.settings import TrainSettings

_MOST_BETWEEN = 50  # steps
# What FSDP must be told for an adapter to come out right, as `accelerate launch` passes it on. With its checkpointing
# PEFT finds nothing to save; in shards nothing is saved; and a model that only the first process has loaded can neither
# be tried nor give a reference.
_SPLIT = {
    "fsdp_version": "2",
    "fsdp_state_dict_type": "FULL_STATE_DICT",
    "fsdp_activation_checkpointing": "false",
    "fsdp_cpu_ram_efficient_loading": "false",
}


def trainer_arguments(
    settings: TrainSettings, checkpoints: Path, *, tensorboard: bool, tell: Callable[[str], None]
) -> Any:
    """TrainingArguments; making them also joins the other processes, where there are any."""
    torch = require_torch()
    from transformers import TrainingArguments

    _check_split()

    cuda = torch.cuda.is_available()
    bf16 = settings.precision == "bf16" or (settings.precision == "auto" and cuda)
    try:
        made = TrainingArguments(
            output_dir=str(checkpoints),
            per_device_train_batch_size=1,
            num_train_epochs=1,  # the order of packs has all of them
            learning_rate=settings.lr,
            lr_scheduler_type="cosine",
            max_grad_norm=settings.grad_norm,
            bf16=bf16,
            gradient_checkpointing=settings.checkpointing,
            gradient_checkpointing_kwargs={"use_reentrant": False},
            logging_steps=1,
            logging_nan_inf_filter=False,
            save_strategy="steps",
            save_total_limit=2,
            report_to=["tensorboard"] if tensorboard else "none",
            disable_tqdm=True,
            dataloader_pin_memory=cuda,
            remove_unused_columns=False,
            seed=settings.seed,
            use_cpu=not cuda,
            ddp_find_unused_parameters=False,
        )
    except (ImportError, ValueError, RuntimeError) as error:
        raise UsageError(f"training cannot start: {' '.join(str(error).split())[:200]}") from error
    made.mixed_precision = "bf16" if bf16 else "no"  # ours to say, and not accelerate's configuration's
    if made.n_gpu > 1:
        # Trainer would split batches over all of them in one process, and a tree cannot be split.
        tell(f"One of {made.n_gpu} GPUs is used; for all of them: accelerate launch -m bowstring train …")
        made._n_gpu = 1
    return made


def _check_split() -> None:
    if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() != "true":
        return
    for name, wanted in _SPLIT.items():
        found = os.environ.get(name.upper(), "not set")
        if found.lower() != wanted.lower():
            where = "in accelerate's configuration; recipes/accelerate/fsdp.yaml has all that is needed"
            raise UsageError(f"{name} is {found}, and must be {wanted} {where}")


def steps_between_checkpoints(steps: int) -> int:
    """A tenth of all, so that a kill costs a short training little; and at most as many as a long one can lose."""
    return min(_MOST_BETWEEN, math.ceil(steps / 10))


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is whole: its state is what Trainer writes last."""
    found = []
    for path in folder.glob("checkpoint-*"):
        try:
            json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        found.append(path)
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
