"""Tiny language models with random weights, of the families whose trees are decoded and trained."""

from typing import Any

FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "gemma")
END = 2


def tiny_model(family: str, *, seed: int = 0, **more: Any) -> Any:
    """In float32 on the CPU; weights large enough that the likeliest tokens differ from prompt to prompt."""
    import torch
    import transformers

    common = {
        "vocab_size": 97,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": END,
    }
    own = {
        "llama": {},
        "qwen2": {"use_sliding_window": False},
        "qwen3": {"use_sliding_window": False, "head_dim": 16},
        "mistral": {"sliding_window": None},
        "gemma": {"head_dim": 8},
    }[family]
    name = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3", "mistral": "Mistral", "gemma": "Gemma"}[family]
    torch.manual_seed(seed)
    config = getattr(transformers, f"{name}Config")(**(common | own | more))
    model = getattr(transformers, f"{name}ForCausalLM")(config).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3.0)
    return model


def random_prompts(n: int, *, trunk: int, longest: int, seed: int = 1) -> list[list[int]]:
    import random

    rng = random.Random(seed)
    shared = [rng.randrange(3, 97) for _ in range(trunk)]
    return [shared + [rng.randrange(3, 97) for _ in range(rng.randint(1, longest))] for _ in range(n)]
