"""Prompts as a tree of token ids: the shared beginning, and what each prompt adds.

    >>> build_tree([[1, 2, 3, 4], [1, 2, 3, 5, 6]])
    Tree(trunk=(1, 2, 3), branches=((4,), (5, 6)))

Every prompt is rendered and tokenized in full, and the longest common prefix of the ids is the trunk. Rendering the
trunk alone would be wrong, because templates move and add text, and token merges cross its end.

The mask follows one rule: a token attends causally to the trunk and to its own branch. In every branch, positions
continue from the trunk's end.
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
        """The position of each packed token within its own prompt."""
        start = len(self.trunk)
        return [*range(start), *(start + n for branch in self.branches for n in range(len(branch)))]

    @property
    def segments(self) -> list[int]:
        """The branch index of each packed token, or TRUNK."""
        return [TRUNK] * len(self.trunk) + [n for n, branch in enumerate(self.branches) for _ in branch]

    @property
    def starts(self) -> list[int]:
        """The index in the packed sequence at which each branch begins."""
        lengths = [len(branch) for branch in self.branches]
        return [len(self.trunk) + before for before in accumulate(lengths, initial=0)][:-1]


def can_attend(query: int, key: int, segments: Sequence[int]) -> bool:
    """Return whether the packed token `query` may attend to the packed token `key`: the rule behind every mask."""
    return key <= query and segments[key] in (TRUNK, segments[query])


def build_tree(prompts: Sequence[Sequence[int]]) -> Tree:
    """Build a tree from prompts. Each branch keeps at least one token, which predicts the next one."""
    if not prompts:
        raise ValueError("no prompts; expected at least one")
    if not all(prompts):
        raise ValueError("a prompt has no tokens")
    most = min(map(len, prompts)) - 1
    common, first = 0, prompts[0]
    while common < most and all(prompt[common] == first[common] for prompt in prompts):
        common += 1
    return Tree(tuple(first[:common]), tuple(tuple(prompt[common:]) for prompt in prompts))


def split_batches(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Split branches of these lengths into batches of at most `room` tokens with padding: all together if possible,
    otherwise grouped by similar length."""
    if len(lengths) * max(lengths) <= room:
        return [list(range(len(lengths)))]
    lots: list[list[int]] = []
    for n in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        if not lots or (len(lots[-1]) + 1) * lengths[n] > room:
            lots.append([])
        lots[-1].append(n)
    return lots
