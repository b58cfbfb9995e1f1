"""A spending limit: a request that could exceed it is not sent."""

from __future__ import annotations

import asyncio

from bowstring.errors import RunError
from bowstring.models.prices import Price
from bowstring.records import Prompt, Sampling, Usage

_DENSITY = 0.5  # tokens per character: a cautious guess until answers show the real value
_MARGIN = 1.25  # safety margin: texts differ


class BudgetSpent(RunError):
    """The next request might cost more than is left."""


class Budget:
    """The amount spent, and the maximum cost of requests in flight."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self._requests = 0  # in flight
        self._settled = asyncio.Event()
        self._density: dict[Price, float] = {}  # highest tokens per character seen, by price

    async def reserve(self, price: Price, prompt: Prompt, sampling: Sampling) -> float:
        """Reserve the maximum cost of a request; raise BudgetSpent if it might exceed the limit.

        While other requests are in flight, it waits for their actual cost, which is usually far below the reserved one.
        """
        while True:
            cost = self._most(price, prompt, sampling)
            if self.spent + self._reserved + cost <= self.limit:
                self._reserved += cost
                self._requests += 1
                return cost
            if not self._requests:
                raise BudgetSpent(
                    f"--max-cost {self.limit:g}: ${self.spent:.4f} is spent; the next request might exceed the limit"
                )
            self._settled.clear()
            await self._settled.wait()

    def _most(self, price: Price, prompt: Prompt, sampling: Sampling) -> float:
        tokens = round(_characters(prompt) * self._density.get(price, _DENSITY) * _MARGIN) + 8
        return price.of(Usage(prompt=tokens, completion=sampling.max_tokens + (sampling.thinking_tokens or 0)))

    def release(self, reserved: float) -> None:
        self._reserved -= reserved
        self._requests -= 1
        self._settled.set()

    def spend(self, price: Price, cost: float, prompt: Prompt, usage: Usage) -> None:
        self.spent += cost
        if usage.prompt and (characters := _characters(prompt)):
            self._density[price] = max(self._density.get(price, 0.0), usage.prompt / characters)


def _characters(prompt: Prompt) -> int:
    branch = sum(len(m.text) for m in prompt.branch)
    return prompt.trunk.characters + branch + 8 * (len(prompt.trunk.messages) + len(prompt.branch))
