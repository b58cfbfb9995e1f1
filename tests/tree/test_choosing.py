"""Tokens are sampled with the same probabilities as in transformers."""

from collections import Counter

import pytest
import torch
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from bowstring.tree.choosing import DecodingSettings, TokenSampler
from bowstring.tree.packing import Tree


def one_each(logits: torch.Tensor, draws: list[DecodingSettings]) -> list[int]:
    tree = Tree((), tuple((1,) for _ in draws))
    return TokenSampler(draws, tree, torch.device("cpu")).sample(logits.expand(len(draws), -1))


@pytest.mark.parametrize(
    ("settings", "warpers"),
    [
        ({}, []),
        ({"top_k": 5}, [TopKLogitsWarper(5)]),
        ({"top_p": 0.7}, [TopPLogitsWarper(0.7)]),
        ({"top_k": 8, "top_p": 0.6}, [TopKLogitsWarper(8), TopPLogitsWarper(0.6)]),
    ],
)
def test_chances_are_those_of_generate(settings, warpers):
    torch.manual_seed(0)
    logits = torch.randn(1, 20) * 2
    wanted = LogitsProcessorList([TemperatureLogitsWarper(0.6), *warpers])(None, logits).softmax(-1)[0]
    n = 20_000
    found = Counter(
        one_each(logits, [DecodingSettings(1, temperature=0.6, seed=seed, **settings) for seed in range(n)])
    )
    assert set(found) <= set(wanted.nonzero().squeeze(1).tolist()), "nothing is drawn that was ruled out"
    for token, chance in enumerate(wanted.tolist()):
        assert abs(found[token] / n - chance) < 5 * (chance * (1 - chance) / n) ** 0.5 + 1e-9


@pytest.mark.parametrize("settings", [{}, {"top_k": 4}, {"top_p": 0.8}, {"top_k": 4, "top_p": 0.8}])
def test_a_number_that_rounds_to_one_draws_the_last_token_that_was_not_ruled_out(settings):
    logits = torch.tensor([[0.0, 3.0, 2.0, 1.0, -1.0, -2.0]])
    mixed = [DecodingSettings(1, 1.0, seed=6_037_203, **settings), DecodingSettings(1, 1.0, seed=1)]
    kept = 2 if "top_p" in settings else 4 if "top_k" in settings else 6
    assert one_each(logits, mixed)[0] == logits[0].argsort(descending=True)[kept - 1]


def test_rows_with_other_settings_do_not_meddle():
    torch.manual_seed(1)
    logits = torch.randn(1, 50)
    mixed = [
        DecodingSettings(1),
        DecodingSettings(1, 0.8, 3, seed=5),
        DecodingSettings(1, 1.5, None, 0.9, seed=6),
        DecodingSettings(1, 0.2, 40, seed=7),
    ]
    assert one_each(logits, mixed) == [one_each(logits, [draw])[0] for draw in mixed]
    assert one_each(logits, mixed)[0] == int(logits.argmax())


def test_the_numbers_go_on_where_branches_leave():
    torch.manual_seed(2)
    logits = torch.randn(3, 40)
    draws = [DecodingSettings(4, 1.0, seed=n) for n in range(3)]
    tree = Tree((), ((1,), (2,), (3,)))
    whole, thinned = (TokenSampler(draws, tree, torch.device("cpu")) for _ in range(2))
    assert whole.sample(logits) == thinned.sample(logits)
    thinned.keep([2])
    for _ in range(3):
        assert thinned.sample(logits[2:]) == whole.sample(logits)[2:]
