"""Several processes train the same model as one; here two on the CPU, with the full model or half of it each."""

import json

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from bowstring.benchmarks.hicupid.data import evaluation_table
from tests.support.launched import launch
from tests.support.teaching import LEARNS, transcripts, write_judge
from tests.support.training import as_options, small

GIVEN = {"users_per_step": 4, "lr": 1e-3, "limit": 15}


def training(method, folder, users, out):
    options = as_options(**GIVEN, dropout=0.0 if method == "sft" else None)
    return ["train", method, "--model", folder, "--data", users, "--out", out, *options]


@pytest.fixture(scope="module")
def two_processes(folder, users, tmp_path_factory):
    """Each with the whole model: what the commands said, and the folder of what they left."""
    out = tmp_path_factory.mktemp("ddp")
    uneven = ["train", "sft", "--model", folder, "--data", users, "--out", out / "a", *as_options(users_per_step=3)]
    trained = {method: training(method, folder, users, out / method) for method in ("sft", "dpo")}
    return launch("ddp.yaml", out, {"uneven": uneven, **trained}), out


@pytest.fixture(scope="module")
def two_halves(folder, users, tmp_path_factory):
    """The same, each with half of the model."""
    out = tmp_path_factory.mktemp("fsdp")
    trained = {method: training(method, folder, users, out / method) for method in ("sft", "dpo")}
    return launch("fsdp.yaml", out, trained, sharded=True), out


def judge_in_two_halves(out):
    pq.write_table(evaluation_table(transcripts()), out / "t.parquet")
    given = LEARNS | {"packs_per_step": LEARNS["users_per_step"], "users_per_step": None}
    judge = [
        "train", "judge", "--model", write_judge(out / "m"), "--data", out / "t.parquet", "--out", out / "judge",
        "--type", "persona", "--type", "schedule", "--no-checkpointing", *as_options(**given),
    ]  # fmt: skip
    return launch("fsdp.yaml", out, {"judge": judge}, sharded=True)["judge"]


def assert_same_training(found, one):
    record = json.loads((found / "training.json").read_text())
    assert (record["processes"], one.record["processes"]) == (2, 1)
    assert record["counts"] == one.record["counts"]
    packs, steps = (record["counts"][name] for name in ("packs", "steps"))
    assert packs % GIVEN["users_per_step"] == 1, "the last step is to have one pack"
    assert len(record["log"]) == steps == packs // GIVEN["users_per_step"] + 1 > 1
    for line, other in zip(record["log"], one.record["log"], strict=True):
        assert line == pytest.approx(other, rel=1e-4, abs=1e-6)
    weights, wanted = (load_file(path / "adapter_model.safetensors") for path in (found, one.folder))
    assert weights.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(weights[name], value, rtol=0, atol=1e-5)


@pytest.mark.parametrize("launched", ["two_processes", pytest.param("two_halves", marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_two_processes_train_the_adapter_of_one(method, launched, folder, users, tmp_path, request):
    """The last step has one pack, so one process has none."""
    commands, out = request.getfixturevalue(launched)
    ran = commands[method]
    assert ran.code == 0, ran.err
    assert_same_training(out / method, small(method, folder, users, tmp_path / "one", **GIVEN))
    assert sum("Loading" in line for line in ran.err.splitlines()) == 1, "one process speaks for both"
    if launched == "two_halves":
        assert ran.out.count("72 of 72 weights are split") == 2


def test_packs_that_cannot_be_shared_out_evenly_are_refused(two_processes):
    ran = two_processes[0]["uneven"]
    assert ran.code
    assert "--users-per-step 3: expected a multiple of 2 processes" in ran.err.splitlines()


@pytest.mark.slow
def test_a_judge_that_was_trained_in_halves_is_tested_as_a_whole(tmp_path):
    ran = judge_in_two_halves(tmp_path)
    assert ran.code == 0, ran.err
    found = json.loads((tmp_path / "judge" / "training.json").read_text())["held_out"]["by_type"]
    assert all(found[kind]["kappa"]["value"] > 0.9 for kind in ("persona", "schedule"))
