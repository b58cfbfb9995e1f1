"""Small trainings: an adapter on a tiny model in float32, without dropout and warm-up by default."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bowstring.api.train import TrainingResult, train
from bowstring.training.adapters import with_adapter
from bowstring.training.arguments import trainer_arguments
from bowstring.training.objectives import Objective
from bowstring.training.packs import Pack
from bowstring.training.settings import settings_for
from bowstring.training.trainer import PackSet, TreeTrainer

SMALL: dict[str, Any] = {
    "rank": 4,
    "alpha": 8,
    "dropout": 0.0,
    "warmup": 0.0,
    "branches": 2,
    "users_per_step": 2,
    "precision": "float32",
}


def small(method: str, model: Path | str, data: Path | str, out: Path, **given: Any) -> TrainingResult:
    said = SMALL | given
    if said.get("init_from"):  # it brings its own
        said = {name: value for name, value in said.items() if name not in ("rank", "alpha")}
    return train(method, model=str(model), data=str(data), out=out, **said)


def as_options(**given: Any) -> list[str]:
    """The same as words of a command line; None leaves an option out."""
    said = {name: value for name, value in (SMALL | given).items() if value is not None}
    return [word for name, value in said.items() for word in (f"--{name.replace('_', '-')}", str(value))]


class Interrupted(Exception):
    """Raised to interrupt a training."""


def interrupt_at(step: int) -> Any:
    def watch(news: Any) -> None:
        if news.step == step:
            raise Interrupted

    return watch


def trainer_on(
    model: Any, packs: Sequence[Pack], order: list[int], per_step: int, objective: Objective | None, folder: Path
) -> TreeTrainer:
    """A trainer with plain gradient descent, so that what it does to a model can be written down in a line."""
    settings = settings_for("sft", **SMALL, grad_norm=1e9, lr=0.1, checkpointing=False)
    arguments = trainer_arguments(settings, folder, tensorboard=False, tell=lambda line: None)
    arguments.optim, arguments.lr_scheduler_type = "sgd", "constant"
    arguments.gradient_accumulation_steps = per_step
    trainer = TreeTrainer(
        model=with_adapter(model, None, settings), args=arguments, train_dataset=PackSet(list(packs), order)
    )
    if objective is not None:
        trainer.objective = objective
    return trainer
