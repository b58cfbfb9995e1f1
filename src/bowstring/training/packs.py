"""Packs: a trunk and some of its branches as one sequence, with the positions of answer tokens.

A pack holds examples of one group. Its trunk is the longest common prefix of their prompts' token ids; a branch is the
rest of a prompt and an answer with its end token. If that would need more tokens, every prompt is its own trunk, and
its answers are the branches. Logits are computed only where the next token belongs to an answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from bowstring.models.rendering import Rendering
from bowstring.training.examples import Example
from bowstring.tree.packing import Tree, build_tree

Ids = npt.NDArray[np.int32]
_LONGEST = 32_768  # maximum tokens of a pack of several examples: fits a long history with all its questions


@dataclass(frozen=True, slots=True)
class Tokens:
    """An example as token ids: one prompt, and the answer to learn; for DPO, rejected answers after it."""

    key: str
    owner: str
    prompt: tuple[int, ...]
    answers: tuple[tuple[int, ...], ...]

    @property
    def longest(self) -> int:
        return len(self.prompt) + max(map(len, self.answers))


@dataclass(frozen=True, slots=True)
class Pack:
    keys: tuple[str, ...]
    owner: str
    trees: tuple[tuple[int, tuple[int, ...]], ...]  # lengths of trunk and branches; answers of an example are adjacent
    tokens: Ids
    positions: Ids
    keep: Ids  # positions in the packed sequence where logits are needed
    targets: Ids  # the next token at each position
    of: Ids  # the branch that token belongs to
    sizes: tuple[int, ...]  # number of answers of each example

    @property
    def answers(self) -> int:
        return sum(len(branches) for _, branches in self.trees)


@dataclass(slots=True)
class Packing:
    """Packs, and counts of the examples."""

    packs: list[Pack]
    lots: int = 0  # number of packs if length were unlimited
    examples: int = 0
    too_long: int = 0
    separate_tokens: int = 0  # tokens if every example were separate

    @property
    def longest(self) -> int:
        return max(len(pack.tokens) for pack in self.packs)

    @property
    def packed_tokens(self) -> int:
        return sum(len(pack.tokens) for pack in self.packs)


def pack_all(
    groups: Iterable[Sequence[Tokens]], *, branches: int, max_length: int, seed: int, longest: int | None = None
) -> Packing:
    """Pack each group into packs of at most `branches` examples, and fewer if they would be too long together (prompts
    that share little). An example that is too long by itself is left out."""
    longest = longest or max(_LONGEST, max_length * 3 // 2)
    found = Packing([])
    for group in groups:
        fits = [tokens for tokens in group if tokens.longest <= max_length]
        found.examples += len(fits)
        found.too_long += len(group) - len(fits)
        found.separate_tokens += sum(len(t.prompt) + len(a) for t in fits for a in t.answers)
        rng = random.Random(f"pack {seed} {group[0].key}")  # noqa: S311 - repeatable on purpose
        lots = rng.sample(fits, len(fits))
        # Split evenly: otherwise 33 examples in packs of 32 would spend a whole history on one question.
        number = -(-len(lots) // branches)
        found.lots += number
        packs = [pack(lots[n::number]) for n in range(number)]
        while number < len(lots) and max(len(p.tokens) for p in packs) > longest:
            number = min(2 * number, len(lots))
            packs = [pack(lots[n::number]) for n in range(number)]
        found.packs += packs
    return found


def pack(examples: Sequence[Tokens]) -> Pack:
    tree = build_tree([tokens.prompt for tokens in examples])
    rests = sum(len(rest) * len(tokens.answers) for tokens, rest in zip(examples, tree.branches, strict=True))
    if sum(len(tokens.prompt) for tokens in examples) < len(tree.trunk) + rests:
        return join_packs([_packed([tokens], build_tree([tokens.prompt])) for tokens in examples])
    return _packed(examples, tree)


def join_packs(packs: Sequence[Pack]) -> Pack:
    """Join packs into one, one after another."""
    tokens = accumulate((len(p.tokens) for p in packs), initial=0)
    answers = accumulate((p.answers for p in packs), initial=0)
    return Pack(
        tuple(key for p in packs for key in p.keys),
        packs[0].owner,
        tuple(tree for p in packs for tree in p.trees),
        np.concatenate([p.tokens for p in packs]),
        np.concatenate([p.positions for p in packs]),
        np.concatenate([p.keep + before for p, before in zip(packs, tokens, strict=False)]),
        np.concatenate([p.targets for p in packs]),
        np.concatenate([p.of + before for p, before in zip(packs, answers, strict=False)]),
        tuple(size for p in packs for size in p.sizes),
    )


def _packed(examples: Sequence[Tokens], tree: Tree) -> Pack:
    whole = [(*rest, *a) for tokens, rest in zip(examples, tree.branches, strict=True) for a in tokens.answers]
    answers = [answer for tokens in examples for answer in tokens.answers]
    packed = Tree(tree.trunk, tuple(whole))
    keep: list[int] = []
    for start, branch, answer in zip(packed.starts, whole, answers, strict=True):
        first = start + len(branch) - len(answer)
        keep += range(first - 1, first - 1 + len(answer))
    return Pack(
        tuple(tokens.key for tokens in examples),
        examples[0].owner,
        ((len(tree.trunk), tuple(map(len, whole))),),
        _ids(packed.tokens),
        _ids(packed.positions),
        _ids(keep),
        _ids([token for answer in answers for token in answer]),
        _ids([n for n, answer in enumerate(answers) for _ in answer]),
        tuple(len(tokens.answers) for tokens in examples),
    )


def _ids(values: Sequence[int]) -> Ids:
    return np.array(values, dtype=np.int32)


def order_packs(owners: Sequence[str], per_step: int, epochs: float, seed: int) -> list[int]:
    """Return the order of packs in training: each step has `per_step` packs, of different owners where possible."""
    order: list[int] = []
    whole = max(round(len(owners) * epochs), 1)
    for epoch in range(-(-whole // len(owners))):
        left = list(range(len(owners)))
        random.Random(f"order {seed} {epoch}").shuffle(left)  # noqa: S311
        order += _mixed(left, owners, per_step, order)
    return order[:whole]


def _mixed(left: Sequence[int], owners: Sequence[str], per_step: int, before: Sequence[int]) -> list[int]:
    """Order the packs so that a step has each owner once; owners with the most remaining packs go first."""
    queues: dict[str, list[int]] = {}
    for pack_number in left:
        queues.setdefault(owners[pack_number], []).append(pack_number)
    found: list[int] = []
    step = {owners[n] for n in before[len(before) - len(before) % per_step :]}
    while queues:
        if (len(before) + len(found)) % per_step == 0:
            step = set()
        free = [owner for owner in queues if owner not in step] or list(queues)
        owner = max(free, key=lambda o: len(queues[o]))
        step.add(owner)
        found.append(queues[owner].pop(0))
        if not queues[owner]:
            del queues[owner]
    return found


def tokenize_groups(groups: Iterable[Sequence[Example]], render: Rendering) -> Iterator[list[Tokens]]:
    """Yield examples as token ids, group by group."""
    for group in groups:
        prompts = render.all_tokens([example.prompt for example in group])
        yield [
            Tokens(e.key, e.owner, tuple(ids), tuple(tuple(render.answer(t)) for t in (e.answer, *e.rejected)))
            for e, ids in zip(group, prompts, strict=True)
        ]
