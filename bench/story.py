"""Do the paper's findings hold for a small model? Base, DPO alone, SFT, SFT then DPO; seen and unseen users.

    python bench/story.py --work /tmp/story                      # on a GPU
    python bench/story.py --work /tmp/story --users 12 --test 2 --dimensions 3 --turns 1 --arms sft   # a rehearsal

SmolLM2-135M (`embedded`) on an offline HiCUPID set. Histories are short because the model has 8,192 positions. Scores
come from the generator's truth. A rerun resumes: existing trainings and answers are not made again.
"""

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

from bowstring.api.calls import sweep, synthesize
from bowstring.api.train import train
from bowstring.benchmarks.hicupid.data import write
from bowstring.benchmarks.loading import load_hicupid

HISTORIES = ["full", "gold", "last:1k"]


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def arms(work: Path, args) -> dict[str, tuple[str, dict]]:
    """Method and settings of each trained arm, by name."""
    sft = {"epochs": args.epochs, "lr": args.lr, "users_per_step": args.users_per_step}
    dpo = {"epochs": 1.0, "lr": args.dpo_lr, "users_per_step": args.users_per_step}
    return {
        "sft": ("sft", sft),
        "dpo": ("dpo", dpo),
        "sft-dpo": ("dpo", dpo | {"init_from": str(work / "sft")}),
        # Sixteen questions of two users, or four questions of eight users: both are a batch of 32.
        "few-users": ("sft", sft | {"branches": 16, "users_per_step": 2, "epochs": 0.5}),
        "many-users": ("sft", sft | {"branches": 4, "users_per_step": 8, "epochs": 0.5}),
        "by-answer": ("sft", sft | {"branches": 16, "users_per_step": 2, "epochs": 0.5, "normalise": "answer"}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--users", type=int, default=240)
    parser.add_argument("--test", type=int, default=20, help="users per split in the evaluation")
    parser.add_argument("--dimensions", type=int, default=25)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--dpo-lr", type=float, default=5e-6)
    parser.add_argument("--users-per-step", type=int, default=4)
    parser.add_argument("--rank", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0, help="seed of the trainings; the set is always the same")
    parser.add_argument("--arms", nargs="*", default=["base", "sft", "dpo", "sft-dpo"])
    parser.add_argument("--history", nargs="*", default=HISTORIES)
    parser.add_argument("--max-seconds", type=float, default=1e9, help="start no further arm after this time")
    args = parser.parse_args()
    started = time.monotonic()
    whole, tested = args.work / "set", args.work / "tested"
    if not tested.is_dir():
        few = min(10, 3 * args.dimensions)
        sizes = {"users": args.users, "dimensions": args.dimensions, "turns": args.turns, "schedules": few}
        synthesize("hicupid", offline=True, seed=5, out=whole, **sizes)
        write(load_hicupid(str(whole)), tested, splits=["test_1", "test_2"], users=args.test)
        shutil.copy(whole / "truth.json", tested / "truth.json")
    trained = arms(args.work, args)
    for name in args.arms:
        if time.monotonic() - started > args.max_seconds:
            tell(f"no time left for {name}")
            break
        begun = time.monotonic()
        model = "hf/embedded"
        if name != "base":
            method, settings = trained[name]
            lora = {} if settings.get("init_from") else {"rank": args.rank, "alpha": 2 * args.rank}
            made = train(
                method,
                data=str(whole),
                model="embedded",
                out=args.work / name,
                checkpointing=False,
                seed=args.seed,
                tell=tell,
                **lora,
                **settings,
            )
            model += f"+{made.folder}"
            shown = [f"{line['loss']:.3f}" for line in made.record["log"] if line["loss"] is not None]
            shutil.copy(made.folder / "curve.svg", args.work / f"{name}.svg")
            some = shown[:: max(1, len(shown) // 12)]
            tell(f"{name}: {time.monotonic() - begun:.0f} s, {len(shown)} steps, losses {' '.join(some)}")
        begun = time.monotonic()
        swept = sweep(
            "hicupid",
            model=model,
            judge="truth",
            data=str(tested),
            history=args.history,
            max_tokens=64,
            runs=args.work / "runs",
            tell=tell,
        )
        report(args.work, name, swept, time.monotonic() - begun)
    print((args.work / "story.jsonl").read_text(), end="")


def report(work: Path, name: str, swept, seconds: float) -> None:
    rows = []
    for history, run in swept.points.items():
        for split, found in run.metrics["groups"]["split"].items():
            scores = {m: round(e["value"], 1) for m, e in found.items() if m.startswith("score")}
            total = found["score.total"]
            between = [round(total["low"], 1), round(total["high"], 1)]
            rows.append({"arm": name, "history": history, "split": split, **scores, "interval": between})
    with (work / "story.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    tell(f"{name}: evaluated in {seconds:.0f} s")
    for row in rows:
        tell(json.dumps(row))


if __name__ == "__main__":
    main()
