"""Shards: the parts into which several machines divide the items of one command, by user.

>>> Shard.parse("2/4").has("user 17")
False

Which shard a user belongs to depends on the user's name and on the number of shards alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bowstring.errors import UsageError, quote_value
from bowstring.seeding import seeded_number

HELP = "Ask only for part I of N; every user (or what the benchmark has instead) is in exactly one part."
NO_ASK_HELP = "Send no request: use the stored responses, and refuse to write results if any is missing."
_FORM = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` of `of`; the first has number 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        form = _FORM.fullmatch(text)
        found = cls(int(form[1]), int(form[2])) if form else None
        if found is None or found.number > found.of:
            raise UsageError(f"--shard {quote_value(text)}: expected I/N with I from 1 to N, such as 1/4")
        return found

    def has(self, cluster: str) -> bool:
        """Return whether the items of this cluster, such as a user, are in this shard."""
        return number_of(cluster, self.of) == self.number

    @property
    def suffix(self) -> str:
        """The end of the name of its folder."""
        return f"-shard-{self.number}-of-{self.of}"

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def part_of_a_run(shard: Shard) -> str:
    """Return what a reader of the results of a shard must know."""
    return f"This is a part: shard {shard.number} of {shard.of}, by user. Its scores are not those of the whole run."


def number_of(cluster: str, of: int) -> int:
    """Return the number of the shard that a cluster belongs to. Changing this rule would leave holes in every run that
    is being made in shards."""
    return seeded_number(0, "shard", cluster) % of + 1


def shards_with(clusters: Iterable[str], of: int) -> list[Shard]:
    """Return the shards that have these clusters, in order."""
    return [Shard(number, of) for number in sorted({number_of(cluster, of) for cluster in clusters})]


def count_of_shards(folders: Iterable[Path]) -> int | None:
    """Return the number of shards of these runs, from the folders of shards beside theirs; None if it is unclear."""
    counts = set()
    for folder in folders:
        name = re.compile(re.escape(folder.name) + r"-shard-[0-9]+-of-([0-9]{1,9})")
        beside = folder.parent.glob("*/run.json")  # a shard that was refused has none
        counts |= {int(match[1]) for one in beside if (match := name.fullmatch(one.parent.name))}
    return counts.pop() if len(counts) == 1 else None
