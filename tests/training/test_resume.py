"""An interrupted training resumes and gives the same result as an uninterrupted one."""

import errno
import json
import shutil
import signal
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from bowstring.errors import DataError, UsageError
from bowstring.runs.folder import RunFolder
from bowstring.training.arguments import last_checkpoint, steps_between_checkpoints
from tests.support.training import Interrupted, as_options, interrupt_at, small

LONG = {"epochs": 3.0, "lr": 1e-2, "save_every": 1}


# The command, with SIGKILL as soon as it has left a checkpoint.
KILLED = """
import os, signal, sys
from transformers.trainer_callback import CallbackHandler
from bowstring.cli import main

CallbackHandler.on_save = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""


def assert_same_training(one, other):
    """Equal up to rounding: sums may have another order in another process."""
    found, wanted = (load_file(trained.folder / "adapter_model.safetensors") for trained in (one, other))
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=5e-6)
    for line, same in zip(one.record["log"], other.record["log"], strict=True):
        assert line == pytest.approx(same, rel=1e-4, abs=1e-5)


def test_a_killed_training_comes_out_like_one_that_was_not(folder, users, tmp_path):
    """Killed as a command and resumed as a call: the same training, with the same dropout."""
    given = LONG | {"dropout": 0.2}
    command = ["train", "sft", "--model", folder, "--data", users, "--out", tmp_path / "a", *as_options(**given)]
    ended = subprocess.run([sys.executable, "-c", KILLED, *map(str, command)], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert last_checkpoint(tmp_path / "a" / "checkpoints") is not None
    assert json.loads((tmp_path / "a" / "training.json").read_text())["status"] == "running"
    assert not (tmp_path / "a" / "adapter_model.safetensors").exists()

    told: list[str] = []
    again = small("sft", folder, users, tmp_path / "a", **given, tell=told.append)
    assert any(line.startswith("Resuming from step ") for line in told)
    whole = small("sft", folder, users, tmp_path / "b", **given)
    assert_same_training(again, whole)
    assert sorted(p.name for p in again.folder.iterdir()) == sorted(p.name for p in whole.folder.iterdir())


def test_dpo_goes_on_against_the_reference_of_its_start(folder, users, tmp_path):
    given = {"lr": 1e-2, "save_every": 2}
    with pytest.raises(Interrupted):
        small("dpo", folder, users, tmp_path / "a", **given, watch=interrupt_at(4))
    kept = json.loads((tmp_path / "a" / "reference.json").read_text())
    seen: list[dict] = []

    def look(news):
        seen.append(json.loads((tmp_path / "a" / "reference.json").read_text()))

    again = small("dpo", folder, users, tmp_path / "a", **given, watch=look)
    assert len(seen) == again.record["counts"]["steps"] - 2
    assert all(reference == kept for reference in seen)
    assert_same_training(again, small("dpo", folder, users, tmp_path / "b", **given))


def test_a_checkpoint_that_was_not_written_to_its_end_is_passed_over(folder, users, tmp_path):
    given = LONG | {"limit": 7}
    with pytest.raises(Interrupted):
        small("sft", folder, users, tmp_path / "a", **given, watch=interrupt_at(4))
    checkpoints = tmp_path / "a" / "checkpoints"
    assert sorted(p.name for p in checkpoints.iterdir()) == ["checkpoint-2", "checkpoint-3"]
    (checkpoints / "checkpoint-3" / "trainer_state.json").unlink()
    (checkpoints / "checkpoint-3" / "adapter_model.safetensors").write_bytes(b"half")
    told: list[str] = []
    again = small("sft", folder, users, tmp_path / "a", **given, tell=told.append)
    assert "Resuming from step 2." in told
    assert_same_training(again, small("sft", folder, users, tmp_path / "b", **given))


@pytest.mark.parametrize(("steps", "between"), [(1, 1), (7, 1), (40, 4), (41, 5), (499, 50), (1000, 50), (9000, 50)])
def test_a_tenth_of_the_steps_is_between_two_checkpoints_and_at_most_fifty(steps, between):
    assert steps_between_checkpoints(steps) == between


def test_a_short_training_leaves_checkpoints_without_being_told_to(folder, users, tmp_path):
    given = {"limit": 4, "epochs": 20.0, "lr": 1e-2}
    with pytest.raises(Interrupted):
        small("sft", folder, users, tmp_path / "a", **given, watch=interrupt_at(15))
    steps = json.loads((tmp_path / "a" / "training.json").read_text())["counts"]["steps"]
    assert steps == 20
    found = sorted(p.name for p in (tmp_path / "a" / "checkpoints").iterdir())
    assert found == ["checkpoint-12", "checkpoint-14"]
    told: list[str] = []
    again = small("sft", folder, users, tmp_path / "a", **given, tell=told.append)
    assert "Resuming from step 14." in told
    assert not any(line.startswith("No checkpoint yet") for line in told)
    assert_same_training(again, small("sft", folder, users, tmp_path / "b", **given))


def test_a_training_without_a_checkpoint_says_that_it_begins_anew(folder, users, tmp_path):
    given = {"limit": 4, "epochs": 4.0}
    told: list[str] = []
    with pytest.raises(Interrupted):
        small(
            "sft", folder, users, tmp_path / "a", **given, save_every=50, watch=interrupt_at(2), tell=told.append
        )  # fmt: skip
    assert not any(line.startswith("No checkpoint yet") for line in told), "nothing was interrupted before it"
    again = small("sft", folder, users, tmp_path / "a", **given, tell=told.append)
    assert told[-1] == "No checkpoint yet: starting at step 1."
    assert len(again.record["log"]) == 4


def test_checkpoints_every_zero_steps_are_none(folder, users, tmp_path):
    with pytest.raises(UsageError, match="--save-every 0: expected a whole number of at least 1"):
        small("sft", folder, users, tmp_path / "a", save_every=0)


def test_a_finished_training_is_left_alone_and_another_is_not_mixed_into_it(folder, users, tmp_path):
    short = {"limit": 4, "lr": 1e-2}
    first = small("sft", folder, users, tmp_path / "a", **short)
    before = {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in first.folder.iterdir()}
    told: list[str] = []
    again = small("sft", folder, users, tmp_path / "a", **short, save_every=7, tell=told.append)
    assert told[-1] == f"{tmp_path / 'a'} is already trained; use --fresh to train it again."
    assert again.record == json.loads((tmp_path / "a" / "training.json").read_text())
    with pytest.raises(
        UsageError, match="contains another training; choose another --out, or use --fresh to replace it"
    ):
        small("sft", folder, users, tmp_path / "a", **short, seed=1)
    assert {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in first.folder.iterdir()} == before
    fresh = small("sft", folder, users, tmp_path / "a", **short, seed=1, fresh=True)
    assert fresh.record["configuration"]["seed"] == 1


def test_a_training_that_could_not_begin_leaves_its_folder_free(folder, users, tmp_path):
    first = small("sft", folder, users, tmp_path / "first", limit=4)
    (first.folder / "adapter_model.safetensors").write_bytes(b"half")
    with pytest.raises(DataError, match="the model cannot be loaded"):
        small("sft", folder, users, tmp_path / "a", limit=4, init_from=str(first.folder))
    assert not (tmp_path / "a" / "training.json").exists()
    told: list[str] = []
    assert small("sft", folder, users, tmp_path / "a", limit=2, tell=told.append).complete
    assert not any("takes its place" in line for line in told)


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_training_that_ended_before_its_first_checkpoint_gives_way_to_another(method, folder, users, tmp_path):
    with pytest.raises(Interrupted):
        small(method, folder, users, tmp_path / "a", limit=4, save_every=50, watch=interrupt_at(1))
    told: list[str] = []
    again = small(method, folder, users, tmp_path / "a", limit=8, tell=told.append)
    assert f"The training that was started in {tmp_path / 'a'} left no checkpoint; it is replaced." in told
    assert again.record["configuration"]["limit"] == 8
    assert_same_training(again, small(method, folder, users, tmp_path / "b", limit=8))


@pytest.mark.parametrize("has", ["somebody at work", "a checkpoint", "half a checkpoint", "an adapter", "no locks"])
def test_a_training_that_has_something_to_lose_does_not_give_way(has, folder, users, tmp_path, monkeypatch):
    with pytest.raises(Interrupted):
        small("sft", folder, users, tmp_path / "a", limit=4, save_every=50, watch=interrupt_at(1))
    at_work = RunFolder(tmp_path / "a") if has == "somebody at work" else None
    if has.endswith("checkpoint"):
        (tmp_path / "a" / "checkpoints" / "checkpoint-1").mkdir(parents=True)
    if has == "a checkpoint":
        (tmp_path / "a" / "checkpoints" / "checkpoint-1" / "trainer_state.json").write_text("{}")
    if has == "an adapter":
        (tmp_path / "a" / "adapter_model.safetensors").touch()
    if has == "no locks":

        def refuse(*_):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", refuse)
    before = (tmp_path / "a" / "training.json").read_bytes()
    with pytest.raises(
        UsageError, match="contains another training; choose another --out, or use --fresh to replace it"
    ):
        small("sft", folder, users, tmp_path / "a", limit=2)
    assert (tmp_path / "a" / "training.json").read_bytes() == before
    if at_work is not None:
        at_work.close()


def test_changed_weights_are_another_training(folder, users, tmp_path):
    model = shutil.copytree(folder, tmp_path / "m")
    small("sft", model, users, tmp_path / "a", limit=4)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"rms_norm_eps": 1e-3}))
    with pytest.raises(UsageError, match="contains another training"):
        small("sft", model, users, tmp_path / "a", limit=4)
