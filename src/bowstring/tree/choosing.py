"""Sample the next token of every branch from all logits at once.

Each branch has its own random numbers, one per token, from its own seed: its tokens depend only on its own logits, and
the numbers are the same on every device. Settings apply in the order of transformers' generate.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bowstring.tree.limits import ThinkingBudget, most_tokens
from bowstring.tree.packing import Tree


@dataclass(frozen=True, slots=True)
class DecodingSettings:
    """Sampling settings of one branch; a temperature of 0 means greedy decoding."""

    max_tokens: int
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    repetition_penalty: float = 1.0
    thinking: ThinkingBudget | None = None

    @property
    def most_tokens(self) -> int:
        return most_tokens(self.max_tokens, self.thinking)


class TokenSampler:
    """Samples tokens for branches with these settings; tokens of the tree count for repetition penalties."""

    def __init__(self, draws: Sequence[DecodingSettings], tree: Tree, device: torch.device) -> None:
        self._draws, self._device = list(draws), device
        self._step = 0
        most = max(draw.most_tokens for draw in draws)
        self._numbers = torch.tensor([_numbers(draw, most) for draw in draws], device=device)
        self._tree = tree if any(draw.repetition_penalty != 1.0 for draw in draws) else None
        self._seen: Tensor | None = None
        self._build_columns()

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these branches."""
        self._draws = [self._draws[n] for n in rows]
        at = torch.tensor(rows, device=self._device)
        self._numbers = self._numbers[at]
        self._seen = None if self._seen is None else self._seen[at]
        self._build_columns()

    def _build_columns(self) -> None:
        """Store the settings as tensor columns."""

        def column(values: Sequence[float]) -> Tensor:
            return torch.tensor(values, device=self._device).unsqueeze(1)

        draws = self._draws
        self._draws_at_all = any(d.temperature for d in draws)
        self._greedy = column([0.0 if d.temperature else 1.0 for d in draws]).bool()
        self._heat = column([d.temperature or 1.0 for d in draws])
        self._penalty = column([d.repetition_penalty for d in draws])
        self._top_p = column([1.0 if d.top_p is None else d.top_p for d in draws])
        # 0 or None means no limit; then all tokens must be sorted.
        limited = all(d.top_k or not d.temperature for d in draws)
        self._most = max(d.top_k or 1 for d in draws) if limited else None
        self._top_k = column([float(d.top_k or 2**30) for d in draws])

    def sample(self, logits: Tensor, forced: Sequence[int | None] = ()) -> list[int]:
        """Return one token per row of (branches, vocabulary); `forced` has the tokens of rows that are not sampled."""
        logits = self._penalised(logits)
        found = logits.argmax(dim=-1, keepdim=True)
        if self._draws_at_all:
            found = torch.where(self._greedy, found, self._drawn(logits / self._heat))
        for row, token in enumerate(forced):
            if token is not None:
                found[row] = token
        self._step += 1
        if self._seen is not None:
            self._seen.scatter_(1, found, value=True)
        tokens: list[int] = found.squeeze(1).tolist()
        return tokens

    def _drawn(self, logits: Tensor) -> Tensor:
        most = min(self._most or logits.shape[1], logits.shape[1])
        values, tokens = logits.topk(most, dim=-1)
        place = torch.arange(most, device=self._device)
        values = values.masked_fill(place >= self._top_k, -torch.inf)
        shares = values.softmax(-1)
        before = shares.cumsum(-1) - shares
        shares = shares.masked_fill(before >= self._top_p, 0.0)  # the most likely token always stays
        heaped = shares.cumsum(-1)
        number = self._numbers[:, self._step : self._step + 1] * heaped[:, -1:]
        # A number close to 1 may round to 1, which is past the last token that was not ruled out.
        last = (shares > 0).sum(-1, keepdim=True) - 1
        at = torch.searchsorted(heaped, number, right=True).minimum(last)
        return tokens.gather(1, at)

    def _penalised(self, logits: Tensor) -> Tensor:
        if self._tree is None:
            return logits
        if self._seen is None:
            self._seen = torch.zeros(logits.shape, dtype=torch.bool, device=self._device)
            self._seen[:, list(self._tree.trunk)] = True
            for row, tokens in enumerate(self._tree.branches):
                self._seen[row, list(tokens)] = True
        punished = torch.where(logits < 0, logits * self._penalty, logits / self._penalty)
        return torch.where(self._seen, punished, logits)


def _numbers(draw: DecodingSettings, n: int) -> list[float]:
    """Return random numbers in [0, 1), in order; the first ones do not depend on how many are requested."""
    generator = random.Random(draw.seed)  # noqa: S311 - repeatable on purpose
    return [generator.random() if draw.temperature else 0.0 for _ in range(n)]
