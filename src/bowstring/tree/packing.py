"""Prompts as a tree of token ids: the beginning that all share, and what each adds.

    >>> cut([[1, 2, 3, 4], [1, 2, 3, 5, 6]])
    Tree(trunk=(1, 2, 3), branches=((4,), (5, 6)))

Every whole prompt is rendered and tokenized, and the longest common beginning of their ids is the trunk: rendering a
trunk alone would be wrong, since templates move and add text, and merges cross its end.

The mask, by one rule: a token sees the trunk, and of its own branch what comes no later than itself. Positions go on
from the trunk's end in every branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

TRUNK = -1  # the segment of tokens that are trunk; branches count from 0


@dataclass(frozen=True, slots=True)
class Tree:
    trunk: tuple[int, ...]
    branches: tuple[tuple[int, ...], ...]

    @property
    def tokens(self) -> list[int]:
        """The packed sequence: the trunk, then one branch after another."""
        return [*self.trunk, *(token for branch in self.branches for token in branch)]

    @property
    def positions(self) -> list[int]:
        """Where each packed token stands in its own prompt."""
        start = len(self.trunk)
        return [*range(start), *(start + n for branch in self.branches for n in range(len(branch)))]

    @property
    def segments(self) -> list[int]:
        """Which branch each packed token belongs to, or TRUNK."""
        return [TRUNK] * len(self.trunk) + [n for n, branch in enumerate(self.branches) for _ in branch]

    @property
    def starts(self) -> list[int]:
        """Where in the packed sequence each branch begins."""
        lengths = [len(branch) for branch in self.branches]
        return [len(self.trunk) + before for before in accumulate(lengths, initial=0)][:-1]


def can_attend(query: int, key: int, segments: Sequence[int]) -> bool:
    """Whether the packed token `query` may look at the packed token `key`: the rule that every mask follows."""
    return key <= query and segments[key] in (TRUNK, segments[query])


def build_tree(prompts: Sequence[Sequence[int]]) -> Tree:
    """Prompts as a tree. Each branch keeps at least one token: something has to ask for the next one."""
    if not prompts:
        raise ValueError("no prompts; expected at least one")
    if not all(prompts):
        raise ValueError("a prompt has no tokens")
    most = min(map(len, prompts)) - 1
    common, first = 0, prompts[0]
    while common < most and all(prompt[common] == first[common] for prompt in prompts):
        common += 1
    return Tree(tuple(first[:common]), tuple(tuple(prompt[common:]) for prompt in prompts))
