"""Does a HiCUPID set of the published size load in comfort?

    python bench/full_size.py

Writes 1,500 users (397,500 turns, 60,000 questions) of words drawn at random in the published layout, loads it in a
fresh process, and prints seconds, peak memory, and the same for reading the rows into Python with pyarrow
alone, which is what a script would do. The set stays in bench/.cache for the next run.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bowstring.benchmarks.hicupid.data import DIALOGUE_SCHEMA, QA_SCHEMA
from bowstring.benchmarks.loading import load_hicupid

TURNS = {"persona": (25, 10), "profile": (5, 1), "schedule": (10, 1)}
PERSONA = {"category": "food", "relation": "likes", "entity": "plums", "sentiment": "POS"}
PROFILE = dict.fromkeys(("gender", "personality", "occupation", "income_range"), "some") | {"age": "30"}
SCHEDULE = {"datetime": "11 AM on March 13, 2025", "event": "a talk"}
WORDS_A_MESSAGE = 23  # gives about 17k tokens per history


class Writer:
    """Users of words drawn at random, in the published layout and proportions."""

    def __init__(self, root: Path, seed: int = 7) -> None:
        self.root = root
        self.rng = np.random.default_rng(seed)
        mini = load_hicupid("mini")
        said = " ".join(m.text for u in mini.user_ids for d in mini.history(u) for m in d.messages)
        self.words = np.array(said.split())
        self.kinds = ["persona"] * 25 + ["profile"] * 5 + ["schedule"] * 10
        self.rng.shuffle(self.kinds)

    def texts(self, n: int, length: int) -> list[str]:
        return [" ".join(row) for row in self.rng.choice(self.words, (n, length))]

    def dialogues(self, split: str, users: range) -> None:
        (self.root / "dialogue").mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(self.root / "dialogue" / f"{split}.parquet", DIALOGUE_SCHEMA) as writer:
            for user in users:
                kinds = [k for k, (n, _) in TURNS.items() for _ in range(n)]
                self.rng.shuffle(kinds)
                rows = [(user * 40 + d, k) for d, k in enumerate(kinds) for _ in range(TURNS[k][1])]
                columns = {
                    "user_id": [user] * len(rows),
                    "dialogue_id": [d for d, _ in rows],
                    "user": self.texts(len(rows), WORDS_A_MESSAGE),
                    "assistant": self.texts(len(rows), WORDS_A_MESSAGE),
                    "type": [k for _, k in rows],
                }
                writer.write_table(pa.table(columns, schema=DIALOGUE_SCHEMA))

    def questions(self, split: str, users: range, numbers: range) -> None:
        (self.root / "qa").mkdir(parents=True, exist_ok=True)
        n = len(numbers)
        rows = [
            {
                "user_id": user,
                "dialogue_id": [user * 40 + i for i in range(6 if self.kinds[k] == "profile" else 1)],
                "question_id": user * 40 + k,
                "question": q,
                "personalized_answer": a,
                "general_answer": g,
                "type": self.kinds[k],
                "metadata": {
                    "persona": PERSONA if self.kinds[k] != "schedule" else None,
                    "profile": PROFILE if self.kinds[k] == "profile" else None,
                    "schedule": SCHEDULE if self.kinds[k] == "schedule" else None,
                },
            }
            for user in users
            for k, q, a, g in zip(numbers, self.texts(n, 9), self.texts(n, 18), self.texts(n, 18), strict=True)
        ]
        pq.write_table(pa.Table.from_pylist(rows, schema=QA_SCHEMA), self.root / "qa" / f"{split}.parquet")


def build(root: Path, users: int) -> None:
    writer, seen = Writer(root), users * 5 // 6
    writer.dialogues("train", range(seen))
    writer.dialogues("test", range(seen, users))
    writer.questions("train", range(seen), range(32))
    writer.questions("test_1", range(seen), range(32, 40))
    writer.questions("test_2", range(seen, users), range(40))


def build_unseen(root: Path, users: int) -> None:
    """Test users only, with all 40 questions each."""
    writer = Writer(root)
    writer.dialogues("test", range(users))
    writer.questions("test_2", range(users), range(40))


def measure_ours(root: Path) -> dict[str, float]:
    start = time.perf_counter()
    data = load_hicupid(str(root))
    loaded = time.perf_counter()
    questions = data.questions()
    asked = time.perf_counter()
    turns = sum(len(d.messages) // 2 for user in data.user_ids for d in data.history(user))
    walked = time.perf_counter()
    return {
        "load and check": loaded - start,
        "all questions as records": asked - loaded,
        "every history as records once": walked - asked,
        "questions": len(questions),
        "turns": turns,
    }


def measure_rows(root: Path) -> dict[str, float]:
    start = time.perf_counter()
    rows = {str(p): pq.read_table(p).to_pylist() for p in sorted(root.rglob("*.parquet"))}
    return {"read all rows": time.perf_counter() - start, "rows": sum(map(len, rows.values()))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=1500)
    parser.add_argument("--measure", choices=["ours", "rows"], help="(internal) measure in this process")
    args = parser.parse_args()
    root = Path(__file__).parent / ".cache" / f"hicupid-{args.users}"
    if args.measure:
        result = {"ours": measure_ours, "rows": measure_rows}[args.measure](root)
        result["peak MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(result))
        return
    if not (root / "qa" / "test_2.parquet").exists():
        print(f"writing {args.users:,} users into {root} …")
        build(root, args.users)
    for way in ("ours", "rows"):
        command = [sys.executable, __file__, "--users", str(args.users), "--measure", way]
        result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        print({"ours": "bowstring", "rows": "pyarrow to_pylist, unchecked"}[way])
        for name, value in result.items():
            print(f"  {name:32} {value:>12,.2f}")


if __name__ == "__main__":
    main()
