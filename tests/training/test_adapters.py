"""Adapter folders: missing files are reported, and never looked up on the hub."""

import json

import pytest

from tests.support.command import bowstring
from tests.support.hub import Hub
from tests.support.training import SMALL, Interrupted, as_options, interrupt_at, small


@pytest.fixture(scope="module")
def unfinished(folder, users, tmp_path_factory):
    """A training that was stopped in the middle."""
    path = tmp_path_factory.mktemp("adapters") / "t1"
    with pytest.raises(Interrupted):
        small("sft", folder, users, path, limit=4, save_every=1, epochs=4, watch=interrupt_at(2))
    return path


@pytest.fixture
def asked(tmp_path):
    """Run the command among relative names, beside a hub that nobody is to ask for anything."""

    def call(*words):
        with Hub({}) as hub:
            ran = bowstring(*words, env=hub.env(tmp_path / "home"), cwd=tmp_path)
        assert hub.asked == []
        return ran

    return call


def uses(folder, users):
    of_adapter = {"rank": None, "alpha": None}  # it brings its own
    options = as_options(**of_adapter)
    no_dropout = as_options(**of_adapter, dropout=None)
    return {
        "sft": ["train", "sft", "--model", folder, "--data", users, "--out", "new", *options, "--init-from"],
        "dpo": ["train", "dpo", "--model", folder, "--data", users, "--out", "new", *no_dropout, "--init-from"],
        "eval": ["eval", "hicupid", "--limit", "1", "--max-tokens", "4", "--model"],
    }


@pytest.mark.parametrize("use", ["sft", "dpo", "eval"])
@pytest.mark.parametrize(
    ("holds", "said"),
    [
        ([], "noad is not an adapter: it has no adapter_config.json"),
        (
            ["adapter_config.json"],
            "noad has no adapter weights (adapter_model.safetensors or adapter_model.bin)",
        ),
    ],
)
def test_a_folder_without_an_adapter_is_not_sought_on_the_hub(use, holds, said, asked, folder, users, tmp_path):
    (tmp_path / "noad").mkdir()
    config = {"peft_type": "LORA", "r": SMALL["rank"], "target_modules": ["q_proj"], "task_type": "CAUSAL_LM"}
    for name in holds:
        (tmp_path / "noad" / name).write_text(json.dumps(config))
    ran = asked(*uses(folder, users)[use], f"hf/{folder}+noad" if use == "eval" else "noad")
    assert (ran.code, ran.err.splitlines()) == (2, [said])
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("use", ["sft", "eval"])
def test_a_training_that_has_not_finished_is_no_adapter_yet(use, asked, unfinished, folder, users, tmp_path):
    (tmp_path / "t1").symlink_to(unfinished)
    ran = asked(*uses(folder, users)[use], f"hf/{folder}+t1" if use == "eval" else "t1")
    assert (ran.code, ran.err.splitlines()) == (2, ["t1 has not finished training; run its training command again"])


def test_an_adapter_that_is_whole_is_used_without_a_word_to_the_hub(asked, folder, users, tmp_path):
    small("sft", folder, users, tmp_path / "a", limit=4)
    ran = asked(*uses(folder, users)["sft"], "a", "--limit", "2")
    assert ran.code == 0, ran.err
    ran = asked(*uses(folder, users)["eval"], f"hf/{folder}+new")
    assert ran.code == 0, ran.err
