"""A tree decodes to the same tokens as each prompt alone."""

import pytest
import torch

from bowstring.tree.attention import attend, group, merge, ungroup
from bowstring.tree.choosing import DecodingSettings
from bowstring.tree.decoding import decode
from bowstring.tree.layers import NAME, register
from bowstring.tree.packing import build_tree
from tests.support.tiny import END, FAMILIES, random_prompts, tiny_model

register()
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]  # a GPU records its steps


def alone(model, prompt: list[int], n: int, **settings) -> list[int]:
    """What transformers' own generate gives for a prompt by itself."""
    model.set_attn_implementation("eager")
    ids = torch.tensor([prompt], device=model.device)
    found = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=n, **settings)
    return [token for token in found[0, len(prompt) :].tolist() if token != END]


def together(model, prompts, draws, **settings):
    model.set_attn_implementation(NAME)
    return decode(model, build_tree(prompts), draws, {END}, **settings)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("chunk", "grid"), [(32, 8192), (4096, 8192), (4096, 14)])
@pytest.mark.parametrize("device", DEVICES)
def test_greedy_tokens_are_those_of_each_prompt_alone(family, chunk, grid, device, monkeypatch):
    """However many tokens of the trunk and of branches go through at a time."""
    monkeypatch.setattr("bowstring.tree.decoding._GRID", grid)
    model = tiny_model(family).to(device)
    prompts = random_prompts(7, trunk=150, longest=9)
    expected = [alone(model, prompt, 20) for prompt in prompts]
    found = together(model, prompts, [DecodingSettings(20)] * 7, chunk=chunk)
    assert [drawn.tokens for drawn in found] == expected
    assert len(set(map(tuple, expected))) > 3, "the prompts differ in what follows"


@pytest.mark.parametrize("device", DEVICES)
def test_prompts_that_share_nothing_are_a_tree_too(device):
    model = tiny_model("llama").to(device)
    prompts = [[5, 9, 30], [44, 7], [80]]
    found = together(model, prompts, [DecodingSettings(12)] * 3)
    assert [drawn.tokens for drawn in found] == [alone(model, prompt, 12) for prompt in prompts]


@pytest.mark.parametrize("device", DEVICES)
def test_branches_leave_when_they_end(device):
    model = tiny_model("llama").to(device)
    prompts = random_prompts(12, trunk=40, longest=6)
    free = [alone(model, prompt, 24) for prompt in prompts]
    # A token that some meet and others do not.
    end = next(t for tokens in free for t in tokens if 0 < sum(t in other for other in free) < len(free))
    model.set_attn_implementation(NAME)
    found = decode(model, build_tree(prompts), [DecodingSettings(24)] * 12, {end})
    for drawn, tokens in zip(found, free, strict=True):
        expected = tokens[: tokens.index(end)] if end in tokens else tokens
        assert drawn.tokens == expected
        assert drawn.finish == ("stop" if end in tokens else "length")
    assert {drawn.finish for drawn in found} == {"stop", "length"}


def test_limits_are_each_branchs_own():
    model = tiny_model("qwen2")
    prompts = random_prompts(4, trunk=30, longest=5)
    found = together(model, prompts, [DecodingSettings(n) for n in (1, 3, 8, 2)])
    assert [len(drawn.tokens) for drawn in found] == [1, 3, 8, 2]


def test_what_is_drawn_depends_on_the_seed_and_not_on_the_company():
    model = tiny_model("llama")
    prompts = random_prompts(6, trunk=40, longest=6)
    draws = [DecodingSettings(16, temperature=1.0, top_k=20, top_p=0.9, seed=n) for n in range(6)]
    whole = [drawn.tokens for drawn in together(model, prompts, draws)]
    assert whole == [drawn.tokens for drawn in together(model, prompts, draws)]
    few = [drawn.tokens for drawn in together(model, prompts[2:5], draws[2:5])]
    assert few == whole[2:5]
    other = together(model, prompts, [DecodingSettings(16, temperature=1.0, seed=n + 100) for n in range(6)])
    assert [drawn.tokens for drawn in other] != whole


def test_penalties_count_trunk_and_branch():
    model = tiny_model("mistral")
    prompts = random_prompts(5, trunk=60, longest=4)
    expected = [alone(model, prompt, 16, repetition_penalty=1.7) for prompt in prompts]
    assert expected != [alone(model, prompt, 16) for prompt in prompts]
    found = together(model, prompts, [DecodingSettings(16, repetition_penalty=1.7)] * 5)
    assert [drawn.tokens for drawn in found] == expected


def test_parts_merge_to_the_whole():
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 8, 5, 16), torch.randn(2, 2, 30, 16), torch.randn(2, 2, 30, 16)
    grouped = group(query, 2)
    whole = attend(grouped, key, value, 0.25)
    parts = merge(
        attend(grouped, key[:, :, :11], value[:, :, :11], 0.25), attend(grouped, key[:, :, 11:], value[:, :, 11:], 0.25)
    )
    torch.testing.assert_close(parts.out, whole.out)
    torch.testing.assert_close(parts.lse, whole.lse)
    reference = torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=0.25, enable_gqa=True)
    torch.testing.assert_close(ungroup(whole.out, 8), reference)


def test_a_model_outside_a_tree_says_so():
    model = tiny_model("llama")
    model.set_attn_implementation(NAME)
    with pytest.raises(RuntimeError, match="the model was called without a tree"):
        model(input_ids=torch.tensor([[5]]), use_cache=False)
