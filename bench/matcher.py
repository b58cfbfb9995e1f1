"""Can a small model learn which checklist items a preference covers, for preferences that it has not seen?

    python bench/matcher.py --work /tmp/matcher
    python bench/matcher.py --work /tmp/matcher --rows 8 --epochs 1                          # what a laptop can do

Each preference of an offline CUPID set has a checklist in other words. A row matches a preference with some of its own
items, which it covers, and some items of others, which it does not. So the labels are known; none is "Partially
Covered". SmolLM2-135M (`embedded`) is trained on the rows of four fifths of the preferences and tested on the rest,
whose words and items were not in the training.
"""

import argparse
import random
from pathlib import Path

import pyarrow.parquet as pq

from bowstring.api.calls import synthesize
from bowstring.api.train import train
from bowstring.benchmarks.cupid.benchmark import CUPID
from bowstring.benchmarks.cupid.coverage import coverage_table
from bowstring.benchmarks.cupid.training import matcher_examples
from bowstring.benchmarks.cupid.truth import rules_of_items
from bowstring.benchmarks.cupid.types import INSTANCE_TYPES, Coverage
from bowstring.benchmarks.loading import load_cupid
from bowstring.models.local import LocalGenerator, LocalModel
from bowstring.training.examining import evaluate_held_out
from bowstring.training.settings import settings_for

Preference = tuple[str, tuple[str, ...]]
FULLY, NOT = "Fully Covered", "Not Covered"


def rows_of(preferences: list[Preference], each: int, rng: random.Random) -> list[Coverage]:
    """All rows of a preference have one owner. Items that it does not cover come from the other given preferences."""
    rows = []
    for n, (words, items) in enumerate(preferences):
        covered = {rules_of_items()[item] for item in items}
        strange = [item for _, more in preferences for item in more if rules_of_items()[item] not in covered]
        for _ in range(each):
            own = rng.sample(items, rng.randint(0, len(items)))
            shown = [(item, FULLY) for item in own]
            shown += [(item, NOT) for item in rng.sample(strange, rng.randint(0 if own else 1, 3))]
            rng.shuffle(shown)
            checklist, labels = zip(*shown, strict=True)
            rows.append(Coverage(f"{n}+preference", INSTANCE_TYPES[0], "recall", words, checklist, labels))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=12, help="rows per preference in the training")
    parser.add_argument("--test", type=int, default=8, help="rows per preference in the test")
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    rng = random.Random(5)
    if not (args.work / "set").is_dir():
        synthesize("cupid", offline=True, personas=252, seed=5, out=args.work / "set")
    found = sorted({(one.preference, one.checklist) for one in load_cupid(str(args.work / "set")).instances})
    rng.shuffle(found)
    unseen, seen = found[: len(found) // 5], found[len(found) // 5 :]
    pq.write_table(coverage_table(rows_of(seen, args.rows, rng)), args.work / "rows.parquet")
    made = train(
        "matcher",
        data=str(args.work / "rows.parquet"),
        model="embedded",
        out=args.work / "adapter",
        hold_out=0.0,
        epochs=args.epochs,
        lr=args.lr,
        rank=32,
        alpha=64,
        branches=8,
        users_per_step=2,
        checkpointing=False,
        tell=lambda line: print(line, flush=True),
    )
    losses = [line["loss"] for line in made.record["log"]]
    print(f"{len(seen)} preferences, {made.record['counts']}, loss {losses[0]:.2f} to {sum(losses[-5:]) / 5:.3f}")
    asked = rows_of(unseen, args.test, rng)
    for name in (f"embedded+{made.folder}", "embedded"):
        # hold_out must be below 1: one preference is left out, and the model is tested on the others.
        items = matcher_examples(asked, settings_for("matcher", hold_out=0.99), CUPID.prompts()).held_out
        numbers, _ = evaluate_held_out(LocalGenerator(LocalModel(name, print)._load()), items, (), print)
        print(name, numbers["all"], flush=True)


if __name__ == "__main__":
    main()
