"""How many greedy answers of a tree equal those of generate() in bf16, and how often do two ordinary methods agree?

    python bench/agreement.py                                    # on a GPU; on a CPU in float32, where all must agree
    python bench/agreement.py --model hf/embedded+ADAPTER --questions 40

The prompts are questions of an offline HiCUPID set with whole histories (4.4k tokens), on real weights. Rounding
decides between almost equally likely tokens, and every method rounds differently. The reference is generate() on one
question at a time with SDPA. It is compared with the tree and with two other ordinary methods: generate() with eager
attention, and generate() on all prompts at once, padded on the left.
"""

import argparse
import tempfile
from collections.abc import Sequence

import torch
from transformers import AutoModelForCausalLM

from bowstring.api.calls import synthesize
from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.loading import load_hicupid
from bowstring.models.local import LocalGenerator, LocalModel
from bowstring.records import Message, Prompt, Sampling, Trunk
from bowstring.tree.decoding import decode
from bowstring.tree.packing import build_tree

Answers = list[list[int]]


def prompts_of(users: int, questions: int, dimensions: int) -> list[list[Prompt]]:
    """One list of prompts per user."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = {"users": max(users, 2), "dimensions": dimensions, "turns": 2, "schedules": min(10, 3 * dimensions)}
        synthesize("hicupid", offline=True, share=1, seed=7, out=folder, **sizes)
        data = load_hicupid(folder)
    ask = HICUPID.prompts().get("hicupid/ask").system_text(examples="")
    found = []
    for user in data.user_ids[:users]:
        history = [m for dialogue in data.history(user) for m in dialogue.messages]
        trunk = Trunk([Message("system", (ask,)), *history])
        asked = [q for q in data.questions() if q.user_id == user][:questions]
        found.append([Prompt(trunk, (Message("user", (q.question,)),)) for q in asked])
    return found


def generated(model, ids: Sequence[Sequence[int]], tokens: int, ends: Sequence[int]) -> Answers:
    """All prompts at once, padded on the left."""
    longest = max(map(len, ids))
    given = torch.tensor([[0] * (longest - len(i)) + list(i) for i in ids], device=model.device)
    mask = torch.tensor([[0] * (longest - len(i)) + [1] * len(i) for i in ids], device=model.device)
    how = {"do_sample": False, "max_new_tokens": tokens, "eos_token_id": ends, "pad_token_id": ends[0]}
    with torch.inference_mode():
        out = model.generate(given, attention_mask=mask, **how)[:, longest:].tolist()
    return [answer[: next((n for n, t in enumerate(answer) if t in ends), None)] for answer in out]


def compared(name: str, found: Answers, wanted: Answers) -> str:
    same = sum(a == b for a, b in zip(found, wanted, strict=True))
    first = sum(a[:1] == b[:1] for a, b in zip(found, wanted, strict=True))
    kept = made = 0
    for a, b in zip(found, wanted, strict=True):
        until = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        kept, made = kept + until, made + len(b)
    n = len(wanted)
    return f"  {name:<28} equal answers {same} of {n}, first tokens {first}, tokens before they differ {kept} of {made}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="hf/embedded")
    parser.add_argument("--users", type=int, default=2)
    parser.add_argument("--questions", type=int, default=20, help="questions per user")
    parser.add_argument("--dimensions", type=int, default=25, help="personas per user; fewer give shorter histories")
    parser.add_argument("--tokens", type=int, default=48)
    args = parser.parse_args()
    local = LocalModel(args.model.removeprefix("hf/"))
    answers = LocalGenerator(local._load())
    ends = sorted(answers.ends)
    trees = [
        answers.rendering.all_tokens(prompts) for prompts in prompts_of(args.users, args.questions, args.dimensions)
    ]
    tree: Answers = []
    greedy = Sampling(args.tokens, temperature=0.0)
    for ids in trees:
        drawn = decode(answers.model, build_tree(ids), [answers._draw(greedy)] * len(ids), answers.ends)
        tree += [one.tokens for one in drawn]
    plain = AutoModelForCausalLM.from_pretrained(local._files.folder, dtype=answers.model.dtype)
    plain = plain.to(answers.model.device).eval()
    if local._files.adapter is not None:
        from peft import PeftModel

        plain = PeftModel.from_pretrained(plain, str(local._files.adapter), autocast_adapter_dtype=False)
    plain.set_attn_implementation("sdpa")
    wanted = [generated(plain, [one], args.tokens, ends)[0] for ids in trees for one in ids]
    batched = [answer for ids in trees for answer in generated(plain, ids, args.tokens, ends)]
    plain.set_attn_implementation("eager")
    eager = [generated(plain, [one], args.tokens, ends)[0] for ids in trees for one in ids]
    length = sum(len(i) for ids in trees for i in ids) / len(wanted)
    where = f"{plain.device} in {str(plain.dtype).removeprefix('torch.')}"
    print(f"{args.model} on {where}: {len(wanted)} prompts of {length:,.0f} tokens")
    for name, found in (("as a tree", tree), ("generate(), eager", eager), ("generate(), all at once", batched)):
        print(compared(name, found, wanted))


if __name__ == "__main__":
    main()
