"""What does a small model learn about the user? SFT, DPO, a curriculum, and DPO against the other side and person.

    python bench/training_study.py --work DIR --list                       # the arms
    python bench/training_study.py --work DIR --arm sft --seed 0           # train, then choose and answer
    python bench/training_study.py --work DIR --report                     # tables in Markdown

The data is an offline HiCUPID set with short histories, because SmolLM2-135M (`embedded`) has 8,192 positions. An arm
is scored by `--task choose --by likelihood`, which needs no judge, and by free text under `--judge truth`, after full,
gold, truncated and no histories. Users of test_1 have other questions in the training data; those of test_2 have none.
Each step is a command of some minutes on a GPU. All of them resume: repeat the command after it was stopped.

A rehearsal on a CPU: --users 12 --dimensions 3 --turns 1 --tested 2 --epochs 0.2 --rank 4
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bowstring
from bowstring.api.calls import sweep, synthesize
from bowstring.training.settings import Method

SEED_OF_SET = 5


@dataclass(frozen=True)
class Arm:
    about: str
    method: Method = "sft"
    start: str | None = None  # the arm whose adapter it starts from
    settings: dict[str, Any] = field(default_factory=dict)


SFT: dict[str, Any] = {"lr": 1e-3, "epochs": 3.0, "users_per_step": 3, "dropout": 0.0}
EVIDENCE: dict[str, Any] = SFT | {"history": "gold", "epochs": 6.0}
DPO: dict[str, Any] = {"lr": 5e-5, "epochs": 1.0, "users_per_step": 4}
WRONG: dict[str, Any] = {"rejected": ("wrong",), "lr": 1e-4}
ARMS = {
    "sft": Arm("SFT with full histories", settings=SFT),
    "dpo": Arm("DPO alone, against the general answer", "dpo", settings=DPO),
    "dpo-wrong": Arm("DPO alone, against wrong options", "dpo", settings=DPO | WRONG),
    "sft-dpo": Arm("SFT, then DPO against the general answer", "dpo", "sft", DPO),
    "sft-wrong": Arm("SFT, then DPO against wrong options", "dpo", "sft", DPO | WRONG),
    "evidence": Arm("SFT on the evidence alone", settings=EVIDENCE),
    "evidence-wrong": Arm(
        "then DPO on the evidence, against wrong options", "dpo", "evidence", DPO | WRONG | {"history": "gold"}
    ),
    "curriculum": Arm("SFT on the evidence, then with full histories", "sft", "evidence", SFT | {"epochs": 2.0}),
    "curriculum-wrong": Arm("then DPO with full histories, against wrong options", "dpo", "curriculum", DPO | WRONG),
}
HISTORIES = ("full", "gold", "last:1k", "none")
SPLITS = {"test_1": "seen", "test_2": "unseen"}
COLUMNS = {
    "choose": ("accuracy.total", "accuracy.persona", "accuracy.profile", "accuracy.schedule", "subject", "side"),
    "answer": ("score.total", "score.persona", "score.profile", "score.schedule"),
}


def main() -> None:
    args = _arguments()
    if args.list:
        print("\n".join(f"{name:18}{arm.about}" for name, arm in ARMS.items()))
    elif args.report:
        print(report(args.work))
    else:
        data = made_set(args)
        for arm in args.arm:
            model = "hf/embedded" if arm == "base" else f"hf/embedded+{trained(arm, data, args)}"
            for task in args.task:
                scored(arm, task, model, data, args)


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def made_set(args: argparse.Namespace) -> Path:
    data: Path = args.work / "set"
    if not data.is_dir():
        few = min(10, 3 * args.dimensions)
        sizes = {"users": args.users, "dimensions": args.dimensions, "turns": args.turns, "schedules": few}
        synthesize("hicupid", offline=True, seed=SEED_OF_SET, out=data, no_clash=0.5, **sizes)
    return data


def trained(name: str, data: Path, args: argparse.Namespace) -> Path:
    """Return the adapter of an arm; the arm that it starts from is trained first."""
    arm = ARMS[name]
    out: Path = args.work / f"{name}-{args.seed}"
    given = arm.settings | ({"lr": args.lr} if args.lr else {}) | ({"epochs": args.epochs} if args.epochs else {})
    if arm.start is None:
        given |= {"rank": args.rank, "alpha": 2 * args.rank}
    else:
        start = args.work / f"{arm.start}-{args.seed}"
        given |= {"init_from": str(start)}
        if not is_complete(start):
            trained(arm.start, data, args)
    begun = time.monotonic()
    made = bowstring.train(
        arm.method,
        data=str(data),
        model="embedded",
        out=out,
        seed=args.seed,
        checkpointing=False,
        tokens_at_once=args.tokens_at_once,
        tell=tell,
        **given,
    )
    losses = [f"{line['loss']:.3f}" for line in made.record["log"] if line["loss"] is not None]
    some = " ".join(losses[:: max(1, len(losses) // 10)])
    tell(f"{name}-{args.seed}: {made.record['status']} after {time.monotonic() - begun:.0f} s, losses {some}")
    return out


def is_complete(folder: Path) -> bool:
    record = folder / "training.json"
    return record.is_file() and json.loads(record.read_text())["status"] == "complete"


def scored(name: str, task: str, model: str, data: Path, args: argparse.Namespace) -> None:
    """Evaluate an adapter, and add a line per history and split to results.jsonl."""
    begun = time.monotonic()
    how: dict[str, Any] = {"by": "likelihood"} if task == "choose" else {"judge": "truth", "max_tokens": 64}
    swept = sweep(
        "hicupid",
        model=model,
        task=task,
        data=str(data),
        users=args.tested,
        history=args.history,
        runs=args.work / "runs",
        store=args.work / f"{name}-{args.seed}.sqlite",
        tell=tell,
        **how,
    )
    with (args.work / "results.jsonl").open("a") as file:
        for history, run in swept.points.items():
            for split, found in by_split(run).items():
                row = {"arm": name, "seed": args.seed, "task": task, "history": history, "split": split}
                extra = {key: run.metrics[key] for key in ("floors", "controls") if key in run.metrics}
                file.write(json.dumps(row | {"metrics": found, "n": run.metrics["n"]} | extra) + "\n")
    tell(f"{name}-{args.seed}: {task} scored after {time.monotonic() - begun:.0f} s")


def by_split(run: Any) -> dict[str, Any]:
    splits: dict[str, Any] = run.metrics["groups"].get("split", {run.metrics["splits"][0]: run.metrics["metrics"]})
    return splits


def report(work: Path) -> str:
    """Return the tables; a row that was measured again counts once, as last measured."""
    lines = (json.loads(line) for path in sorted(work.glob("results*.jsonl")) for line in path.open())
    rows = {tuple(row[key] for key in ("task", "history", "arm", "seed", "split")): row for row in lines}
    arms, splits = ("base", *ARMS), [*SPLITS]
    found = []
    for task, columns in COLUMNS.items():
        mine = [row for row in rows.values() if row["task"] == task]
        mine.sort(
            key=lambda row: (
                *(HISTORIES.index(row["history"]), arms.index(row["arm"])),
                *(row["seed"], splits.index(row["split"])),
            )
        )
        head = [f"{task}: arm", "seed", "history", "users", *columns]
        found += ["", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for row in mine:
            values = [_shown(row["metrics"].get(column)) for column in columns]
            first = [row["arm"], str(row["seed"]), row["history"], SPLITS[row["split"]]]
            found.append(f"| {' | '.join([*first, *values])} |")
    return "\n".join(found)


def _shown(estimate: dict[str, Any] | None) -> str:
    if estimate is None or estimate["value"] is None:
        return "–"
    return f"{estimate['value']:.1f} [{estimate['low']:.1f}, {estimate['high']:.1f}]"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--arm", nargs="+", choices=("base", *ARMS), default=["base", *ARMS])
    parser.add_argument("--seed", type=int, default=0, help="of the trainings; the set is always the same")
    parser.add_argument("--task", nargs="*", choices=tuple(COLUMNS), default=list(COLUMNS), help="none: only train")
    parser.add_argument("--history", nargs="+", default=list(HISTORIES))
    parser.add_argument("--tested", type=int, default=40, help="users per split in the evaluation")
    parser.add_argument("--users", type=int, default=600)
    parser.add_argument("--dimensions", type=int, default=25)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--tokens-at-once", type=int, help="in one forward pass of a training")
    parser.add_argument("--lr", type=float, help="instead of the arm's")
    parser.add_argument("--epochs", type=float, help="instead of the arm's")
    parser.add_argument("--list", action="store_true", help="print the arms and stop")
    parser.add_argument("--report", action="store_true", help="print the tables and stop")
    return parser.parse_args()


if __name__ == "__main__":
    main()
