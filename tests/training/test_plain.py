"""Models that cannot use tree attention are trained one example at a time, with the same result."""

import pytest
from safetensors.torch import load_file

from tests.support.ordinary import assert_same
from tests.support.tiny import copy_of
from tests.support.training import small


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_window_longer_than_the_text_changes_nothing_but_the_way(method, folder, users, tmp_path):
    """All examples in one step: packs of up to two, or of one."""
    windowed = copy_of(folder, tmp_path / "windowed", sliding_window=4096)
    told: list[str] = []
    packed = small(method, folder, users, tmp_path / "a", users_per_step=10, lr=1e-2)
    plain = small(method, windowed, users, tmp_path / "b", users_per_step=10, lr=1e-2, tell=told.append)
    assert any("examples are trained one at a time: its sliding-window attention" in line for line in told)
    assert plain.record["plain"] == "its sliding-window attention depends on token indices"
    assert packed.record["plain"] is None
    counts = plain.record["counts"]
    assert packed.record["counts"]["packs"] < counts["packs"] == counts["examples"] <= 20
    assert [t.record["counts"]["steps"] for t in (packed, plain)] == [1, 1]
    one, other = (t.record["log"][0] for t in (packed, plain))
    assert other["loss"] == pytest.approx(one["loss"], rel=1e-6)
    assert other["grad_norm"] == pytest.approx(one["grad_norm"], rel=1e-4)
    assert_same(*(load_file(t.folder / "adapter_model.safetensors") for t in (plain, packed)), rounding=1e-3)


def test_a_short_window_is_kept_to(folder, users, tmp_path):
    """A model of another family: the tiny one of ours has no windows, whatever its configuration says."""
    mistral = {"model_type": "mistral", "architectures": ["MistralForCausalLM"]}
    long, short = (copy_of(folder, tmp_path / f"window {n}", **mistral | {"sliding_window": n}) for n in (4096, 8))
    losses = [
        small("sft", model, users, tmp_path / name, users_per_step=10).record["log"][0]["loss"]
        for name, model in (("tree", folder), ("long", long), ("short", short))
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    assert losses[2] != pytest.approx(losses[0], rel=1e-3)
