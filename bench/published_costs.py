"""The costs in docs/reproducing.md: dry runs on offline sets of the published size.

    python bench/published_costs.py WORDS [FOLDER]

WORDS is the folder of the imported prompts of both benchmarks. Prints the rows of the page's tables and the numbers in
its text, and writes all numbers to bench/published_costs.json, with a hash of what the generators make: a test fails
when they make something else, or when the page has other numbers. Sets in FOLDER are used again.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

RECORDED = Path(__file__).with_suffix(".json")
GPT = ("--judge", "openai/gpt-4o-2024-11-20")
MINI = "openai/gpt-4o-mini"
# Of the published size, and small ones whose hash stands for the generator.
SETS = {"hicupid": ("--users", "1500"), "cupid": ("--personas", "252")}
SMALL = {"hicupid": ("--users", "6"), "cupid": ("--personas", "2")}
_HISTORY_TOKENS = {"hicupid": "tokens per history", "cupid": "tokens per log"}
_SEARCHES = [f"bm25/{unit}/{k}" for unit, ks in (("utterance", (5, 15, 25)), ("dialogue", (1, 3, 5))) for k in ks]

HICUPID: dict[str, tuple[str, ...]] = {
    "zero-shot": (),
    "3-shot": ("--shots", "3"),
    "user instruction": ("--instruction", "user"),
    "user instruction, 3-shot": ("--instruction", "user", "--shots", "3"),
    "gold dialogues": ("--history", "gold"),
    "six BM25 searches": tuple(word for search in _SEARCHES for word in ("--history", search)),
}
# In the text below the table, on test_1.
HICUPID_ALONE: dict[str, tuple[str, ...]] = {
    **{search: ("--history", search) for search in ("bm25/utterance/5", "bm25/utterance/25", "bm25/dialogue/5")},
    "batch": ("--batch",),
}
CUPID: dict[str, tuple[str, ...]] = {
    "both tasks | gpt-4o-mini": ("--model", MINI),
    "both tasks | gpt-4o-2024-11-20": ("--model", "openai/gpt-4o-2024-11-20"),
    "both tasks | claude-3-7-sonnet-20250219, 1,024 thinking tokens": (
        *("--model", "anthropic/claude-3-7-sonnet-20250219", "--temperature", "1", "--thinking-tokens", "1024"),
    ),
    "inference | gpt-4o-mini": ("--model", MINI, "--task", "inference"),
    "generation | gpt-4o-mini": ("--model", MINI, "--task", "generation"),
    "relevant sessions only | gpt-4o-mini": ("--model", MINI, "--history", "gold"),
    "summaries | gpt-4o-mini": ("--model", MINI, "--history", "summary"),
    "prefmatcher-7b as matcher | gpt-4o-mini": (
        *("--model", MINI, "--matcher", "openai/kixlab/prefmatcher-7b@http://localhost:8000/v1"),
    ),
}


def main(words: Path, folder: Path) -> None:
    found: dict[str, Any] = {"generators": fingerprints(), "tokens": {}, "hicupid": {}, "alone": {}, "cupid": {}}
    for benchmark, size in SETS.items():
        if not (folder / benchmark / "made.json").is_file():
            _bowstring(folder, "synth", benchmark, "--offline", *size, "--out", str(folder / benchmark))
        described = json.loads(_bowstring(folder, "data", "info", f"./{benchmark}", "--json"))
        found["tokens"][benchmark] = round(described["lengths"][_HISTORY_TOKENS[benchmark]]["mean"])
    common = ("--protocol", "published", "--prompts", str(words.resolve()), *GPT, "--dry-run", "--json")

    def plan(benchmark: str, *more: str) -> dict[str, Any]:
        said = _bowstring(folder, "eval", benchmark, "--data", f"./{benchmark}", *common, *more)
        print(benchmark, *more, file=sys.stderr, flush=True)
        return json.loads(said)["roles"]

    for name, more in HICUPID.items():
        for split in ("test_1", "test_2"):
            found["hicupid"][f"{name} | {split}"] = plan("hicupid", "--split", split, "--model", MINI, *more)
    for name, more in HICUPID_ALONE.items():
        found["alone"][name] = plan("hicupid", "--split", "test_1", "--model", MINI, *more)
    for name, more in CUPID.items():
        found["cupid"][name] = plan("cupid", *more)
    RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(*rows(found), *sentences(found), sep="\n")


def rows(found: Mapping[str, Any]) -> Iterator[str]:
    """The rows of the page's two tables."""
    for name, roles in found["hicupid"].items():
        setting, split = name.split(" | ")
        model, judge = roles["model"], roles["judge"]
        shown = setting if split == "test_1" else ""
        tokens = f"{_millions(model['prompt_tokens'])} | {_millions(model['after_sharing'])}"
        yield " ".join(f"| {shown} | `{split}` | {tokens} | {_both(model)} | {_both(judge)} |".split())
    before = ""
    for name, roles in found["cupid"].items():
        setting, who = name.split(" | ")
        model = roles["model"]
        cost, judge = _money(model["cost"]), _money(roles["judge"]["cost"])
        if "history" in roles:
            stage = roles["history"]
            cost += f", and {_money(stage['cost'])} for {stage['requests']:,} summaries"
        if "matcher" in roles:
            judge += f"; {roles['matcher']['requests']:,} requests to the matcher"
        shown = "" if setting == before else setting
        tokens = f"{model['requests']:,} | {_millions(model['prompt_tokens'])}"
        yield " ".join(f"| {shown} | {who} | {tokens} | {cost} | {judge} |".split())
        before = setting


def sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """The numbers in the page's text."""
    alone = found["alone"]
    few, many, whole = (_money(alone[f"bm25/{search}"]["model"]["cost"]) for search in _ALONE)
    yield f"`utterance/5` costs {few}, `utterance/25` {many} and `dialogue/5` {whole}"
    batch = alone["batch"]
    yield f"costs {_money(batch['model']['cost'])} for the model and {_money(batch['judge']['cost'])} for GPT-4o"
    yield f"histories of {found['tokens']['hicupid']:,} tokens"
    yield f"logs of {found['tokens']['cupid']:,} tokens"
    judge = found["hicupid"]["zero-shot | test_1"]["judge"]
    yield f"{judge['requests']:,} requests and {_millions(judge['prompt_tokens'])} prompt tokens"


_ALONE = ("utterance/5", "utterance/25", "dialogue/5")


def fingerprints() -> dict[str, str]:
    """A hash of small sets, by benchmark: it changes if a generator makes something else."""
    found = {}
    for benchmark, size in SMALL.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _bowstring(folder, "synth", benchmark, "--offline", *size, "--out", str(folder / "set"))
            whole = hashlib.sha256()
            for path in sorted((folder / "set").rglob("*.parquet")):
                whole.update(json.dumps(pq.read_table(path).to_pylist(), sort_keys=True, default=str).encode())
            found[benchmark] = whole.hexdigest()
    return found


def _bowstring(folder: Path, *arguments: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "bowstring", *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {ran.stderr}")
    return ran.stdout


def _millions(tokens: float) -> str:
    return f"{tokens / 1e6:.1f}M"


def _money(cost: float) -> str:
    return f"${cost:.2f}"


def _both(role: Mapping[str, Any]) -> str:
    return f"{_money(role['cost'])} / {_money(role['cost_unshared'])}"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()))
