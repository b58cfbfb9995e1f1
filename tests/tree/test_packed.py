"""A packed tree gives each branch the same outputs and gradients as a separate prompt."""

import pytest
import torch

from bowstring.tree.attention import Part, _plain_back, attend, attend_back, merge
from bowstring.tree.layers import NAME, register
from bowstring.tree.packed import Packed
from bowstring.tree.packing import Tree, build_tree, can_attend
from tests.support.tiny import FAMILIES, random_prompts, tiny_model

register()


def alone(model, prompts: list[list[int]]) -> list[torch.Tensor]:
    model.set_attn_implementation("eager")
    return [model(input_ids=torch.tensor([prompt])).logits[0] for prompt in prompts]


def together(model, tree: Tree) -> torch.Tensor:
    model.set_attn_implementation(NAME)
    packed = Packed(len(tree.trunk), [len(branch) for branch in tree.branches])
    ids, places = torch.tensor([tree.tokens]), torch.tensor([tree.positions])
    return model(input_ids=ids, position_ids=places, use_cache=False, tree=packed).logits[0]


def gradients(model) -> list[torch.Tensor]:
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    return found


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_outputs_and_gradients_are_those_of_separate_prompts(family, checkpointing):
    model = tiny_model(family).train()
    prompts = random_prompts(5, trunk=40, longest=9)
    tree = build_tree(prompts)
    weights = [torch.randn(len(prompt), 97) for prompt in prompts]  # any loss: a weighted sum of all logits
    expected = alone(model, prompts)
    sum((logits * weight).sum() for logits, weight in zip(expected, weights, strict=True)).backward()
    wanted = gradients(model)
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    logits = together(model, tree)
    # Every prompt's trunk is the packed one, so its weights meet there.
    n = len(tree.trunk)
    packed = torch.cat([sum(w[:n] for w in weights), *(w[n:] for w in weights)])
    (logits * packed).sum().backward()
    torch.testing.assert_close(logits[n:], torch.cat([e[n:] for e in expected]), rtol=1e-4, atol=1e-4)
    for found, want in zip(gradients(model), wanted, strict=True):
        assert (found - want).norm() <= 1e-4 * want.norm() + 1e-6


def test_branches_that_share_nothing_are_a_tree_too():
    model = tiny_model("llama")
    prompts = [[5, 9, 30], [44, 7], [80]]
    tree = build_tree(prompts)
    assert tree.trunk == ()
    torch.testing.assert_close(together(model, tree), torch.cat(alone(model, prompts)), rtol=1e-4, atol=1e-4)


def test_gradients_are_numbers_however_far_apart_the_scores_are():
    """A short branch beside a long one is filled up with its first token, which never saw the second."""
    torch.manual_seed(0)
    query, key = torch.ones(1, 2, 9, 8), torch.zeros(1, 2, 9, 8)
    key[:, :, 4] = 100.0
    value = torch.randn(1, 2, 9, 8)
    leaves = [t.requires_grad_() for t in (query, key, value)]
    out = Packed(3, [2, 4]).attend(0, *leaves, 0.3)
    found = torch.autograd.grad(out, leaves, torch.randn_like(out))
    assert all(grad.isfinite().all() for grad in found)


def test_the_mask_is_the_rule_of_the_packing():
    """What a token's output depends on, found by changing one token at a time, is what `can_attend` says."""
    model = tiny_model("llama")
    tree = Tree((3, 4, 5), ((6, 7), (8,), (9, 10, 11)))
    before = together(model, tree)
    for key in range(len(tree.tokens)):
        changed = list(tree.tokens)
        changed[key] = 50
        n = len(tree.trunk)
        parts, at = [], n
        for branch in tree.branches:
            parts.append(tuple(changed[at : at + len(branch)]))
            at += len(branch)
        moved = (together(model, Tree(tuple(changed[:n]), tuple(parts))) - before).abs().amax(-1) > 1e-6
        assert moved.tolist() == [can_attend(query, key, tree.segments) for query in range(len(tree.tokens))]


@pytest.mark.parametrize("causal", [False, True])
def test_a_part_goes_back_with_the_logarithm_of_the_whole(causal):
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 4, 6, 8), torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 8)
    other_key, other_value = torch.randn(2, 2, 9, 8), torch.randn(2, 2, 9, 8)
    leaves = [t.requires_grad_() for t in (query, key, value, other_key, other_value)]
    grad = torch.randn(2, 4, 6, 8)
    keys = torch.cat([key, other_key], 2).repeat_interleave(2, 1)
    values = torch.cat([value, other_value], 2).repeat_interleave(2, 1)
    mask = torch.ones(6, 15, dtype=torch.bool)
    if causal:
        mask[:, :6].tril_()
    whole = torch.nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=0.3)
    wanted = torch.autograd.grad(whole, leaves, grad)
    with torch.no_grad():
        merged = merge(attend(query, key, value, 0.3, causal=causal), attend(query, other_key, other_value, 0.3))
        one = attend_back(grad, query, key, value, merged, 0.3, causal=causal)
        two = attend_back(grad, query, other_key, other_value, merged, 0.3)
        wide = [t.repeat_interleave(2, 1) for t in (other_key, other_value)]
        plain = _plain_back(grad, query, *wide, Part(*merged), 0.3, None)
    found = (one.query + two.query, one.key, one.value, two.key, two.value)
    for have, want in zip(found, wanted, strict=True):
        torch.testing.assert_close(have, want, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(plain.query, two.query, rtol=1e-4, atol=1e-5)  # the way of devices without a kernel
