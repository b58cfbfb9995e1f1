"""How much faster are 40 questions on one history if the history is prefilled once?

    python bench/tree_decode.py --size 1b
    python bench/tree_decode.py --size 8b

Random weights with Llama's architecture, a trunk of 17,256 tokens, 40 branches of 12 to 24 tokens, 48 new tokens each,
on one GPU in bf16. The reference is generate() on one question at a time with the whole prompt, as upstream does it
(SDPA, use_cache), timed on a few questions. Both are greedy. The number of equal first tokens is printed (in bf16 not
all need to be equal). `--adapter 256` then adds a LoRA adapter of that rank to all linear layers and times the tree
again.
"""

import argparse
import random
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from bowstring.tree.choosing import DecodingSettings
from bowstring.tree.decoding import decode
from bowstring.tree.layers import NAME, register
from bowstring.tree.norms import fuse_norms
from bowstring.tree.packing import build_tree

SIZES = {
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4},
    "1b": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32},
    "8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32},
}


def make(size: str, device: str):
    torch.manual_seed(0)
    heads = 2 if size == "tiny" else 8
    config = LlamaConfig(
        vocab_size=1000 if size == "tiny" else 128_256,
        num_key_value_heads=heads,
        max_position_embeddings=32_768,
        rope_theta=500_000.0,
        **SIZES[size],
    )
    torch.set_default_dtype(torch.bfloat16 if device == "cuda" else torch.float32)
    with torch.device(device):
        model = LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    model.generation_config.eos_token_id = None
    return model.eval()


def attend_by(model, implementation: str) -> None:
    """Set the attention: the tree's, with the joined norms of `load_weights` on a GPU; or another, with own norms."""
    model.set_attn_implementation(implementation)
    for module in model.modules():
        vars(module).pop("forward", None)
    if implementation == NAME and model.device.type == "cuda":
        fuse_norms(model)


def wait() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def continuous(model, prompts, tokens: int) -> str:
    """Time transformers' continuous batching on all prompts, in the second of two rounds; or say why it did not run."""
    from transformers import GenerationConfig

    config = GenerationConfig(max_new_tokens=tokens, do_sample=False, eos_token_id=-1, pad_token_id=0)
    attend_by(model, "sdpa")
    try:
        for _ in range(2):
            start = wait()
            found = model.generate_batch(inputs=prompts, generation_config=config, progress_bar=False)
            seconds = wait() - start
    except Exception as error:  # any error is the result that is reported
        return f"continuous batching did not run: {' '.join(str(error).split())[:160]}"
    made = sum(len(output.generated_tokens) for output in found.values())
    return (
        f"continuous batching {seconds / len(prompts):6.3f} s per question   {seconds:8.1f} s in total"
        f"   {made:,} tokens"
    )


def timed(model, tree, tokens: int):
    """The sampled tokens, seconds of the prefill and in total, and peak memory."""
    n = len(tree.branches)
    decode(model, tree, [DecodingSettings(2)] * n, set())
    if model.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    start = wait()
    decode(model, tree, [DecodingSettings(1)] * n, set())
    prefill = wait() - start
    start = wait()
    found = decode(model, tree, [DecodingSettings(tokens)] * n, set())
    whole = wait() - start
    peak = torch.cuda.max_memory_allocated() / 2**30 if model.device.type == "cuda" else 0.0
    return found, prefill, whole, peak


def adapted(model, tree, tokens: int, rank: int):
    """Time the tree with a random adapter, in float32 and in bf16."""
    attend_by(model, NAME)
    lora = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", init_lora_weights=False)
    for name, in_float32 in (("an adapter in float32", True), ("an adapter in bf16", False)):
        peft = get_peft_model(model, lora, autocast_adapter_dtype=in_float32).eval()
        yield name, timed(peft, tree, tokens)
        model = peft.unload()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="1b")
    parser.add_argument("--trunk", type=int, default=17_256)
    parser.add_argument("--branches", type=int, default=40)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--reference", type=int, default=3, help="questions that the reference is timed on")
    parser.add_argument("--continuous", action="store_true", help="also time transformers' continuous batching")
    parser.add_argument("--adapter", type=int, help="rank of an adapter: time the tree again with it")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    register()
    model = make(args.size, device)
    rng = random.Random(1)
    vocabulary = model.config.vocab_size
    trunk = [rng.randrange(vocabulary) for _ in range(args.trunk)]
    prompts = [trunk + [rng.randrange(vocabulary) for _ in range(rng.randint(12, 24))] for _ in range(args.branches)]
    attend_by(model, "sdpa")
    alone = []
    with torch.inference_mode():
        for n, prompt in enumerate([prompts[0], *prompts[: args.reference]]):
            if n == 1:
                start = wait()  # the first one warms up
            ids = torch.tensor([prompt], device=device)
            out = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=args.tokens, pad_token_id=0
            )
            alone.append(out[0, len(prompt) :].tolist())
    reference = (wait() - start) / args.reference
    attend_by(model, NAME)
    tree = build_tree(prompts)
    found, prefill, whole, peak = timed(model, tree, args.tokens)
    agree = sum(a == b.tokens for a, b in zip(alone[1:], found, strict=False))
    first = sum(a[0] == b.tokens[0] for a, b in zip(alone[1:], found, strict=False))
    batched = continuous(model, prompts, args.tokens) if args.continuous else None
    print(f"{args.size} on {device}: trunk {args.trunk:,}, {args.branches} branches, {args.tokens} new tokens")
    print(f"  one by one       {reference:8.3f} s per question   {reference * args.branches:8.1f} s in total")
    print(
        f"  as a tree        {whole / args.branches:8.3f} s per question   {whole:8.2f} s in total"
        f"   peak {peak:.1f} GiB"
    )
    print(f"  of which prefill {prefill:8.3f} s, decode step {1000 * (whole - prefill) / (args.tokens - 1):6.1f} ms")
    if batched:
        print(f"  {batched}")
    ratio = reference * args.branches / whole
    print(f"  ratio {ratio:.1f} x; equal answers {agree}, first tokens {first} of {args.reference}")
    if args.adapter:
        for name, told in adapted(model, tree, args.tokens, args.adapter):
            _, prefill, whole, peak = told
            step = 1000 * (whole - prefill) / (args.tokens - 1)
            print(
                f"  {name:<22} {whole:.2f} s, prefill {prefill:.3f} s, decode step {step:.1f} ms, peak {peak:.1f} GiB"
            )


if __name__ == "__main__":
    main()
