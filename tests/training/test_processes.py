"""Several processes train what one would; here two, on the CPU."""

import json
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from tests.support.training import as_options, small


def two_processes(*arguments) -> subprocess.CompletedProcess[str]:
    # As `accelerate launch` does it on GPUs; on CPUs it wants MPI.
    launch = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "bowstring")
    return subprocess.run(
        [sys.executable, *launch, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_two_processes_train_the_adapter_of_one(method, folder, users, tmp_path):
    """Nine packs, four a step: in the last step there is one, and a process that has none."""
    given = {"users_per_step": 4, "lr": 1e-3}
    ran = two_processes(
        "train", method, "--model", folder, "--data", users, "--out", tmp_path / "two",
        *as_options(**given, dropout=0.0 if method == "sft" else None),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    one = small(method, folder, users, tmp_path / "one", **given)
    record = json.loads((tmp_path / "two" / "training.json").read_text())
    assert (record["processes"], one.record["processes"]) == (2, 1)
    assert record["counts"] == one.record["counts"]
    assert record["counts"]["packs"] == 9
    assert len(record["log"]) == 3
    for line, other in zip(record["log"], one.record["log"], strict=True):
        assert line == pytest.approx(other, rel=1e-4, abs=1e-6)
    found, wanted = (load_file(tmp_path / name / "adapter_model.safetensors") for name in ("two", "one"))
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=1e-5)
    assert sum("Loading" in line for line in ran.stderr.splitlines()) == 1, "one process speaks for both"


def test_packs_that_cannot_be_shared_out_evenly_are_refused(folder, users, tmp_path):
    ran = two_processes(
        "train", "sft", "--model", folder, "--data", users, "--out", tmp_path / "a", *as_options(users_per_step=3)
    )
    assert ran.returncode
    assert "--users-per-step 3: expected a multiple of 2 processes" in ran.stderr.splitlines()
