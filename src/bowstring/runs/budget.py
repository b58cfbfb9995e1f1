"""A limit on money: a request that could pass it is not sent."""

from __future__ import annotations

from bowstring.errors import RunError
from bowstring.models.prices import Price
from bowstring.records import Prompt, Sampling, Usage


class BudgetSpent(RunError):
    """The next request might cost more than is left."""


class Budget:
    """What was spent, and what the requests in flight may cost at the most."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        # Tokens a character, at the most: a cautious guess until answers show what it really is.
        self._density = 0.5
        self._seen = 0

    def reserve(self, price: Price, prompt: Prompt, sampling: Sampling) -> float:
        """Set aside what this request may cost at the most, or raise BudgetSpent."""
        tokens = round(_characters(prompt) * self._density) + 8
        cost = price.of(Usage(prompt=tokens, completion=sampling.max_tokens))
        if self.spent + self._reserved + cost > self.limit:
            raise BudgetSpent(
                f"--max-cost {self.limit:g}: {self.spent:.4f} is spent, and the next request might pass the limit"
            )
        self._reserved += cost
        return cost

    def release(self, reserved: float) -> None:
        self._reserved -= reserved

    def spend(self, cost: float, prompt: Prompt, usage: Usage) -> None:
        self.spent += cost
        if usage.prompt and (characters := _characters(prompt)):
            seen = usage.prompt / characters * 1.1
            self._density = seen if not self._seen else max(self._density, seen)
            self._seen += 1


def _characters(prompt: Prompt) -> int:
    return sum(len(m.text) + 8 for m in (*prompt.trunk.messages, *prompt.branch))
