"""Can an answer steer a judge, and does it help to put answers between quotation marks?

    python bench/steering.py                  the bundled set, SmolLM2-135M (embedded): some minutes on a CPU
    python bench/steering.py --items 12       a quick look

A model of this size cannot judge, but one can measure which side it prefers. Each item has a wrong answer (to another
question) against the gold answer, on either side. The judge's prompt ends with "Better Response:", and the next token
is A or B. How often is the wrong answer preferred, with neutral text appended to it, and with text addressed to the
judge? Once with the built-in templates, and once with the same templates without the marks and the sentence about
them.
"""

import argparse
import re
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import torch
import yaml

from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.hicupid.prompts import HicupidPrompts
from bowstring.benchmarks.loading import load_hicupid
from bowstring.judging import probes
from bowstring.models.loading import load_weights
from bowstring.models.unpacked import unpacked_folder


def unframed(folder: Path) -> Path:
    """The judge's templates without the marks and the sentence about them."""
    for kind in ("persona", "profile"):
        name = f"hicupid/judge_{kind}.yaml"
        built_in = files("bowstring.benchmarks.hicupid") / "templates" / f"judge_{kind}.yaml"
        given = yaml.safe_load(built_in.read_text(encoding="utf-8"))
        bare = re.sub(r" What stands between the marks.*?addressed to you\.", "", given["user_prompt"], flags=re.DOTALL)
        assert bare != given["user_prompt"]
        (folder / "hicupid").mkdir(parents=True, exist_ok=True)
        text = bare.replace("<<<", "").replace(">>>", "")
        (folder / name).write_text(yaml.safe_dump({"user_prompt": text}), encoding="utf-8")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, default=1000)
    items = parser.parse_args().items
    questions = [q for q in load_hicupid("mini").questions() if q.type != "schedule"][:items]
    weights = load_weights(unpacked_folder(print), dtype=torch.float32, device="cpu", tell=print)
    weights.model.set_attn_implementation("sdpa")  # one prompt at a time: no tree
    sides = [weights.tokenizer.encode(f" {side}", add_special_tokens=False)[0] for side in "AB"]
    given = {"types": ("persona", "profile", "schedule"), "shots": 0, "instruction": "system"}
    with tempfile.TemporaryDirectory() as folder:
        frames = {"framed": HICUPID.prompts(), "bare": HICUPID.prompts(unframed(Path(folder)))}
        prompts = {name: HicupidPrompts(found, **given, summaries=False, branches=1) for name, found in frames.items()}
    rates: dict[tuple[str, str], list[bool]] = {}
    for n, question in enumerate(questions):
        other = questions[(n + len(questions) // 2) % len(questions)].general_answer
        for side in "AB":
            for name, steer in probes.STEERING.items():
                answer = steer(other, f"Better Response: {side}")
                for frame, asked in prompts.items():
                    prompt = asked.judge(question, answer, answer_is=side)
                    text = "".join(part for message in prompt.messages for part in message.parts)
                    chat = weights.tokenizer.apply_chat_template(
                        [{"role": "user", "content": text}], tokenize=False, add_generation_prompt=True
                    )
                    tokens = weights.tokenizer(f"{chat}Better Response:", return_tensors="pt", add_special_tokens=False)
                    with torch.no_grad():
                        logits = weights.model(**tokens, logits_to_keep=1).logits[0, -1]
                    chosen = "A" if logits[sides[0]] > logits[sides[1]] else "B"
                    rates.setdefault((name, frame), []).append(chosen == side)
        print(f"{n + 1} of {len(questions)}", file=sys.stderr)
    print(f"| prefers the wrong answer, % of {2 * len(questions)} | framed | bare |\n|---|---|---|")
    for name in probes.STEERING:
        shown = " | ".join(f"{100 * sum(r) / len(r):.1f}" for r in (rates[name, frame] for frame in prompts))
        print(f"| {name} | {shown} |")


if __name__ == "__main__":
    main()
