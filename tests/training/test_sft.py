"""SFT on packs equals SFT on separate examples: the same loss, gradients and step."""

import json
from functools import partial

import pytest
import torch
from safetensors.torch import load_file

from bowstring.training.objectives import Sft, to_batch
from bowstring.training.packs import pack_all
from bowstring.tree.layers import NAME, register
from tests.support.command import bowstring_process
from tests.support.ordinary import assert_same, gradients, random_users, sft_loss
from tests.support.tiny import FAMILIES, tiny_model
from tests.support.training import as_options, small, trainer_on

register()


@pytest.mark.parametrize("at_a_time", [1, 2, 4])
@pytest.mark.parametrize("normalise", ["token", "answer"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_steps_loss_and_gradients_are_those_of_separate_examples(family, normalise, at_a_time):
    users = random_users(5, 3, 1)
    model = tiny_model(family)
    wanted = sft_loss(model, [example for group in users for example in group], normalise)
    wanted.backward()
    expected = gradients(model)

    model.set_attn_implementation(NAME)
    objective = Sft(normalise)
    packs = pack_all(users, branches=3, max_length=512, seed=0).packs
    assert len(packs) == 4
    batches = [to_batch(*packs[n : n + at_a_time]) for n in range(0, 4, at_a_time)]
    count = sum(objective.count(batch) for batch in batches)
    loss = sum(objective.loss(model, batch)[0] for batch in batches) / count
    loss.backward()
    torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-5)
    assert_same(gradients(model), expected)


def test_the_size_of_a_forward_pass_changes_nothing_but_the_way(folder, users, tmp_path):
    """One pack per pass, and all packs of a step in one."""
    given = {"users_per_step": 4, "lr": 1e-2}
    alone, together = (
        small("sft", folder, users, tmp_path / str(n), **given, tokens_at_once=n).record for n in (1, 100_000)
    )
    assert alone["fingerprint"] == together["fingerprint"]
    for one, other in zip(alone["log"], together["log"], strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("normalise", ["token", "answer"])
def test_steps_over_several_packs_are_those_of_a_batch_of_separate_examples(normalise, tmp_path):
    """Five packs, three per step: the second step has two."""
    users = random_users(4, 3, 2)
    packs = pack_all(users, branches=2, max_length=512, seed=0).packs
    order = [4, 0, 2, 1, 3]
    trainer = trainer_on(tiny_model("llama", attn_implementation=NAME), packs, order, 3, Sft(normalise), tmp_path)
    start = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.train()
    found = trainer.model.state_dict()

    ordinary = trainer_on(tiny_model("llama"), packs, order, 3, None, tmp_path).model
    ordinary.load_state_dict(start)
    descent = torch.optim.SGD([p for p in ordinary.parameters() if p.requires_grad], lr=0.1)
    by_key = {example.key: example for group in users for example in group}
    losses = []
    for step in (order[:3], order[3:]):
        loss = sft_loss(ordinary, [by_key[key] for n in step for key in packs[n].keys], normalise)
        loss.backward()
        descent.step()
        descent.zero_grad()
        losses.append(loss.item())
    logged = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    assert logged == pytest.approx(losses, rel=1e-5)
    wanted = ordinary.state_dict()
    learned = {name for name in wanted if "lora_" in name}
    assert all(not torch.equal(wanted[name], start[name]) for name in learned if "lora_B" in name)
    assert_same(*({name: state[name] - start[name] for name in learned} for state in (found, wanted)))
    for name in found.keys() - learned:
        assert torch.equal(found[name], start[name]), f"{name} is not of the adapter"


def test_checkpointing_does_not_change_what_is_learned(folder, users, tmp_path):
    kept, again = (
        small("sft", folder, users, tmp_path / name, checkpointing=on, limit=6, lr=1e-2)
        for name, on in (("a", False), ("b", True))
    )
    assert_same(*(load_file(trained.folder / "adapter_model.safetensors") for trained in (again, kept)))
    for one, two in zip(kept.record["log"], again.record["log"], strict=True):
        assert one == pytest.approx(two, rel=1e-5)


def test_bfloat16_learns_the_same_but_for_its_rounding(folder, users, tmp_path):
    exact = small("sft", folder, users, tmp_path / "float32", limit=6, lr=1e-2).record
    ran = bowstring_process(
        "train", "sft", "--model", folder, "--data", users, "--out", tmp_path / "bf16",
        *as_options(precision="bf16", limit=6, lr=1e-2),
        # Some virtual machines announce AMX, and cannot run it.
        env={"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"},
    )  # fmt: skip
    assert ran.code == 0, ran.err
    rough = json.loads((tmp_path / "bf16" / "training.json").read_text())
    losses = [[line["loss"] for line in record["log"]] for record in (exact, rough)]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
    assert losses[0] != pytest.approx(losses[1], rel=1e-5)
    assert {t.dtype for t in load_file(tmp_path / "bf16" / "adapter_model.safetensors").values()} == {torch.float32}


def test_training_goes_on_from_an_adapter(folder, users, tmp_path):
    first = small("sft", folder, users, tmp_path / "first", lr=3e-2, epochs=2, dropout=0.1)
    on = small("sft", folder, users, tmp_path / "on", lr=1e-9, init_from=str(first.folder))
    before, after = (load_file(trained.folder / "adapter_model.safetensors") for trained in (first, on))
    assert_same(after, before, rounding=1e-5)
    assert on.record["log"][0]["loss"] < first.record["log"][0]["loss"] - 0.2
    assert json.loads((on.folder / "adapter_config.json").read_text())["lora_dropout"] == 0.0


def test_tensorboards_curves_stay_beside_the_adapter(folder, users, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trained = small("sft", folder, users, tmp_path / "a", limit=6, tensorboard=True)
    curves = EventAccumulator(str(trained.folder / "tensorboard"))
    curves.Reload()
    seen = [event.value for event in curves.Scalars("train/loss")]
    assert seen == pytest.approx([line["loss"] for line in trained.record["log"]])


def test_where_prompts_share_little_packs_hold_fewer_and_a_step_takes_more(folder, users, tmp_path, monkeypatch):
    given = {"history": "gold", "branches": 8, "users_per_step": 2}
    told: list[str] = []
    whole = small("sft", folder, users, tmp_path / "a", **given)
    monkeypatch.setattr("bowstring.api.train.pack_all", partial(pack_all, longest=600))
    parts = small("sft", folder, users, tmp_path / "b", **given, tell=told.append)
    before, after = whole.record["counts"], parts.record["counts"]
    assert before["packs_per_step"] == 2
    assert after["packs_per_step"] > 2
    assert after["examples"] == before["examples"]
    assert abs(after["steps"] - before["steps"]) <= 1, "of as many examples"
    assert any("packs hold fewer questions and a step has more packs" in line for line in told)
