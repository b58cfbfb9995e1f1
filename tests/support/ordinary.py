"""A plain training loop to compare ours with: one forward pass per example, no labels on the prompt."""

import random
from collections.abc import Sequence
from itertools import count
from typing import Any

import torch
from torch import Tensor

from bowstring.training.packs import Tokens


def random_users(
    *sizes: int, answers: int = 1, trunk: int = 24, rest: tuple[int, int] = (1, 6), seed: int = 3
) -> list[list[Tokens]]:
    """A group of examples a user, of so many each, behind a beginning of its own; ids below 97."""
    rng = random.Random(seed)

    def ids(least: int, most: int) -> tuple[int, ...]:
        return tuple(rng.randrange(3, 97) for _ in range(rng.randint(least, most)))

    numbers = count()

    def example(user: int, shared: tuple[int, ...]) -> Tokens:
        prompt = shared + ids(*rest)
        return Tokens(str(next(numbers)), f"user {user}", prompt, tuple(ids(2, 9) for _ in range(answers)))

    shared = ((user, size, ids(trunk, trunk + 8)) for user, size in enumerate(sizes))
    return [[example(user, beginning) for _ in range(size)] for user, size, beginning in shared]


def answer_loss(model: Any, prompt: Sequence[int], answer: Sequence[int]) -> Tensor:
    """The model's own loss: the mean over the answer's tokens."""
    ids = torch.tensor([[*prompt, *answer]])
    labels = torch.tensor([[-100] * len(prompt) + [*answer]])
    return model(input_ids=ids, labels=labels, use_cache=False).loss


def log_probability(model: Any, prompt: Sequence[int], answer: Sequence[int]) -> Tensor:
    return -answer_loss(model, prompt, answer) * len(answer)


def sft_loss(model: Any, examples: Sequence[Tokens], normalise: str) -> Tensor:
    """Of a batch: the mean over all answer tokens, or over answers of their means."""
    means = torch.stack([answer_loss(model, e.prompt, e.answers[0]) for e in examples])
    lengths = torch.tensor([float(len(e.answers[0])) for e in examples])
    return (means * lengths).sum() / lengths.sum() if normalise == "token" else means.mean()


def dpo_loss(model: Any, start: Any, examples: Sequence[Tokens], beta: float) -> Tensor:
    """Of a batch of pairs, with the start as a second model."""
    losses = []
    for example in examples:
        now = [log_probability(model, example.prompt, answer) for answer in example.answers]
        with torch.no_grad():
            then = [log_probability(start, example.prompt, answer) for answer in example.answers]
        margin = beta * ((now[0] - then[0]) - (now[1] - then[1]))
        losses.append(-torch.nn.functional.logsigmoid(margin))
    return torch.stack(losses).mean()


def gradients(model: Any) -> dict[str, Tensor]:
    """The gradients of the model, which are then cleared."""
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return found


def assert_same(found: dict[str, Tensor], wanted: dict[str, Tensor], rounding: float = 1e-4) -> None:
    assert found.keys() == wanted.keys()
    for name, want in wanted.items():
        away = float((found[name] - want).norm())
        assert away <= rounding * float(want.norm()) + 1e-6, f"{name}: {away} of {float(want.norm())}"
