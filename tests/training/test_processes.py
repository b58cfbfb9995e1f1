"""Several processes train what one would; here two, on the CPU, each with the whole model or with half of it."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from bowstring.benchmarks.hicupid.data import evaluation_table
from tests.support.teaching import LEARNS, transcripts, write_judge
from tests.support.training import as_options, small

ROOT = Path(__file__).parents[2]


def launched(recipe: str, module: str, *arguments) -> subprocess.CompletedProcess[str]:
    """With our own configuration of accelerate, on two processes."""
    launch = ("accelerate.commands.launch", "--config_file", ROOT / "recipes" / "accelerate" / recipe)
    words = (*launch, "--num_processes", 2, "--main_process_port", 0, "-m", module, *arguments)
    return subprocess.run(
        [sys.executable, "-m", *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )


def two_processes(*arguments) -> subprocess.CompletedProcess[str]:
    return launched("ddp.yaml", "bowstring", *arguments)


def two_halves(*arguments) -> subprocess.CompletedProcess[str]:
    return launched("fsdp.yaml", "tests.support.sharded", *arguments)


def assert_same_training(found, one):
    record = json.loads((found / "training.json").read_text())
    assert (record["processes"], one.record["processes"]) == (2, 1)
    assert record["counts"] == one.record["counts"]
    assert record["counts"]["packs"] == 9
    assert len(record["log"]) == 3
    for line, other in zip(record["log"], one.record["log"], strict=True):
        assert line == pytest.approx(other, rel=1e-4, abs=1e-6)
    weights, wanted = (load_file(path / "adapter_model.safetensors") for path in (found, one.folder))
    assert weights.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(weights[name], value, rtol=0, atol=1e-5)


@pytest.mark.parametrize("launch", [two_processes, two_halves])
@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_two_processes_train_the_adapter_of_one(method, launch, folder, users, tmp_path):
    """Nine packs, four a step: in the last step there is one, and a process that has none."""
    given = {"users_per_step": 4, "lr": 1e-3}
    ran = launch(
        "train", method, "--model", folder, "--data", users, "--out", tmp_path / "two",
        *as_options(**given, dropout=0.0 if method == "sft" else None),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert_same_training(tmp_path / "two", small(method, folder, users, tmp_path / "one", **given))
    assert sum("Loading" in line for line in ran.stderr.splitlines()) == 1, "one process speaks for both"
    if launch is two_halves:
        assert ran.stdout.count("72 of 72 weights are split") == 2


def test_packs_that_cannot_be_shared_out_evenly_are_refused(folder, users, tmp_path):
    ran = two_processes(
        "train", "sft", "--model", folder, "--data", users, "--out", tmp_path / "a", *as_options(users_per_step=3)
    )
    assert ran.returncode
    assert "--users-per-step 3: expected a multiple of 2 processes" in ran.stderr.splitlines()


def test_a_judge_that_was_trained_in_halves_is_tested_as_a_whole(tmp_path):
    model = write_judge(tmp_path / "m")
    pq.write_table(evaluation_table(transcripts()), tmp_path / "t.parquet")
    given = LEARNS | {"packs_per_step": LEARNS["users_per_step"], "users_per_step": None}
    ran = two_halves(
        "train", "judge", "--model", model, "--data", tmp_path / "t.parquet", "--out", tmp_path / "a",
        "--type", "persona", "--type", "schedule", "--no-checkpointing", *as_options(**given),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = json.loads((tmp_path / "a" / "training.json").read_text())["held_out"]["by_type"]
    assert all(found[kind]["kappa"]["value"] > 0.9 for kind in ("persona", "schedule"))
