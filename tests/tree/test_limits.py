"""Thoughts have a budget of their own: what a tree decodes is what `generate` gives, thought by thought and answer by
answer."""

import pytest
import torch

from bowstring.tree.choosing import DecodingSettings
from bowstring.tree.decoding import decode
from bowstring.tree.layers import NAME, register
from bowstring.tree.limits import Growth, ThinkingBudget, ThoughtEnd
from bowstring.tree.packing import build_tree
from tests.support.tiny import END, FAMILIES, random_prompts, tiny_model

register()
OPEN, CLOSE = 91, (93, 94)


def end(*close: int) -> ThoughtEnd:
    return ThoughtEnd(close, lambda tokens: tuple(tokens[-len(close) :]) == close)


def budget(tokens: int, *close: int, inside: bool = True, open_token: int = OPEN) -> ThinkingBudget:
    ends = end(*close)
    return ThinkingBudget(
        tokens, ends if inside else None, lambda first: ends if tuple(first) == (open_token,) else None, 1 + len(close)
    )


def generated(model, tokens: list[int], n: int, ends: list[int], **settings) -> list[int]:
    given = torch.tensor([tokens])
    found = model.generate(
        given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=n, eos_token_id=ends, **settings
    )
    return found[0, len(tokens) :].tolist()


def reference(model, prompt: list[int], thinking: int, answer: int, close: int, **settings) -> list[int]:
    """The thought by one call of transformers' generate, the answer by another."""
    model.set_attn_implementation("eager")
    thought = generated(model, prompt, thinking, [END, close], **settings) if thinking else []
    if thought[-1:] == [END]:
        return thought[:-1]
    if thought[-1:] != [close]:
        thought.append(close)
    said = generated(model, prompt + thought, answer, [END], **settings)
    return thought + [token for token in said if token != END]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("penalty", [1.0, 1.6])
def test_a_tree_decodes_what_generate_gives(family, penalty):
    """Among the thoughts are some that end by themselves, and some that are closed by force."""
    model = tiny_model(family)
    prompts = random_prompts(9, trunk=60, longest=7)
    settings = {} if penalty == 1.0 else {"repetition_penalty": penalty}
    model.set_attn_implementation("eager")
    free = [generated(model, prompt, 8, [END], **settings) for prompt in prompts]
    shares = {token: sum(token in tokens for tokens in free) for tokens in free for token in tokens}
    close = next(token for token, n in shares.items() if 0 < n < len(prompts) and token != END)
    expected = [reference(model, prompt, 8, 12, close, **settings) for prompt in prompts]
    model.set_attn_implementation(NAME)
    draws = [DecodingSettings(12, repetition_penalty=penalty, thinking=budget(8, close))] * len(prompts)
    found = decode(model, build_tree(prompts), draws, {END})
    assert [drawn.tokens for drawn in found] == expected


@pytest.mark.parametrize("thinking", [0, 1, 5])
def test_thoughts_with_and_without_a_budget_decode_together(thinking):
    model = tiny_model("llama")
    prompts = random_prompts(6, trunk=40, longest=6)
    settings = [None, budget(thinking, 95), budget(thinking, 95, inside=False)] * 2
    model.set_attn_implementation("eager")
    expected = [
        reference(model, prompt, thinking, 10, 95)
        if own is not None and own.inside
        else [token for token in generated(model, prompt, 10, [END]) if token != END]
        for prompt, own in zip(prompts, settings, strict=True)
    ]
    model.set_attn_implementation(NAME)
    found = decode(model, build_tree(prompts), [DecodingSettings(10, thinking=own) for own in settings], {END})
    assert [drawn.tokens for drawn in found] == expected


def test_what_is_drawn_with_a_budget_does_not_depend_on_the_company():
    model = tiny_model("llama")
    prompts = random_prompts(6, trunk=40, longest=6)
    model.set_attn_implementation(NAME)
    draws = [DecodingSettings(9, temperature=1.0, seed=n, thinking=budget(n, 95)) for n in range(6)]
    whole = [drawn.tokens for drawn in decode(model, build_tree(prompts), draws, {END})]
    assert whole[2:4] == [drawn.tokens for drawn in decode(model, build_tree(prompts[2:4]), draws[2:4], {END})]


def grown(growth: Growth, sampled: list[int], at_once: bool) -> list[int]:
    if at_once:
        growth.extend(())
        growth.extend(sampled, {END})
        return growth.drawn.tokens
    coming = iter(sampled)
    while not growth.ended and (token := growth.forced or next(coming, None)) is not None:
        growth.take(token, {END})
    return growth.drawn.tokens


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("thinking", "sampled", "tokens", "finish"),
    [
        (budget(9, 93), [5, 6, 93, 7, END], [5, 6, 93, 7], "stop"),  # closed by itself
        (budget(9, 93), [5, 93, 6, 7, 8, 9], [5, 93, 6, 7, 8], "length"),  # the answer is as long as it may be
        (budget(9, 93), [5, END, 6], [5], "stop"),  # ended in a thought
        (budget(9, *CLOSE), [5, 93, 6, *CLOSE, 7, END], [5, 93, 6, *CLOSE, 7], "stop"),  # a marker of two tokens
        (budget(9, 93, inside=False), [5, 6, 7, 8], [5, 6, 7], "length"),  # no thought
        (budget(9, 93, inside=False), [OPEN, 5, 6, 7, 8, 93, 9, END], [OPEN, 5, 6, 7, 8, 93, 9], "stop"),
        (budget(9, 93), [5, 93, OPEN, 6, 93, 7, END], [5, 93, OPEN, 6, 93, 7], "stop"),  # two thoughts
    ],
)
def test_a_thought_ends_where_the_model_ends_it(thinking, sampled, tokens, finish, at_once):
    growth = Growth(3, thinking)
    assert grown(growth, sampled, at_once) == tokens
    assert growth.drawn.finish == finish


@pytest.mark.parametrize(
    ("thinking", "sampled", "tokens"),
    [
        (budget(2, *CLOSE), [5, 6], [5, 6, *CLOSE]),
        (budget(0, *CLOSE), [], [*CLOSE]),
        (budget(0, 93, inside=False), [OPEN], [OPEN, 93]),
        (budget(2, 93, inside=False), [OPEN, 5, 6], [OPEN, 5, 6, 93]),
    ],
)
def test_a_thought_is_closed_when_its_budget_is_spent_and_then_not_opened_again(thinking, sampled, tokens):
    growth = Growth(3, thinking)
    assert grown(growth, sampled, at_once=True) == tokens
    assert growth.room == 3
    growth.extend([OPEN, 7, 8, 9], {END})
    assert growth.drawn.tokens == [*tokens, OPEN, 7, 8]
    assert growth.ended


def test_thoughts_that_never_end_do_not_grow_without_limit():
    growth = Growth(3, budget(5, 93))
    growth.extend([93, OPEN] * 50, {END})
    assert growth.ended
    assert len(growth.drawn.tokens) <= DecodingSettings(3, thinking=budget(5, 93)).most_tokens
