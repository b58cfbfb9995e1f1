"""The DPO reference: log-probabilities of all answers under the initial model, computed once and stored.

A frozen copy of the initial model would give the same numbers at every step, at twice the memory; and the stored values
stay correct after a resume.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from bowstring.files.writing import write_file
from bowstring.training.objectives import by_answer, log_probabilities
from bowstring.training.trainer import collate


def reference(trainer: Any, folder: Path, *, without_tree: bool) -> dict[str, list[float]]:
    """Return the log-probabilities of all answers of each example, by key, in their order. Processes share the work and
    exchange results in the folder."""
    whole = folder / "reference.json"
    args = trainer.args
    if not whole.is_file():
        mine: dict[str, list[float]] = {}
        # In training mode, with the same precision and batches as the first steps, so that the numbers match. (Trainer
        # leaves precision to accelerate, which wraps the model only when training begins.)
        model = trainer.model.train()
        data, size = trainer.train_dataset, args.train_batch_size
        starts = range(0, len(data), size)[args.process_index :: args.world_size]
        with torch.no_grad(), trainer.accelerator.autocast():
            for start in starts:
                batch = collate([data[n] for n in range(start, min(start + size, len(data)))])
                if batch["counts"] and not mine.keys() >= set(batch["keys"]):  # later epochs repeat the same pairs
                    batch = trainer._prepare_inputs(batch)
                    answers = by_answer(log_probabilities(model, batch, without_tree=without_tree), batch)
                    by_key = (part.tolist() for part in torch.split(answers, batch["sizes"]))
                    mine = dict(zip(batch["keys"], by_key, strict=True)) | mine
        part = folder / f".reference-{args.process_index}.json"
        part.write_text(json.dumps(mine))
        trainer.accelerator.wait_for_everyone()
        if args.process_index == 0:
            parts = [folder / f".reference-{n}.json" for n in range(args.world_size)]
            found = {key: values for p in parts for key, values in json.loads(p.read_text()).items()}
            write_file(whole, json.dumps(found))
            for p in parts:
                p.unlink()
        trainer.accelerator.wait_for_everyone()
    values: dict[str, list[float]] = json.loads(whole.read_text())
    return values
