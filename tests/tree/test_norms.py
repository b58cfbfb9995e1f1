"""Fused norms give the same numbers, and are used only where the definition matches."""

import copy

import pytest
import torch

from bowstring.tree.norms import fuse_norms
from tests.support.tiny import FAMILIES, tiny_model

PROMPT = torch.tensor([[5, 9, 3, 7, 4, 8]])
NORMS = {"llama": 7, "qwen2": 7, "qwen3": 13, "mistral": 7, "gemma": 0}  # Gemma's add one to the weight


def model_with_uneven_norms(family: str):
    model = tiny_model(family)
    with torch.no_grad():
        for module in model.modules():
            if type(module).__name__.endswith("RMSNorm"):
                module.weight.uniform_(0.5, 1.5)
    return model


@pytest.mark.parametrize("family", FAMILIES)
def test_a_models_logits_stay_as_they_are(family):
    model = model_with_uneven_norms(family)
    before = model(PROMPT).logits
    assert fuse_norms(model) == NORMS[family]
    torch.testing.assert_close(model(PROMPT).logits, before, rtol=1e-4, atol=1e-4)


def test_and_so_do_its_gradients():
    model = model_with_uneven_norms("llama")
    other = copy.deepcopy(model)
    fuse_norms(other)
    for one in (model, other):
        one(PROMPT, labels=PROMPT).loss.backward()
    for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-3, atol=1e-5)


def test_in_half_precision_they_are_the_same_to_rounding_and_of_the_same_type():
    model = model_with_uneven_norms("llama").to(torch.bfloat16)
    given = torch.randn(1, 50, 32, dtype=torch.bfloat16)
    norm = model.model.norm
    before = norm(given)
    assert fuse_norms(model) == NORMS["llama"]
    assert norm(given).dtype == torch.bfloat16
    torch.testing.assert_close(norm(given), before, rtol=2e-2, atol=2e-2)


def test_a_copy_of_a_model_has_norms_of_its_own():
    model = model_with_uneven_norms("llama")
    fuse_norms(model)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.model.norm.weight.zero_()
    assert other.model.norm(torch.ones(1, 32)).abs().max() == 0
    assert model.model.norm(torch.ones(1, 32)).abs().max() > 0


@pytest.mark.parametrize("wrong", ["epsilon", "root", "weight"])
def test_a_norm_that_only_has_the_name_is_left_alone(wrong):
    class StrangeRMSNorm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.full((8,), 0.7))
            self.eps = 1e-6

        def forward(self, given):
            eps = 1e-4 if wrong == "epsilon" else self.eps
            size = given.pow(2).mean(-1, keepdim=True) if wrong != "root" else given.abs().mean(-1, keepdim=True) ** 2
            return given * torch.rsqrt(size + eps) * (self.weight + (wrong == "weight"))

    assert fuse_norms(torch.nn.Sequential(StrangeRMSNorm())) == 0
