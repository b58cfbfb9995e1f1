"""The budget holds where a server does not report its tokens: they are estimated from characters."""

import asyncio

import pytest

from bowstring.models.prices import Price
from bowstring.records import Completion, Message, Prompt, Sampling, Trunk, Usage
from bowstring.runs.budget import Budget, estimated_usage

PROMPT = Prompt(Trunk([Message("system", ("s" * 100,))]), (Message("user", ("q" * 20,)),))


@pytest.mark.parametrize(
    ("completion", "usage"),
    [
        (Completion("x" * 40), Usage(76, 0, 20)),
        (Completion("x" * 40, usage=Usage(9, 3, 0)), Usage(9, 3, 20)),
        (Completion("x" * 40, usage=Usage(0, 0, 5)), Usage(76, 0, 5)),
        (Completion("x" * 40, reasoning="y" * 20), Usage(76, 0, 30)),
        (Completion("x" * 4000), Usage(76, 0, 100)),
        (Completion("猫" * 20), Usage(76, 0, 30)),
        (Completion(""), Usage(76, 0, 0)),
    ],
)
def test_tokens_that_are_not_reported_are_estimated(completion, usage):
    assert estimated_usage(PROMPT, Sampling(100), completion) == usage


@pytest.mark.parametrize("completion", [Completion("x", usage=Usage(1, 0, 1)), Completion("", usage=Usage(1, 0, 0))])
def test_reported_tokens_are_as_reported(completion):
    assert estimated_usage(PROMPT, Sampling(100), completion) is None


def test_what_a_first_request_may_cost_depends_on_its_characters():
    """Without an answer, the tokens of a text in Chinese or Arabic are more than half its characters."""
    price, budget = Price(1, 1, 1), Budget(1.0)
    most = [
        asyncio.run(budget.reserve(price, Prompt(Trunk(()), (Message("user", (text,)),)), sampling)) * 1e6
        for text, sampling in (
            ("a" * 1000, Sampling(100)),
            ("猫" * 1000, Sampling(100)),
            ("a" * 1000, Sampling(100, thinking_tokens=50)),
        )
    ]
    assert most == pytest.approx([743, 1993, 793])
