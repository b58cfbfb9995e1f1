"""Whether a changed preference excludes the old one: a model is asked, in both orders.

It is trusted if it knows pairs of rules that exclude each other from pairs that one text can meet.
"""

from __future__ import annotations

import random
from functools import partial

from bowstring.benchmarks.cupid.offline import Preference
from bowstring.benchmarks.cupid.rules import Rule, rules
from bowstring.prompts import PromptFolder, Template
from bowstring.records import Message, Prompt, Trunk
from bowstring.synthesis.making import Maker
from bowstring.synthesis.quality import Flaw
from bowstring.synthesis.rates import Check
from bowstring.synthesis.reader import Choice, Known, Reader

PAIRS = "whether two preferences exclude each other"
EACH = 16  # known pairs that exclude each other, and as many that do not
ROLE = "judge"
EXCLUDES, ALLOWS = "No, what fulfils one breaks the other.", "Yes, one response can fulfil both."
COMPATIBLE = Flaw("the changed preference can be met together with the old one", "")
_CHANGE = Check("changed preference excludes the old one, each order")


class Compatibility:
    def __init__(self, maker: Maker, prompts: PromptFolder) -> None:
        self._template = template_of(prompts)
        self._reader = Reader(maker, ROLE, {PAIRS: self._known_pairs})

    async def flaw_of_change(self, key: str, old: str, new: str) -> Flaw | None:
        """A flaw unless the model says in both orders that no response meets both; None if it cannot be trusted."""
        if not await self._reader.able(PAIRS):
            return None
        first = self._reader.begins("change", key)
        excluded = await self._reader.read(_CHANGE, key, self._both_orders(old, new), first=first)
        return None if excluded == 2 else COMPATIBLE

    def _both_orders(self, one: str, other: str) -> tuple[Choice, ...]:
        return tuple(
            Choice(partial(_prompt, self._template, first, second), EXCLUDES, (ALLOWS,))
            for first, second in ((one, other), (other, one))
        )

    def _known_pairs(self) -> list[Known]:
        """Pairs that exclude each other, and pairs that do not. A coin calls one pair in four excluding."""
        return [
            Known(f"{n}", self._both_orders(one.says, other.says), expected=excludes, chance=0.25 if excludes else 0.75)
            for n, (one, other, excludes) in enumerate(known_pairs())
        ]


def known_pairs() -> list[tuple[Preference, Preference, bool]]:
    """Preferences of one or two rules with one rule turned into its opposite, or with rules of other groups."""
    rng = random.Random("known pairs of preferences")  # noqa: S311 - repeatable on purpose
    found = []
    for n in range(2 * EACH):
        excludes, two = n % 2 == 0, n % 4 > 1
        chosen = _apart(3, rng)
        main, more, third = (rule.id for rule in chosen)
        turned = chosen[0].opposite
        other = ([turned, third] if two else [turned]) if excludes else [third]
        own = [main, more] if two else [main]
        found.append((Preference.of(own, rng), Preference.of(other, rng), excludes))
    return found


def _apart(n: int, rng: random.Random) -> list[Rule]:
    """Rules of different groups: one text can meet them all."""
    known = list(rules().values())
    groups = rng.sample(sorted({rule.group for rule in known}), n)
    return [rng.choice([rule for rule in known if rule.group == group]) for group in groups]


def template_of(prompts: PromptFolder) -> Template:
    return prompts.get("cupid/synthesis/compatibility", needs=frozenset({"first", "second", "options"}))


def _prompt(template: Template, first: str, second: str, options: str) -> Prompt:
    return Prompt(Trunk(()), (Message("user", template.user_pieces(first=first, second=second, options=options)),))
