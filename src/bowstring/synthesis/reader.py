"""Readers: models that choose what a written text shows, so that a set can be checked by more than its words.

    reader = Reader(maker, "reader", KNOWN)
    if await reader.able("dialogue"):
        right = await reader.read(check, "persona 3", [choice for each draw])

A reading is a choice among options in a random order of which one is right, so chance is known. A reader is trusted
with a kind of text only if it reads known texts of this kind: a coin, and a model that always gives the same answer,
are found out before anything is decided by them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bowstring.concurrency import gather_in_order
from bowstring.records import Prompt
from bowstring.synthesis.making import Maker
from bowstring.synthesis.rates import Ability, Check

_BATCH = 10
NONE = "none"  # as the name of a reader: nothing is read


class Choice(NamedTuple):
    """What one reading asks: a prompt for the lettered options, the right one, and the others."""

    prompt: Callable[[str], Prompt]
    right: str
    wrong: tuple[str, ...]

    @property
    def chance(self) -> float:
        return 1 / (1 + len(self.wrong))


@dataclass(frozen=True, slots=True)
class Known:
    """A text of which it is known what a reader should choose; with several choices, all of them.

    `chance` is the share that a coin has right, over all texts of the kind.
    """

    key: str
    choices: tuple[Choice, ...]
    expected: bool = True  # whether all choices should be right; if not, one or more must not be
    chance: float = 0.25


class Reader:
    """Reads, counts what it read, and decides nothing about kinds of text that it cannot read."""

    def __init__(self, maker: Maker, role: str, known: Mapping[str, Callable[[], Sequence[Known]]]) -> None:
        self._maker = maker
        self._role = role
        self._known = known
        self._abilities: dict[str, asyncio.Future[Ability]] = {}
        self._begun: set[tuple[str, str]] = set()
        self.rates = maker.quality.rates
        self.rates.reader = maker.askers[role].model.identity

    async def able(self, kind: str) -> bool:
        """Whether the reader can read texts of this kind. It is tried once, on known texts."""
        if kind not in self._abilities:
            self._abilities[kind] = asyncio.ensure_future(self._try_known(kind))
        return (await asyncio.shield(self._abilities[kind])).able

    def begins(self, what: str, key: str) -> bool:
        """Whether a part is read for the first time: what was written first shows how good the author is."""
        new = (what, key) not in self._begun
        self._begun.add((what, key))
        return new

    async def read(
        self,
        check: Check,
        key: str,
        choices: Sequence[Choice],
        *,
        cluster: str = "",
        first: bool = False,
        kept: bool = False,
    ) -> int:
        """Return how many of the choices the reader has right; they are counted if the part is new, or kept."""
        found = await gather_in_order(
            *(self.choose(f"{check.name}/{key}/{n}", choice) for n, choice in enumerate(choices))
        )
        for n, (choice, right) in enumerate(zip(choices, found, strict=True)):
            for phase, counted in (("first", first), ("kept", kept)):
                if counted:
                    self.rates.add(check, phase, f"{key}/{n}", cluster or key, right, choice.chance)
        return sum(right is True for right in found)

    async def choose(self, key: str, choice: Choice) -> bool | None:
        """Return whether the reader chooses the right option; None if it chooses none."""
        chosen = await self._maker.choose(self._role, key, choice.prompt, [choice.right, *choice.wrong])
        return None if chosen is None else chosen == 0

    async def _try_known(self, kind: str) -> Ability:
        """Known texts are read in batches until it is clear that too many are wrong."""
        items = self._known[kind]()
        chance = sum(item.chance for item in items) / len(items)
        results: list[bool | None] = []
        while len(results) < len(items):
            batch = items[len(results) : len(results) + _BATCH]
            results += await gather_in_order(*(self._try_one(kind, item) for item in batch))
            if not Ability.of(kind, [*results, *[True] * (len(items) - len(results))], chance).able:
                break
        self.rates.abilities[kind] = Ability.of(kind, results, chance)
        return self.rates.abilities[kind]

    async def _try_one(self, kind: str, item: Known) -> bool | None:
        found = await gather_in_order(
            *(self.choose(f"known/{kind}/{item.key}/{n}", choice) for n, choice in enumerate(item.choices))
        )
        if None in found:
            return None
        return all(found) == item.expected
