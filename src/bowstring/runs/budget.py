"""A spending limit: a request that could exceed it is not sent. Tokens that a server does not report are estimated."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable

from bowstring.errors import RunError
from bowstring.models.prices import Price
from bowstring.records import Completion, Message, Prompt, Sampling, Usage

_DENSITY = 0.5  # tokens per ASCII character: a cautious guess until answers show the real value
_DENSITY_OTHER = 1.5  # tokens per other character
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
        density = self._density.get(price)
        tokens = estimated_tokens(prompt.messages) if density is None else _characters(prompt) * density
        return price.of(Usage(prompt=round(tokens * _MARGIN) + 8, completion=_most_written(sampling)))

    def release(self, reserved: float) -> None:
        self._reserved -= reserved
        self._requests -= 1
        self._settled.set()

    def spend(self, price: Price, cost: float, prompt: Prompt, usage: Usage) -> None:
        self.spent += cost
        if usage.prompt and (characters := _characters(prompt)):
            self._density[price] = max(self._density.get(price, 0.0), usage.prompt / characters)


def estimated_usage(prompt: Prompt, sampling: Sampling, completion: Completion) -> Usage | None:
    """Return the usage of a request with what the server does not report estimated from characters, rather too high
    than too low: a budget must hold. None if it reports everything."""
    usage, written = completion.usage, completion.text + (completion.reasoning or "")
    if usage.prompt and (usage.completion or not written):
        return None
    return Usage(
        usage.prompt or estimated_tokens(prompt.messages),
        usage.cached,
        usage.completion or min(_tokens(written), _most_written(sampling)),
    )


def _most_written(sampling: Sampling) -> int:
    return sampling.max_tokens + (sampling.thinking_tokens or 0)


def estimated_tokens(messages: Iterable[Message]) -> int:
    return sum(_tokens(message.text) + 8 for message in messages)


def _tokens(text: str) -> int:
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return math.ceil(plain * _DENSITY + (len(text) - plain) * _DENSITY_OTHER)


def _characters(prompt: Prompt) -> int:
    branch = sum(len(m.text) for m in prompt.branch)
    return prompt.trunk.characters + branch + 8 * (len(prompt.trunk.messages) + len(prompt.branch))
