"""Who gets which subject and which side of it, for the offline generator.

Two users with adjacent numbers are twins. In every dimension they have the same subject, one likes and the other
dislikes it, and their questions, answer patterns and splits are the same, so that only the history tells which answer
is right. `share` users have the same subject and side. No subject is shared by seen and unseen users.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from bowstring.benchmarks.hicupid.banks import SIDES
from bowstring.benchmarks.hicupid.types import Sentiment
from bowstring.benchmarks.hicupid.users import Sizes


def subjects_needed(sizes: Sizes, share: int | None = None) -> int:
    """The number of subjects per dimension: one for `share` pairs of twins, seen and unseen apart."""
    return sum(math.ceil(pairs / (share or sizes.share)) for pairs in _pairs(sizes))


def least_share(sizes: Sizes, subjects: int) -> int:
    """The smallest `--share` for which this number of subjects is enough."""
    return next(share for share in range(1, sizes.users + 2) if subjects_needed(sizes, share) <= subjects)


def _pairs(sizes: Sizes) -> tuple[int, int]:
    return math.ceil(sizes.seen / 2), math.ceil((sizes.users - sizes.seen) / 2)


class TwinAssignment:
    """The subject and the side of every user in every dimension."""

    def __init__(self, sizes: Sizes, seed: int, subjects: Mapping[str, Sequence[str]]) -> None:
        self.sizes = sizes
        self._of: dict[str, list[tuple[str, Sentiment]]] = {}
        pairs = _pairs(sizes)
        offsets = (0, math.ceil(pairs[0] / sizes.share))
        for dimension, names in subjects.items():
            rng = random.Random(f"{seed}/deal/{dimension}")  # noqa: S311 - repeatable on purpose
            order = rng.sample(list(names), len(names))
            dealt: list[tuple[str, Sentiment]] = []
            for members, n, offset in zip((sizes.seen, sizes.users - sizes.seen), pairs, offsets, strict=True):
                numbers = rng.sample([offset + k // sizes.share for k in range(n)], n)
                for user in range(members):
                    if user % 2 == 0:
                        sides = rng.sample(SIDES, 2)
                    dealt.append((order[numbers[user // 2]], sides[user % 2]))
            self._of[dimension] = dealt

    def persona(self, user: int, dimension: str) -> tuple[str, Sentiment]:
        return self._of[dimension][user]

    def twins(self, user: int) -> tuple[str, int]:
        """The name of the pair of twins that a user belongs to."""
        seen = self.sizes.seen
        return ("seen", user // 2) if user < seen else ("unseen", (user - seen) // 2)
