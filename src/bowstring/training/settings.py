"""What a training is told. Defaults as published; where the two systems say nothing, plain ones."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from bowstring.errors import UsageError, check_choice

Method = Literal["sft", "dpo", "judge", "matcher"]
EVALUATORS = ("judge", "matcher")  # the methods that train those
Normalise = Literal["token", "answer"]
Precision = Literal["auto", "bf16", "float32"]
Instruction = Literal["system", "user"]

# Of HiCUPID's authors: assistants, then evaluators. CUPID's matcher was trained like an evaluator, with other ranks.
PUBLISHED: dict[Method, dict[str, Any]] = {
    "sft": {"lr": 1e-4, "rank": 256, "alpha": 512, "dropout": 0.05, "max_length": 20_480},
    "dpo": {"lr": 1e-6, "rank": 256, "alpha": 512, "dropout": 0.0, "max_length": 20_480},
    "judge": {"lr": 2e-4, "rank": 64, "alpha": 128, "dropout": 0.05, "max_length": 1024, "users_per_step": 2},
    "matcher": {"lr": 2e-4, "rank": 64, "alpha": 128, "dropout": 0.05, "max_length": 2048, "users_per_step": 2},
}


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Everything that changes what comes out, and nothing else."""

    method: Method
    history: str = "full"
    drop_irrelevant: int = 0
    splits: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    instruction: Instruction = "system"
    branches: int = 32
    users_per_step: int = 8
    normalise: Normalise = "token"
    epochs: float = 1.0
    lr: float = 1e-4
    rank: int = 256
    alpha: int = 512
    dropout: float = 0.05
    warmup: float = 0.03
    grad_norm: float = 0.3
    beta: float = 0.1
    max_length: int = 20_480
    limit: int | None = None
    hold_out: float = 0.1
    checkpointing: bool = True
    precision: Precision = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, kind in (
            ("method", Method),
            ("normalise", Normalise),
            ("precision", Precision),
            ("instruction", Instruction),
        ):
            check_choice(name, getattr(self, name), get_args(kind))
        for name in _FLOATS:
            if not math.isfinite(getattr(self, name)):
                raise UsageError(f"--{name.replace('_', '-')} {getattr(self, name)}: expected a number")
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"--seed {self.seed}: expected 0 to 4294967295")
        for name in ("branches", "users_per_step", "epochs", "lr", "rank", "alpha", "grad_norm", "beta", "max_length"):
            if getattr(self, name) <= 0:
                raise UsageError(f"--{name.replace('_', '-')} {getattr(self, name)}: expected more than 0")
        for name in ("dropout", "warmup", "hold_out"):
            if not 0 <= getattr(self, name) < 1:
                raise UsageError(f"--{name.replace('_', '-')} {getattr(self, name)}: expected 0 to below 1")
        if self.drop_irrelevant < 0:
            raise UsageError(f"--drop-irrelevant {self.drop_irrelevant}: expected 0 or more")
        if self.method == "dpo" and self.dropout:
            raise UsageError("--dropout: DPO compares log-probabilities with the start's; it has no dropout")
        if self.drop_irrelevant and self.history != "full":
            raise UsageError(f"--drop-irrelevant is for --history full, not {self.history}")

    def configuration(self) -> dict[str, Any]:
        """The settings that bear on this method."""
        found = asdict(self)
        for name in set(found) - _bears_on(self.method):
            del found[name]
        return found


_FLOATS = {"epochs", "lr", "dropout", "warmup", "grad_norm", "beta", "hold_out"}  # 2 and 2.0 are one training
_ASSISTANT = {"history", "drop_irrelevant", "splits", "types", "instruction"}
_EVALUATOR = {"hold_out", "types"}


def _bears_on(method: Method) -> set[str]:
    common = {field.name for field in fields(TrainSettings)} - _ASSISTANT - _EVALUATOR - {"beta", "normalise"}
    return (
        common
        | {
            "sft": _ASSISTANT | {"normalise"},
            "dpo": _ASSISTANT | {"beta"},
            "judge": _EVALUATOR | {"normalise"},
            "matcher": _EVALUATOR | {"normalise"},
        }[method]
    )


def settings_for(method: Method, **given: Any) -> TrainSettings:
    """The published settings of a method, with those that were given in their place (None: not given)."""
    check_choice("method", method, get_args(Method))
    said = {name: float(value) if name in _FLOATS else value for name, value in given.items() if value is not None}
    unknown = sorted(set(said) - {field.name for field in fields(TrainSettings)})
    if unknown:
        raise UsageError(f"no training setting {unknown[0]!r}")
    return TrainSettings(method, **(PUBLISHED[method] | said))
