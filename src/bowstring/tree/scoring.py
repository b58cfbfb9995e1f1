"""Log-probabilities of given continuations: one prefill of what their prompts share, then all of them together.

    score(model, [Continuation([1, 5, 6], [7, 8]), Continuation([1, 5, 4], [9])])    ([-7.2, -3.1], 2)

The trunk ends before the first prompt does, because a prompt's last token predicts the first token of its continuation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bowstring.tree.cache import TreeState
from bowstring.tree.decoding import CHUNK, grid_columns, prefill
from bowstring.tree.packing import Tree, build_tree

_LOGITS = 1 << 26  # logits that are computed at a time: a quarter of a gigabyte


class Continuation(NamedTuple):
    """The tokens of a prompt, and of an answer whose log-probability is wanted."""

    prompt: Sequence[int]
    answer: Sequence[int]


@torch.inference_mode()
def score(
    model: Any, continuations: Sequence[Continuation], *, stopped: Callable[[], bool] = lambda: False
) -> tuple[list[float], int]:
    """Return the sum of the log-probabilities of each answer's tokens, and the length of the trunk. The model must use
    the tree attention (`layers`). If stopped, the sums are incomplete."""
    prompts = build_tree([one.prompt for one in continuations])
    tree = Tree(
        prompts.trunk,
        tuple((*own, *one.answer) for own, one in zip(prompts.branches, continuations, strict=True)),
    )
    rows, columns = len(tree.branches), max(map(len, tree.branches))
    state = TreeState(trunk=len(tree.trunk), branches=rows, width=columns)
    device = model.device
    padded = torch.tensor([[*branch, *[0] * (columns - len(branch))] for branch in tree.branches], device=device)
    # The logits at a column predict the token of the next one: of a row, those from its prompt's last token on.
    column = torch.arange(columns, device=device)
    first = torch.tensor([len(own) - 1 for own in prompts.branches], device=device).unsqueeze(1)
    last = torch.tensor([len(branch) - 1 for branch in tree.branches], device=device).unsqueeze(1)
    wanted = (column >= first) & (column < last)
    following = padded.roll(-1, dims=1)
    prefill(model, state, torch.tensor([tree.trunk], dtype=torch.long, device=device), CHUNK)
    words: int = model.config.get_text_config().vocab_size
    at_a_time = max(1, min(grid_columns(rows, columns), _LOGITS // (rows * words)))
    sums = torch.zeros(rows, dtype=torch.float64, device=device)
    for start in range(0, columns, at_a_time):
        if stopped():
            break
        part = slice(start, start + at_a_time)
        sums += _sums(model, state, padded[:, part], following[:, part], wanted[:, part], (len(tree.trunk), start))
    return sums.tolist(), len(tree.trunk)


def _sums(
    model: Any, state: TreeState, tokens: Tensor, following: Tensor, wanted: Tensor, before: tuple[int, int]
) -> Tensor:
    """Return, by row, the log-probabilities of the wanted ones among the following tokens."""
    rows, columns = tokens.shape
    trunk, start = before
    begins = torch.full((rows,), start, device=tokens.device)
    places = trunk + start + torch.arange(columns, device=tokens.device).repeat(rows)
    keep = wanted.flatten().nonzero().squeeze(1)
    state.grid(begins, rows, columns, start + columns)
    found = model(
        input_ids=tokens.reshape(1, -1),
        position_ids=places.view(1, -1),
        use_cache=False,
        logits_to_keep=keep if len(keep) else 1,
        tree=state,
    )
    sums = torch.zeros(rows, dtype=torch.float64, device=tokens.device)
    if len(keep):
        likely = found.logits[0].float().log_softmax(-1)
        chosen = likely.gather(1, following.flatten()[keep].unsqueeze(1)).squeeze(1)
        sums.index_add_(0, keep // columns, chosen.double())
    return sums
