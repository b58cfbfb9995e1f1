"""Tiny language models with random weights, of the families whose trees are decoded and trained."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "gemma")
END = 2
TEMPLATE = (
    "{{ strftime_now('%d %b %Y') }}{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
# Opens a thought itself, unless it is told not to.
THINKING_TEMPLATE = TEMPLATE.replace(
    "<|assistant|>{% endif %}",
    "<|assistant|><think>{% if enable_thinking is defined and not enable_thinking %}</think>{% endif %}{% endif %}",
)


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


def write_model(
    folder: Path,
    *,
    template: str = TEMPLATE,
    words: str = "",
    spaced: bool = False,
    tokens: Sequence[str] = (),
    **config: Any,
) -> Path:
    """A folder with a tiny Llama and a word-level vocabulary of the bundled set, and of more words. `spaced` words have
    the space before them, so that what the model says is what it learned, to the letter. `tokens` are further special
    tokens."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from bowstring.benchmarks.loading import load_hicupid

    data = load_hicupid("mini")
    said = " ".join(m.text for u in data.user_ids for d in data.history(u) for m in d.messages)
    splits = pre_tokenizers.Whitespace()
    if spaced:
        splits = pre_tokenizers.Split(Regex(r"\s?\w+|\s?[^\w\s]|\s"), "isolated")
    known = sorted({word for word, _ in splits.pre_tokenize_str(f"{said} {words}")})
    special = ["<pad>", "<unk>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", *tokens]
    vocabulary = {word: n for n, word in enumerate([*special, *known])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = splits
    if spaced:
        tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<|end|>",
        additional_special_tokens=special[3:],
    )
    fast.chat_template = template
    fast.save_pretrained(folder)
    model = tiny_model("llama", vocab_size=len(vocabulary), max_position_embeddings=4096, **config)
    model.save_pretrained(folder)
    return folder


def copy_of(folder: Path, path: Path, **config: Any) -> Path:
    """The same model under another configuration."""
    shutil.copytree(folder, path)
    said = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(said | config))
    return path


def random_prompts(n: int, *, trunk: int, longest: int, seed: int = 1) -> list[list[int]]:
    import random

    rng = random.Random(seed)
    shared = [rng.randrange(3, 97) for _ in range(trunk)]
    return [shared + [rng.randrange(3, 97) for _ in range(rng.randint(1, longest))] for _ in range(n)]
