"""The embedded model for PyTorch: its GGUF file converted to a transformers model folder, once, in the cache.

The weights are those that llama.cpp computes with (dequantized from 4 bits), stored in 16 bits.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bowstring.errors import UsageError
from bowstring.models import gguf, weights
from bowstring.models.tokens import gguf_tokenizer

NAME = "SmolLM2-135M-Instruct"
_LAYER = re.compile(r"blk\.(\d+)\.(.+)\.weight")
_OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_INSIDE = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def unpacked_folder(tell: Callable[[str], None] = lambda line: None) -> Path:
    """Return the folder with the embedded model's weights, tokenizer and template."""
    folder = weights.cache_folder() / NAME
    if folder.is_dir():
        return folder
    source = weights.fetch(tell)
    tell(f"Unpacking the embedded model for PyTorch (270 MB, once, into {folder})")
    work = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        unpack(source, work)
        work.chmod(0o755)
        work.replace(folder)  # atomic: the folder is complete as soon as it exists
    except OSError:
        if not folder.is_dir():  # another process may have finished first
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def unpack(source: Path, folder: Path) -> None:
    """Convert a Llama GGUF file to a model folder."""
    try:
        from safetensors.numpy import save_file
        from transformers import GenerationConfig, LlamaConfig, PreTrainedTokenizerFast
    except ImportError as error:
        raise UsageError("hf/embedded needs PyTorch and transformers: pip install 'bowstring[local]'") from error
    header = gguf.read_header(source)
    heads, key_heads = header["llama.attention.head_count"], header["llama.attention.head_count_kv"]
    tensors = _tensors(source, heads, key_heads)
    end, begin = header["tokenizer.ggml.eos_token_id"], header["tokenizer.ggml.bos_token_id"]
    config = LlamaConfig(
        vocab_size=header["llama.vocab_size"],
        hidden_size=header["llama.embedding_length"],
        intermediate_size=header["llama.feed_forward_length"],
        num_hidden_layers=header["llama.block_count"],
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=header["llama.context_length"],
        rms_norm_eps=header["llama.attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": header["llama.rope.freq_base"]},
        tie_word_embeddings="lm_head.weight" not in tensors,
        bos_token_id=begin,
        eos_token_id=end,
        pad_token_id=header["tokenizer.ggml.padding_token_id"],
        architectures=["LlamaForCausalLM"],
        dtype="float16",
    )
    config.save_pretrained(folder)
    settings = GenerationConfig(bos_token_id=begin, eos_token_id=end, pad_token_id=end)  # type: ignore[no-untyped-call]
    settings.save_pretrained(folder)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    tokens = header["tokenizer.ggml.tokens"]
    vocabulary = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=gguf_tokenizer(source),
        bos_token=tokens[begin],
        eos_token=tokens[end],
        pad_token=tokens[end],
        unk_token=tokens[header["tokenizer.ggml.unknown_token_id"]],
        chat_template=header["tokenizer.chat_template"],
        model_max_length=header["llama.context_length"],
        clean_up_tokenization_spaces=False,
    )
    vocabulary.save_pretrained(folder)


def _tensors(source: Path, heads: int, key_heads: int) -> dict[str, Any]:
    try:
        from gguf import GGUFReader, dequantize
    except ImportError as error:
        raise UsageError("hf/embedded needs gguf: pip install 'bowstring[local]'") from error
    import numpy as np

    found = {}
    for tensor in GGUFReader(str(source)).tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        match = _LAYER.fullmatch(tensor.name)
        if match is None:
            name = _OUTSIDE[tensor.name]
        else:
            name = f"model.layers.{match[1]}.{_INSIDE[match[2]]}.weight"
            if match[2] in ("attn_q", "attn_k"):
                values = _halves(values, heads if match[2] == "attn_q" else key_heads)
        found[name] = np.ascontiguousarray(values, dtype=np.float16)
    return found


def _halves(rows: Any, heads: int) -> Any:
    """Convert rotary layouts: llama.cpp pairs neighbouring rows of a head, transformers rows half a head apart."""
    return rows.reshape(heads, rows.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)
