"""Whether a model can be a tree is tried, not guessed from its name."""

import pytest
import torch
import transformers

from bowstring.tree.layers import NAME, register
from bowstring.tree.trial import is_a_tree
from tests.support.tiny import FAMILIES, tiny_model

register()


@pytest.mark.parametrize("family", FAMILIES)
def test_families_that_are_trees_pass(family):
    model = tiny_model(family)
    model.set_attn_implementation(NAME)
    assert is_a_tree(model)


def test_a_layer_that_looks_twice_is_found_out():
    """DiffLlama's layers attend two times: a cache that expects one look a layer keeps the wrong values."""
    config = transformers.DiffLlamaConfig(
        vocab_size=97, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.DiffLlamaForCausalLM(config).eval()
    model.set_attn_implementation(NAME)
    assert not is_a_tree(model)


def test_positions_by_index_are_found_out():
    """Bloom's biases go by where a token stands in the sequence, whatever it is told."""
    config = transformers.BloomConfig(vocab_size=97, hidden_size=32, n_layer=2, n_head=4)
    torch.manual_seed(0)
    model = transformers.BloomForCausalLM(config).eval()
    assert not is_a_tree(model)
