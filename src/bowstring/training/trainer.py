"""transformers' Trainer on packs: a step's loss equals that of all its examples in one batch, over packs and
processes."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, SequentialSampler
from transformers import Trainer
from transformers.integrations.integration_utils import TensorBoardCallback

from bowstring.errors import RunError
from bowstring.training.objectives import Batch, Dpo, Objective, to_batch
from bowstring.training.packs import Pack

# Tolerance of the first DPO loss around ln 2, for rounding. In half precision, two passes of one model can differ by a
# nat in the log-probability of an answer.
_NEAR = {"no": 1e-3, "bf16": 2e-2}


class PackSet(Dataset[tuple[Pack, bool]]):
    """Packs in training order, and whether each one counts."""

    def __init__(self, packs: list[Pack], order: list[int]) -> None:
        self._packs, self._order, self._length = packs, order, len(order)

    def fill(self, round_: int) -> None:
        """Fill the last round, so that every process has a pack; the added packs do not count."""
        self._length = -(-len(self._order) // round_) * round_

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: int) -> tuple[Pack, bool]:
        counts = place < len(self._order)
        return self._packs[self._order[place if counts else -1]], counts


def collate(packs: list[tuple[Pack, bool]]) -> Batch:
    """Return the packs that count; if none does, one of them with zero weight."""
    counting = [pack for pack, counts in packs if counts]
    return to_batch(*(counting or [packs[0][0]])) | {"counts": bool(counting)}


class TreeTrainer(Trainer):
    objective: Objective  # set before training; DPO's needs the loaded model

    def __init__(self, *, args: Any, train_dataset: PackSet, **given: Any) -> None:
        if args.world_size > 1:
            train_dataset.fill(args.world_size * args.train_batch_size)
        super().__init__(args=args, train_dataset=train_dataset, data_collator=collate, **given)
        self._seen: dict[str, list[tuple[float, int]]] = defaultdict(list)
        # Tells Trainer that the loss is already divided by the count of the whole step.
        self.model_accepts_loss_kwargs = True
        for callback in self.callback_handler.callbacks:
            # By default the curves would be written among the checkpoints, which are removed at the end.
            if isinstance(callback, TensorBoardCallback) and callback.logging_dir is None:
                callback.logging_dir = str(Path(args.output_dir).with_name("tensorboard"))

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return SequentialSampler(train_dataset or self.train_dataset)  # type: ignore[arg-type]

    def _get_num_items_in_batch(self, batch_samples: list[Batch], device: torch.device) -> Tensor:
        count = torch.tensor(sum(self._count(batch) for batch in batch_samples), device=device)
        return self.accelerator.reduce(count, "sum") if self.args.world_size > 1 else count

    def compute_loss(
        self, model: Any, inputs: Batch, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        loss, seen = self.objective.loss(model, inputs)
        count = self._count(inputs)
        for name, value in seen.items():
            self._seen[name].append((value, count))
        if isinstance(self.objective, Dpo) and self.state.global_step == 0:
            _check_start(float(loss.detach()) / self.objective.count(inputs), _NEAR[self.accelerator.mixed_precision])
        # Gradients are averaged over processes, but a sum is wanted.
        loss = loss * inputs["counts"] * self.accelerator.num_processes / num_items_in_batch
        return (loss, None) if return_outputs else loss

    def _count(self, batch: Batch) -> int:
        return self.objective.count(batch) if batch["counts"] else 0

    def log(self, logs: dict[str, float], *rest: Any, **more: Any) -> None:
        if self._seen and "loss" in logs:
            logs |= self._means()
        super().log(logs, *rest, **more)

    def _means(self) -> dict[str, float]:
        """Return the mean metrics of the packs since the last log line, over all processes."""
        names = sorted(self._seen)
        sums = [[sum(v * n for v, n in self._seen[name]), sum(n for _, n in self._seen[name])] for name in names]
        self._seen.clear()
        total = torch.tensor(sums, dtype=torch.float32, device=self.args.device)
        if self.args.world_size > 1:
            total = self.accelerator.reduce(total, "sum")
        return {name: float(value / n) for name, (value, n) in zip(names, total.tolist(), strict=True)}


def _check_start(loss: float, near: float) -> None:
    if abs(loss - Dpo.at_start()) > near:
        raise RunError(
            f"DPO's first loss is {loss:.4f}, not ln 2 = {Dpo.at_start():.4f}: the model does not start equal to the "
            "reference (does it use dropout, or did its folder change since the reference was computed?)"
        )
