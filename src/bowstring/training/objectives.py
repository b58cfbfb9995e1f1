"""Training objectives: log-probabilities of the answers in a pack, and the losses computed from them.

A loss here is a sum over a pack; the trainer divides it by the count of the whole step, over all packs and processes.
So a step's loss equals that of its examples in one batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from bowstring.training.packs import Pack, join_packs
from bowstring.tree.packed import Forest

Batch = dict[str, Any]


_ARRAYS = ("tokens", "positions", "keep", "targets", "of")


def to_batch(*packs: Pack) -> Batch:
    """Return packs as the tensors of a batch: one sequence, one pack after another."""
    whole = join_packs(packs)
    batch = {name: torch.from_numpy(getattr(whole, name)).long() for name in _ARRAYS}
    return batch | {
        "trees": list(whole.trees),
        "answers": whole.answers,
        "keys": list(whole.keys),
        "sizes": list(whole.sizes),
    }


def log_probabilities(model: Any, batch: Batch, *, without_tree: bool) -> Tensor:
    """Return the log-probability of every answer token, in order. With `without_tree`, branch by branch, each with the
    whole trunk before it (for models whose attention cannot be a tree)."""
    if without_tree:
        return _one_by_one(model, batch)
    found = model(
        input_ids=batch["tokens"].unsqueeze(0),
        position_ids=batch["positions"].unsqueeze(0),
        use_cache=False,
        logits_to_keep=batch["keep"],
        tree=Forest(batch["trees"]),
    )
    return _of_targets(found.logits, batch["targets"])


def _one_by_one(model: Any, batch: Batch) -> Tensor:
    found: list[Tensor] = []
    start = 0
    for size, branches in batch["trees"]:
        trunk = batch["tokens"][start : start + size]
        start += size
        for length in branches:
            tokens = torch.cat([trunk, batch["tokens"][start : start + length]]).unsqueeze(0)
            mine = batch["of"] == len(found)
            keep = batch["keep"][mine] - start + size
            logits = model(input_ids=tokens, use_cache=False, logits_to_keep=keep).logits
            found.append(_of_targets(logits, batch["targets"][mine]))
            start += length
    return torch.cat(found)


def _of_targets(logits: Tensor, targets: Tensor) -> Tensor:
    return -functional.cross_entropy(logits[0].float(), targets, reduction="none")


def by_answer(values: Tensor, batch: Batch) -> Tensor:
    """Return sums over the tokens of each answer."""
    sums = values.new_zeros(batch["answers"])
    return sums.index_add(0, batch["of"], values)


def pairs_of(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the places of the chosen and of the rejected answer of every pair. The first answer of an example is the
    chosen one, and each other answer makes a pair with it."""
    chosen: list[int] = []
    rejected: list[int] = []
    for start, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
        chosen += [start] * (size - 1)
        rejected += range(start + 1, start + size)
    return chosen, rejected


class Objective(Protocol):
    def count(self, batch: Batch) -> int:
        """Return the number of terms that a pack's loss sums over."""
        ...

    def loss(self, model: Any, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """Return the sum, and further metrics of the pack: means over the same count."""
        ...


@dataclass(frozen=True, slots=True)
class Sft:
    """Cross-entropy of answers: the mean over tokens, or over answers of their means."""

    normalise: str
    without_tree: bool = False

    def count(self, batch: Batch) -> int:
        return len(batch["targets"]) if self.normalise == "token" else batch["answers"]

    def loss(self, model: Any, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        losses = -log_probabilities(model, batch, without_tree=self.without_tree)
        if self.normalise == "token":
            return losses.sum(), {}
        lengths = by_answer(torch.ones_like(losses), batch)
        return (by_answer(losses, batch) / lengths).sum(), {}


@dataclass(frozen=True, slots=True)
class Dpo:
    """The sigmoid loss on pairs; `reference` has the log-probabilities of the initial model by key: of the chosen
    answer, then of the rejected ones."""

    beta: float
    reference: Mapping[str, Sequence[float]]
    without_tree: bool = False

    def count(self, batch: Batch) -> int:
        return sum(batch["sizes"]) - len(batch["sizes"])

    def loss(self, model: Any, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        said = log_probabilities(model, batch, without_tree=self.without_tree)
        answers = by_answer(said, batch)
        before = [value for key in batch["keys"] for value in self.reference[key]]
        changes = answers - torch.tensor(before, dtype=answers.dtype, device=answers.device)
        chosen, rejected = pairs_of(batch["sizes"])
        rewards = self.beta * changes
        margins = rewards[chosen] - rewards[rejected]
        with torch.no_grad():
            lengths = by_answer(torch.ones_like(said), batch)
            seen = {
                "margin": margins.mean(),
                "accuracy": (margins > 0).float().mean(),
                "chosen_reward": rewards[chosen].mean(),
                "rejected_reward": rewards[rejected].mean(),
                "chosen_change": (changes / lengths)[chosen].mean(),
            }
        return -functional.logsigmoid(margins).sum(), {name: float(value) for name, value in seen.items()}

    @staticmethod
    def at_start() -> float:
        """Return the loss while the policy equals the reference: the margin is zero."""
        return math.log(2)
