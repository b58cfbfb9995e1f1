"""Decode all branches of a tree together: one prefill of the trunk, then one decode step for all branches at a time.

Finished branches are removed. The tokens sampled for a branch depend only on its own seed, not on the rest of the
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from bowstring.tree.cache import TreeState
from bowstring.tree.choosing import DecodingSettings, TokenSampler
from bowstring.tree.limits import Generated, Growth
from bowstring.tree.packing import Tree

# Finished branches are removed once at most this share is still growing. On a GPU, removal requires a new CUDA graph.
_WORTH_LEAVING = {"cpu": 0.5, "cuda": 0.25}
# Sizes of one forward pass: these bound memory and do not affect results.
CHUNK = 20_480  # trunk tokens
_GRID = 8_192  # branch tokens
_SCORES = 1 << 22  # attention scores per head: masked attention within branches materializes all of them


class _Branch(Growth):
    """A branch during decoding."""

    def __init__(self, length: int, draw: DecodingSettings) -> None:
        super().__init__(draw.max_tokens, draw.thinking)
        self.length = length


@torch.inference_mode()
def decode(
    model: Any,
    tree: Tree,
    draws: Sequence[DecodingSettings],
    ends: Collection[int],
    *,
    chunk: int = CHUNK,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Generated]:
    """Decode an answer for every branch. The model must use the tree attention (`layers`)."""
    device = model.device
    everyone = [_Branch(len(own), draw) for own, draw in zip(tree.branches, draws, strict=True)]
    width = max(len(own) + draw.most_tokens for own, draw in zip(tree.branches, draws, strict=True))
    chooser = TokenSampler(draws, tree, device)
    state = TreeState(trunk=len(tree.trunk), branches=len(everyone), width=width)
    # Copying tensors to a GPU waits for pending work, so everything is copied before the first forward pass.
    trunk = torch.tensor([tree.trunk], dtype=torch.long, device=device)
    grid, last = _grid(tree, device)
    prefill(model, state, trunk, chunk)
    branches = everyone
    logits = _prefill_branches(model, state, grid, last, len(tree.trunk), width)
    step: _Step | None = None
    if any(draw.most_tokens > 1 for draw in draws):
        step = _Step(model, state, len(branches), len(tree.trunk))
    while not stopped():
        tokens = chooser.sample(logits, [branch.forced for branch in branches])
        goes_on = [branch.take(token, ends) for branch, token in zip(branches, tokens, strict=True)]
        rows = [n for n, on in enumerate(goes_on) if on]
        if not rows:
            break
        if len(rows) <= len(branches) * _WORTH_LEAVING.get(device.type, 0.5):
            state.keep(torch.tensor(rows, device=device))
            chooser.keep(rows)
            branches, tokens, step = [branches[n] for n in rows], [tokens[n] for n in rows], None
        if step is None:
            step = _Step(model, state, len(branches), len(tree.trunk))
        logits = step(tokens, [b.length for b in branches])
        for branch in branches:
            branch.length = min(
                branch.length + 1, width - 1
            )  # a finished branch keeps decoding; its tokens are discarded
    return [branch.drawn for branch in everyone]


def prefill(model: Any, state: TreeState, trunk: Tensor, chunk: int) -> None:
    """Put the trunk's tokens, (1, tokens), through the model."""
    for start in range(0, trunk.shape[1], chunk):
        part = trunk[:, start : start + chunk]
        places = torch.arange(start, start + part.shape[1], device=model.device).unsqueeze(0)
        with state.trunk_chunk(part.shape[1]):
            model(input_ids=part, position_ids=places, use_cache=False, logits_to_keep=1, tree=state)


def _grid(tree: Tree, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the branches' tokens, padded on the right, and the column of each branch's last token."""
    columns = max(map(len, tree.branches))
    padded = [[*branch, *[0] * (columns - len(branch))] for branch in tree.branches]
    last = torch.tensor([len(branch) - 1 for branch in tree.branches], device=device)
    return torch.tensor(padded, device=device), last


def grid_columns(rows: int, width: int) -> int:
    """Return how many columns of branches of this width go through the model at a time."""
    return max(1, min(_GRID // rows, _SCORES // (rows * width)))


def _prefill_branches(model: Any, state: TreeState, grid: Tensor, last: Tensor, trunk: int, width: int) -> Tensor:
    """Prefill the branches' tokens, some columns at a time; return the logits after each branch's last token."""
    rows, columns = grid.shape
    at_a_time = grid_columns(rows, width)
    found: Tensor | None = None
    for start in range(0, columns, at_a_time):
        part = grid[:, start : start + at_a_time]
        wanted = (last - start).clamp(0, part.shape[1] - 1)
        logits = _through(model, state, part, torch.full_like(last, start), trunk, wanted, start + part.shape[1])
        found = logits if found is None else torch.where((last >= start).unsqueeze(1), logits, found)
    assert found is not None
    return found


class _Step:
    """One decode step for all branches. On a GPU the step is captured once as a CUDA graph and replayed: it consists of
    hundreds of small kernels whose launches would take longer than their execution. Capturing runs nothing, so it can
    happen while the GPU is still prefilling the trunk."""

    def __init__(self, model: Any, state: TreeState, rows: int, trunk: int) -> None:
        self._model, self._state, self._trunk = model, state, trunk
        device = model.device
        self._tokens = torch.zeros(rows, 1, dtype=torch.long, device=device)
        self._lengths = torch.zeros(rows, dtype=torch.long, device=device)
        self._wanted = torch.zeros(rows, dtype=torch.long, device=device)
        self._graph: Any = None
        self._logits = torch.empty(0)
        if device.type == "cuda":
            self._record()

    def __call__(self, tokens: Sequence[int], lengths: Sequence[int]) -> Tensor:
        self._tokens.copy_(torch.tensor(tokens).view(-1, 1))
        self._lengths.copy_(torch.tensor(lengths))
        if self._graph is None:
            return self._run()
        self._graph.replay()
        return self._logits

    def _record(self) -> None:
        """Capture the graph. Prefilling the branches has already warmed up all kernels. (`torch.cuda.graph` would
        synchronize and release memory that the next trunk needs.)"""
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(_recorder(self._model.device)):
            self._graph.capture_begin(capture_error_mode="thread_local")
            try:
                self._logits = self._run()
            finally:
                self._graph.capture_end()

    def _run(self) -> Tensor:
        return _through(self._model, self._state, self._tokens, self._lengths, self._trunk, self._wanted)


@cache
def _recorder(device: torch.device) -> Any:
    """Return the stream used for capturing: a single one, because libraries allocate memory for every stream they
    see."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _through(
    model: Any, state: TreeState, grid: Tensor, before: Tensor, trunk: int, wanted: Tensor, seen: int | None = None
) -> Tensor:
    """Run a grid of new tokens through the model as one sequence; return the logits of the wanted column of each
    row."""
    rows, columns = grid.shape
    places = trunk + before.view(-1, 1) + torch.arange(columns, device=grid.device)
    keep = torch.arange(rows, device=grid.device) * columns + wanted
    state.grid(before, rows, columns, seen)
    found = model(
        input_ids=grid.reshape(1, -1), position_ids=places.view(1, -1), use_cache=False, logits_to_keep=keep, tree=state
    )
    logits: Tensor = found.logits[0].float()
    return logits
