"""LoRA adapters on all linear layers, new or continued; and the adapter's card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bowstring.models.loading import as_load_error
from bowstring.training.settings import TrainSettings


def with_adapter(model: Any, start: Path | None, settings: TrainSettings) -> Any:
    """Return the model with an adapter to train: a new one, which has no effect yet, or the one in `start`."""
    from peft import LoraConfig, PeftConfig, PeftModel, get_peft_model

    if not settings.dropout:
        _without_dropout(model)
    if start is None:
        config = LoraConfig(
            r=settings.rank,
            lora_alpha=settings.alpha,
            lora_dropout=settings.dropout,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        )
        return get_peft_model(model, config)
    with as_load_error(start):
        config = PeftConfig.from_pretrained(str(start))
        config.lora_dropout = settings.dropout
        return PeftModel.from_pretrained(model, str(start), config=config, is_trainable=True)


def _without_dropout(model: Any) -> None:
    """Disable the model's own dropout too if none is wanted: as modules, or as numbers passed to functions."""
    from torch.nn.modules.dropout import _DropoutNd

    for module in model.modules():
        if isinstance(module, _DropoutNd):
            module.p = 0.0
        for name, value in vars(module).items():
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, 0.0)


def card(base: str, record: dict[str, Any]) -> str:
    """Return the README of an adapter's folder."""
    said = record["configuration"]
    return (
        f"# An adapter for {base}\n\nTrained by Bowstring ({said['method']}) on {said['data']}. The data, settings and "
        "steps of the training are in training.json.\n\n"
        f"    {next_command(said, 'THIS-FOLDER')}\n"
    )


def next_command(said: dict[str, Any], folder: str) -> str:
    """Return the command that uses the adapter of this configuration."""
    use = f"hf/{said['model']}+{folder}"
    benchmark = next(iter(said["prompts"])).partition("/")[0]
    role = {"judge": "--judge {} --model …", "matcher": "--matcher {} --model … --judge …"}
    return f"bowstring eval {benchmark} {role.get(said['method'], '--model {} …').format(use)}"
