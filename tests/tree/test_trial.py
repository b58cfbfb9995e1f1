"""Whether a model can run as a tree is tested, not guessed from its name."""

import pytest
import torch
import transformers

from bowstring.models.hubfiles import model_folder
from bowstring.models.loading import load_weights
from bowstring.tree.layers import NAME, register
from bowstring.tree.trial import tree_mismatch
from tests.support.tiny import FAMILIES, tiny_model

register()


@pytest.mark.parametrize("family", FAMILIES)
def test_families_that_are_trees_pass(family):
    model = tiny_model(family)
    model.set_attn_implementation(NAME)
    assert tree_mismatch(model) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_layer_that_looks_twice_is_found_out(dtype):
    """DiffLlama's layers attend two times: a cache that expects one call per layer keeps the wrong values."""
    config = transformers.DiffLlamaConfig(
        vocab_size=97, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.DiffLlamaForCausalLM(config).eval().to(dtype)
    model.set_attn_implementation(NAME)
    assert tree_mismatch(model)


def test_positions_by_index_are_found_out():
    """Bloom's biases depend on the index of a token in the sequence, not on the given positions."""
    config = transformers.BloomConfig(vocab_size=97, hidden_size=32, n_layer=2, n_head=4)
    torch.manual_seed(0)
    model = transformers.BloomForCausalLM(config).eval()
    assert tree_mismatch(model)


def test_half_precision_is_no_reason():
    """Its rounding through many layers is large; the trial is in float32, and leaves the weights as they were."""
    weights = load_weights(
        model_folder("embedded", "hf/embedded", print), dtype=torch.bfloat16, device="cpu", tell=print
    )
    assert weights.no_tree_reason is None
    assert {weight.dtype for weight in weights.model.parameters()} == {torch.bfloat16}
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in weights.model.modules())


def test_the_reason_is_said():
    model = tiny_model("llama")
    model.set_attn_implementation(NAME)
    model.model.layers[0].self_attn.register_forward_pre_hook(_fails_with_a_tree, with_kwargs=True)
    assert tree_mismatch(model) == "ValueError: no trees here"


def _fails_with_a_tree(_module, _args, kwargs):
    if "tree" in kwargs:
        raise ValueError("no trees here")


def test_a_model_that_scales_far_positions_by_other_means_is_found_out():
    """As Ministral 3 did in transformers 5.0 to 5.3: by the place in the cache, which a tree does not have."""
    model = tiny_model("llama", max_position_embeddings=32_768)
    model.set_attn_implementation(NAME)
    assert tree_mismatch(model) is None

    def scale(module, arguments, given, found):
        places = given.get("cache_position")
        if places is not None and int(places.max()) > 10_000:
            found.logits = found.logits * 1.1
        return found

    model.register_forward_hook(scale, with_kwargs=True)
    assert "at position 20,480" in tree_mismatch(model)
