"""Decoding all branches of a tree together: one prefill of the trunk, then a token for every branch at each step.

Branches leave when they end. What is drawn for one depends on its own seed and nothing else in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from bowstring.tree.cache import TreeState
from bowstring.tree.packing import Tree

CHUNK = 2048  # tokens of a trunk that go through the model at a time: bounds memory, not results


@dataclass(frozen=True, slots=True)
class Draw:
    """How the answer of one branch is drawn; without a temperature, the likeliest token each time."""

    max_tokens: int
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    repetition_penalty: float = 1.0


@dataclass(slots=True)
class Drawn:
    tokens: list[int] = field(default_factory=list)
    finish: Literal["stop", "length"] = "length"


class _Branch:
    """A branch while it grows."""

    def __init__(self, tree: Tree, number: int, draw: Draw, device: torch.device) -> None:
        self.number = number
        self.draw = draw
        self.drawn = Drawn()
        self.length = len(tree.branches[number])
        self.generator = torch.Generator(device).manual_seed(draw.seed) if draw.temperature else None
        self.seen: Tensor | None = None
        if draw.repetition_penalty != 1.0:
            told = {*tree.trunk, *tree.branches[number]}
            self.seen = torch.tensor(sorted(told), device=device)

    def take(self, token: int, ends: Collection[int]) -> bool:
        """Add a token; whether the branch goes on."""
        if token in ends:
            self.drawn.finish = "stop"
            return False
        self.drawn.tokens.append(token)
        if self.seen is not None:
            self.seen = torch.cat([self.seen, self.seen.new_tensor([token])])
        return len(self.drawn.tokens) < self.draw.max_tokens


@torch.inference_mode()
def decode(
    model: Any,
    tree: Tree,
    draws: Sequence[Draw],
    ends: Collection[int],
    *,
    chunk: int = CHUNK,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Drawn]:
    """An answer for every branch. The model must run with the tree's attention (`cache.register`)."""
    device = model.device
    everyone = [_Branch(tree, n, draw, device) for n, draw in enumerate(draws)]
    width = max(b.length + b.draw.max_tokens for b in everyone)
    layers = model.config.get_text_config().num_hidden_layers
    state = TreeState(layers, trunk=len(tree.trunk), branches=len(everyone), width=width)
    _prefill(model, state, tree.trunk, chunk)
    branches, logits = everyone, _first(model, state, tree)
    while not stopped():
        tokens = [_choose(row, branch) for row, branch in zip(logits, branches, strict=True)]
        goes_on = [branch.take(token, ends) for branch, token in zip(branches, tokens, strict=True)]
        rows = [n for n, on in enumerate(goes_on) if on]
        if not rows:
            break
        if len(rows) < len(branches):
            state.keep(torch.tensor(rows, device=device))
        new = torch.tensor([[tokens[n]] for n in rows], device=device)
        branches = [branches[n] for n in rows]
        logits = _grow(model, state, new, [b.length for b in branches], len(tree.trunk))
        for branch in branches:
            branch.length += 1
    return [branch.drawn for branch in everyone]


def _prefill(model: Any, state: TreeState, trunk: Sequence[int], chunk: int) -> None:
    for start in range(0, len(trunk), chunk):
        part = torch.tensor([trunk[start : start + chunk]], device=model.device)
        places = torch.arange(start, start + part.shape[1], device=model.device).unsqueeze(0)
        with state.trunk_chunk(part.shape[1]):
            model(input_ids=part, position_ids=places, use_cache=False, logits_to_keep=1)


def _first(model: Any, state: TreeState, tree: Tree) -> Tensor:
    """The branches' own tokens as a grid, padded on the right; the logits behind each one's last."""
    columns = max(map(len, tree.branches))
    padded = [[*branch, *[0] * (columns - len(branch))] for branch in tree.branches]
    last = torch.tensor([len(branch) - 1 for branch in tree.branches], device=model.device)
    grid = torch.tensor(padded, device=model.device)
    return _through(model, state, grid, [0] * len(padded), len(tree.trunk), last)


def _grow(model: Any, state: TreeState, new: Tensor, lengths: Sequence[int], trunk: int) -> Tensor:
    """One more token for every branch; the logits behind it."""
    return _through(model, state, new, lengths, trunk, torch.zeros(len(new), dtype=torch.long, device=new.device))


def _through(model: Any, state: TreeState, grid: Tensor, lengths: Sequence[int], trunk: int, wanted: Tensor) -> Tensor:
    """A grid of new tokens through the model as one sequence; logits of the wanted column of every row."""
    rows, columns = grid.shape
    before = torch.tensor(lengths, device=grid.device)
    places = trunk + before.view(-1, 1) + torch.arange(columns, device=grid.device)
    keep = torch.arange(rows, device=grid.device) * columns + wanted
    with state.grid(before, rows, columns):
        found = model(input_ids=grid.view(1, -1), position_ids=places.view(1, -1), use_cache=False, logits_to_keep=keep)
    logits: Tensor = found.logits[0].float()
    return logits


def _choose(logits: Tensor, branch: _Branch) -> int:
    """The next token, in the order in which transformers' generate applies its settings."""
    draw = branch.draw
    if branch.seen is not None:
        told = logits[branch.seen]
        penalised = torch.where(told < 0, told * draw.repetition_penalty, told / draw.repetition_penalty)
        logits = logits.index_copy(0, branch.seen, penalised)
    if branch.generator is None:
        return int(logits.argmax())
    logits = logits / draw.temperature
    if draw.top_k:
        least = logits.topk(min(draw.top_k, len(logits))).values[-1]
        logits = logits.masked_fill(logits < least, -torch.inf)
    if draw.top_p is not None and draw.top_p < 1.0:
        ordered, places = logits.sort(descending=True)
        beyond = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1) >= draw.top_p
        logits = logits.index_fill(0, places[beyond], -torch.inf)
    return int(torch.multinomial(logits.softmax(-1), 1, generator=branch.generator))
