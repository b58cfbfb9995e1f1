"""A limit on money: a request that could pass it is not sent."""

from __future__ import annotations

from bowstring.errors import RunError
from bowstring.models.prices import Price
from bowstring.records import Prompt, Sampling, Usage

_DENSITY = 0.5  # tokens a character: a cautious guess, until answers show what it is
_MARGIN = 1.25  # texts differ


class BudgetSpent(RunError):
    """The next request might cost more than is left."""


class Budget:
    """What was spent, and what the requests in flight may cost at the most."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self._density: dict[Price, float] = {}  # tokens a character that a model's answers have shown, at the most

    def reserve(self, price: Price, prompt: Prompt, sampling: Sampling) -> float:
        """Set aside what this request may cost at the most, or raise BudgetSpent."""
        tokens = round(_characters(prompt) * self._density.get(price, _DENSITY) * _MARGIN) + 8
        cost = price.of(Usage(prompt=tokens, completion=sampling.max_tokens))
        if self.spent + self._reserved + cost > self.limit:
            raise BudgetSpent(
                f"--max-cost {self.limit:g}: {self.spent:.4f} is spent, and the next request might pass the limit"
            )
        self._reserved += cost
        return cost

    def release(self, reserved: float) -> None:
        self._reserved -= reserved

    def spend(self, price: Price, cost: float, prompt: Prompt, usage: Usage) -> None:
        self.spent += cost
        if usage.prompt and (characters := _characters(prompt)):
            self._density[price] = max(self._density.get(price, 0.0), usage.prompt / characters)


def _characters(prompt: Prompt) -> int:
    branch = sum(len(m.text) for m in prompt.branch)
    return prompt.trunk.characters + branch + 8 * (len(prompt.trunk.messages) + len(prompt.branch))
