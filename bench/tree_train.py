"""How much faster is training on 32 questions on one history if the history is processed once?

    python bench/tree_train.py --size 1b

Random weights with Llama's architecture and a LoRA adapter (rank 256, all linear layers), bf16, gradient
checkpointing, one GPU; a trunk of 17,256 tokens, questions and answers as long as HiCUPID's. Forward and backward
pass, no optimizer step. The reference processes one example at a time and is timed on a few: with logits of the whole
sequence, as a plain Trainer and upstream's scripts compute them, and with logits only where there is loss. For DPO,
both the reference and the tree also compute the reference model's log-probabilities. The gradients are compared on a
few branches (bf16).
"""

import argparse
import random
import time
from contextlib import nullcontext
from functools import partial

import torch
from peft import LoraConfig, get_peft_model

from bowstring.training.objectives import Dpo, Sft, by_answer, log_probabilities, to_batch
from bowstring.training.packs import Tokens, pack
from bowstring.tree.layers import NAME, register
from tree_decode import SIZES, attend_by, make, wait


def examples(n: int, trunk: int, vocabulary: int) -> list[Tokens]:
    rng = random.Random(1)

    def some(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.randrange(vocabulary) for _ in range(rng.randint(low, high)))

    shared = some(trunk, trunk)
    return [Tokens(str(i), "user", shared + some(12, 24), (some(18, 38), some(18, 38))) for i in range(n)]


def gradients(model) -> torch.Tensor:
    found = torch.cat([p.grad.float().flatten() for p in model.parameters() if p.grad is not None])
    model.zero_grad()
    return found


def moved(one, device: str):
    return {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in to_batch(one).items()}


class Clock:
    """Measures seconds and peak memory of its block."""

    def __enter__(self):
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        self.start = wait()
        return self

    def __exit__(self, *_):
        self.seconds = wait() - self.start
        self.peak = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0


def whole_logits(model, batch):
    """The loss of one example as in a plain Trainer: labels on the answer, logits everywhere."""
    labels = torch.full_like(batch["tokens"], -100)
    labels[batch["keep"] + 1] = batch["targets"]
    return model(input_ids=batch["tokens"][None], labels=labels[None], use_cache=False).loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="1b")
    parser.add_argument("--trunk", type=int, default=17_256)
    parser.add_argument("--branches", type=int, default=32)
    parser.add_argument("--reference", type=int, default=3, help="examples that the reference is timed on")
    parser.add_argument("--rank", type=int, default=256)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    register()
    model = make(args.size, device).train()
    lora = LoraConfig(r=args.rank, lora_alpha=2 * args.rank, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(model, lora)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.01)  # otherwise some gradients would be 0
    model.gradient_checkpointing_enable({"use_reentrant": False})
    autocast = torch.autocast("cuda", torch.bfloat16) if device == "cuda" else nullcontext()
    pairs = examples(args.branches, args.trunk, model.config.vocab_size)
    singles = [Tokens(t.key, t.owner, t.prompt, t.answers[:1]) for t in pairs]

    def tree(implementation: str) -> None:
        attend_by(model.base_model.model, implementation)

    def sft(packs, without_tree: bool) -> None:
        for batch in packs:
            with autocast:
                loss, _ = Sft("token", without_tree).loss(model, batch)
            loss.backward()

    def dpo(packs, without_tree: bool) -> None:
        for batch in packs:
            with autocast, torch.no_grad(), model.disable_adapter():
                said = by_answer(log_probabilities(model, batch, without_tree=without_tree), batch).view(-1, 2)
            start = dict(zip(batch["keys"], map(tuple, said.tolist()), strict=True))
            with autocast:
                loss, _ = Dpo(0.1, start, without_tree).loss(model, batch)
            loss.backward()

    def upstream(packs) -> None:
        for batch in packs:
            with autocast:
                loss = whole_logits(model, batch)
            loss.backward()

    def one_by_one(tokens):
        return [moved(pack([t]), device) for t in tokens[: args.reference]]

    print(f"{args.size} on {device}: trunk {args.trunk:,}, {args.branches} questions, rank {args.rank}")
    for name, step, tokens in (("SFT", sft, singles), ("DPO", dpo, pairs)):
        tree("sdpa")
        alone = one_by_one(tokens)
        ways = {"one by one": partial(step, alone, without_tree=True)}
        if name == "SFT":
            ways["one by one, all logits"] = partial(upstream, alone)
        times = {}
        for way, run in ways.items():
            run()
            with Clock() as clock:
                run()
            model.zero_grad()
            times[way] = clock.seconds / len(alone) * args.branches
            print(f"  {name} {way:<24} {times[way]:8.2f} s for all (timed on {len(alone)})   peak {clock.peak:.1f} GiB")
        tree(NAME)
        together = [moved(pack(tokens), device)]
        step(together, without_tree=False)
        model.zero_grad()
        with Clock() as clock:
            step(together, without_tree=False)
        model.zero_grad()
        ratios = ", ".join(f"{seconds / clock.seconds:.1f} x {way}" for way, seconds in times.items())
        print(f"  {name} {'as a tree':<24} {clock.seconds:8.2f} s   peak {clock.peak:.1f} GiB   {ratios}")
    few = singles[: args.reference]
    tree("sdpa")
    sft(one_by_one(few), without_tree=True)
    apart = gradients(model)
    tree(NAME)
    sft([moved(pack(few), device)], without_tree=False)
    found = gradients(model)
    angle = torch.nn.functional.cosine_similarity(apart, found, dim=0).item()
    norms = f"{apart.norm():.4f} and {found.norm():.4f}"
    print(f"  gradients of {len(few)} examples, separately and as a tree: cosine {angle:.6f}, norms {norms}")


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"  ({time.perf_counter() - started:.0f} s)")
