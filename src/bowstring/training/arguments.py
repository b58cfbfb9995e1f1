"""Arguments of transformers' Trainer, and its checkpoints."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bowstring.errors import UsageError
from bowstring.files.redaction import error_line
from bowstring.models.loading import require_torch
from bowstring.training.settings import TrainSettings

_MOST_BETWEEN = 50  # steps
# FSDP settings that an adapter needs, as `accelerate launch` passes them on. With FSDP's own checkpointing PEFT finds
# nothing to save, and sharded state is not saved. A model loaded only by the first process can neither run the trial
# nor compute a reference.
_SPLIT = {
    "fsdp_version": "2",
    "fsdp_state_dict_type": "FULL_STATE_DICT",
    "fsdp_activation_checkpointing": "false",
    "fsdp_cpu_ram_efficient_loading": "false",
}


def trainer_arguments(
    settings: TrainSettings, checkpoints: Path, *, tensorboard: bool, tell: Callable[[str], None]
) -> Any:
    """Return TrainingArguments; creating them also joins the other processes, if any."""
    torch = require_torch()
    from transformers import TrainingArguments

    _check_split()

    cuda = torch.cuda.is_available()
    bf16 = settings.precision == "bf16" or (settings.precision == "auto" and cuda)
    try:
        made = TrainingArguments(
            output_dir=str(checkpoints),
            per_device_train_batch_size=1,
            num_train_epochs=1,  # the pack order already contains all epochs
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
        raise UsageError(f"training cannot start: {error_line(error)}") from error
    made.mixed_precision = "bf16" if bf16 else "no"  # overrides accelerate's configuration
    if made.n_gpu > 1:
        # Trainer would split batches over all GPUs in one process, and a tree cannot be split.
        tell(f"Using one of {made.n_gpu} GPUs; to use all of them: accelerate launch -m bowstring train …")
        made._n_gpu = 1
    return made


def _check_split() -> None:
    if os.environ.get("ACCELERATE_USE_FSDP", "false").lower() != "true":
        return
    for name, wanted in _SPLIT.items():
        found = os.environ.get(name.upper(), "not set")
        if found.lower() != wanted.lower():
            where = "in accelerate's configuration; recipes/accelerate/fsdp.yaml has the required settings"
            raise UsageError(f"{name} is {found}, but must be {wanted} {where}")


def steps_between_checkpoints(steps: int) -> int:
    """Return a tenth of all steps, so that a kill loses little of a short training; at most a fixed number for long
    ones."""
    return min(_MOST_BETWEEN, math.ceil(steps / 10))


def last_checkpoint(folder: Path) -> Path | None:
    """Return the newest complete checkpoint: Trainer writes its state last."""
    found = []
    for path in folder.glob("checkpoint-*"):
        try:
            json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        found.append(path)
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
