"""DPO: the reference is the initial model, and a collapse is detected."""

import copy
import json
import math
from dataclasses import replace

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.hicupid.training import hicupid_examples
from bowstring.benchmarks.loading import load_hicupid
from bowstring.errors import RunError, UsageError
from bowstring.models.loading import load_weights
from bowstring.training.objectives import Dpo, to_batch
from bowstring.training.packs import pack_all, tokenize_groups
from bowstring.training.reference import reference
from bowstring.training.settings import settings_for
from bowstring.training.watching import Watcher
from bowstring.tree.layers import NAME, register
from tests.support.command import bowstring_process
from tests.support.ordinary import assert_same, dpo_loss, gradients, log_probability, random_users
from tests.support.tiny import FAMILIES, copy_of, tiny_model, write_model
from tests.support.training import Interrupted, as_options, interrupt_at, small, trainer_on

register()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("shape", "trees"), [({}, [1, 1, 1]), ({"trunk": 2, "rest": (20, 30)}, [2, 2, 1])])
def test_loss_and_gradients_are_those_of_separate_pairs(family, shape, trees):
    """Pairs after one trunk, or after their own trunks if prompts share little."""
    users = random_users(4, 1, answers=2, **shape)
    examples = [example for group in users for example in group]
    start, model = tiny_model(family), tiny_model(family, seed=0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    wanted = dpo_loss(model, start, examples, beta=0.3)
    wanted.backward()
    expected = gradients(model)

    with torch.no_grad():
        kept = {e.key: tuple(log_probability(start, e.prompt, a).item() for a in e.answers) for e in examples}
    model.set_attn_implementation(NAME)
    objective = Dpo(0.3, kept)
    packs = pack_all(users, branches=3, max_length=512, seed=0).packs
    assert [len(pack.trees) for pack in packs] == trees
    loss = sum(objective.loss(model, to_batch(pack))[0] for pack in packs) / len(examples)
    loss.backward()
    assert abs(wanted.item() - math.log(2)) > 0.01
    torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-5)
    assert_same(gradients(model), expected, rounding=1e-3)


def test_several_rejected_answers_are_as_many_pairs():
    """One to three rejected answers behind one question: the loss and the gradients of the pairs, each by itself."""
    (users,) = random_users(5, answers=4)
    examples = [replace(e, answers=e.answers[: 2 + n % 3]) for n, e in enumerate(users)]
    alone = [
        replace(e, key=f"{e.key}/{n}", answers=(e.answers[0], wrong))
        for e in examples
        for n, wrong in enumerate(e.answers[1:])
    ]
    start, model = tiny_model("llama"), tiny_model("llama", seed=0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    wanted = dpo_loss(model, start, alone, beta=0.3)
    wanted.backward()
    expected = gradients(model)

    with torch.no_grad():
        kept = {e.key: [log_probability(start, e.prompt, a).item() for a in e.answers] for e in examples}
    model.set_attn_implementation(NAME)
    objective = Dpo(0.3, kept)
    batches = [to_batch(pack) for pack in pack_all([examples], branches=3, max_length=512, seed=0).packs]
    assert sum(map(objective.count, batches)) == len(alone) == 9
    loss = sum(objective.loss(model, batch)[0] for batch in batches) / len(alone)
    loss.backward()
    assert abs(wanted.item() - math.log(2)) > 0.01
    torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-5)
    assert_same(gradients(model), expected, rounding=1e-3)


def test_what_is_said_of_a_step_is_the_mean_over_its_pairs(tmp_path):
    """Three packs in one step, of 3, 2 and 1 pairs, compared with a reference that is off by known amounts."""
    users = random_users(3, 2, 1, answers=2)
    packs = pack_all(users, branches=3, max_length=512, seed=0).packs
    trainer = trainer_on(tiny_model("llama", attn_implementation=NAME), packs, [0, 1, 2], 3, None, tmp_path)
    start = reference(trainer, tmp_path, without_tree=False)
    keys = sorted(start, key=int)
    off = {key: (0.001 * n, -0.002) for n, key in enumerate(keys)}
    shifted = {key: (start[key][0] - off[key][0], start[key][1] - off[key][1]) for key in keys}
    trainer.objective = Dpo(0.1, shifted)
    trainer.train()
    said = next(line for line in trainer.state.log_history if "margin" in line)
    lengths = {e.key: len(e.answers[0]) for group in users for e in group}
    better = [0.1 * off[key][0] for key in keys]
    assert said["chosen_reward"] == pytest.approx(sum(better) / 6, abs=2e-6)
    assert said["rejected_reward"] == pytest.approx(-0.0002, abs=2e-6)
    assert said["margin"] == pytest.approx(sum(better) / 6 + 0.0002, abs=3e-6)
    assert said["chosen_change"] == pytest.approx(sum(off[key][0] / lengths[key] for key in keys) / 6, abs=2e-6)
    assert said["accuracy"] == 1.0


def test_the_first_loss_is_that_of_no_preference_and_the_base_stays_as_it_is(folder, users, tmp_path):
    before = (folder / "model.safetensors").read_bytes()
    trained = small("dpo", folder, users, tmp_path / "a", lr=1e-2)
    log = trained.record["log"]
    assert log[0]["loss"] == pytest.approx(math.log(2), abs=1e-6)
    assert {log[0][name] for name in ("margin", "chosen_change", "chosen_reward", "rejected_reward")} == {0.0}
    assert all(line["loss"] != pytest.approx(math.log(2), abs=1e-6) for line in log[1:])
    assert trained.record["loss"].endswith("the mean over a step's pairs")
    assert not (trained.folder / "reference.json").exists()
    assert (folder / "model.safetensors").read_bytes() == before


def test_a_start_that_is_not_the_references_is_refused(folder, users, tmp_path):
    with pytest.raises(Interrupted):
        small("dpo", folder, users, tmp_path / "a", watch=interrupt_at(1))
    kept = json.loads((tmp_path / "a" / "reference.json").read_text())
    changed = {key: [better - 1, worse] for key, (better, worse) in kept.items()}
    (tmp_path / "a" / "reference.json").write_text(json.dumps(changed))
    with pytest.raises(RunError, match=r"DPO's first loss is 0\.6444, not ln 2 = 0\.6931"):
        small("dpo", folder, users, tmp_path / "a")


def test_wrong_options_are_rejected_from_the_first_step_to_a_resume(folder, users, tmp_path):
    """The kinds and the file of options are part of what was trained; a resumed training is the same."""
    given = {"rejected": ("wrong", "general"), "lr": 1e-2}
    whole = small("dpo", folder, users, tmp_path / "a", **given)
    assert whole.record["log"][0]["loss"] == pytest.approx(math.log(2), abs=1e-6)
    assert whole.record["configuration"]["rejected"] == ("wrong", "general")
    assert whole.record["configuration"]["choices_fingerprint"]
    with pytest.raises(Interrupted):
        small("dpo", folder, users, tmp_path / "b", **given, watch=interrupt_at(2), save_every=1)
    with pytest.raises(UsageError, match="contains another training"):
        small("dpo", folder, users, tmp_path / "b", lr=1e-2)
    resumed = small("dpo", folder, users, tmp_path / "b", **given, save_every=1)
    assert resumed.record["log"] == whole.record["log"]
    other = small("dpo", folder, users, tmp_path / "c", lr=1e-2)
    assert "choices_fingerprint" not in other.record["configuration"]
    assert other.record["log"][-1]["loss"] != whole.record["log"][-1]["loss"]


def test_a_models_own_dropout_is_off(folder, users, tmp_path):
    noisy = copy_of(folder, tmp_path / "m", attention_dropout=0.5, sliding_window=4096)
    quiet = copy_of(folder, tmp_path / "n", sliding_window=4096)
    with_it, without = (small("dpo", m, users, tmp_path / m.name / "a", limit=3) for m in (noisy, quiet))
    assert with_it.record["log"] == without.record["log"]


def test_behind_sft_the_reference_is_sfts_adapter_without_its_dropout(folder, users, tmp_path):
    sft = small("sft", folder, users, tmp_path / "sft", lr=3e-2, dropout=0.3)
    with pytest.raises(Interrupted):
        small("dpo", folder, users, tmp_path / "dpo", init_from=str(sft.folder), limit=3, watch=interrupt_at(1))
    kept = json.loads((tmp_path / "dpo" / "reference.json").read_text())

    data = load_hicupid(str(users), splits=["train"])
    rendering = load_weights(folder, dtype=torch.float32, device="cpu", tell=lambda line: None).rendering
    examples = hicupid_examples(data, settings_for("dpo", limit=3), HICUPID.prompts())
    tokens = [example for group in tokenize_groups(examples.groups(), rendering) for example in group]
    base = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    adapted = PeftModel.from_pretrained(copy.deepcopy(base), str(sft.folder)).eval()
    assert {e.key for e in tokens} == kept.keys()
    with torch.no_grad():
        for e in tokens:
            wanted, bare = ([log_probability(m, e.prompt, a).item() for a in e.answers] for m in (adapted, base))
            assert kept[e.key] == pytest.approx(wanted, rel=1e-5)
            assert kept[e.key] != pytest.approx(bare, rel=1e-3)


def test_a_collapse_is_told_and_stops_the_training_if_it_should(users, tmp_path):
    """A model that knows the answers, and steps so long that it forgets them."""
    told: list[str] = []
    model = write_model(tmp_path / "m", initializer_range=0.1)
    knows = small("sft", model, users, tmp_path / "sft", lr=3e-2, epochs=2, grad_norm=5.0)
    broken = {"lr": 0.3, "epochs": 2, "grad_norm": 100.0, "init_from": str(knows.folder), "tell": told.append}
    warned = small("dpo", model, users, tmp_path / "a", **broken)
    at = warned.record["collapsed_at"]
    (line,) = [line for line in told if line.startswith("Collapse")]
    assert line.startswith(f"Collapse at step {at}: chosen answers lost ")
    assert line.endswith("Try a lower --lr, or SFT first (--init-from).")
    assert warned.complete
    assert len(warned.record["log"]) == warned.record["counts"]["steps"] > at

    stopped = small("dpo", model, users, tmp_path / "b", **broken, stop_on_collapse=True)
    assert stopped.record["status"] == "collapsed"
    assert not stopped.complete
    assert stopped.record["collapsed_at"] == len(stopped.record["log"]) == at


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_loss_that_is_no_number_is_a_collapse(method, folder, users, tmp_path):
    trained = small(method, folder, users, tmp_path / "a", lr=1e30, stop_on_collapse=True)
    assert trained.record["status"] == "collapsed"
    written = json.loads((tmp_path / "a" / "training.json").read_text(), parse_constant=pytest.fail)
    assert written["log"][-1]["loss"] is None
    assert written["collapsed_at"] == written["log"][-1]["step"] < written["counts"]["steps"]


def test_a_single_bad_step_is_no_collapse():
    watcher = Watcher(lambda step: None, lambda line: None, stop_on_collapse=True)
    for n, change in enumerate([0.1, -4.0, -0.1, 0.0, 0.0, -0.2, -0.2, -0.2, -0.2], 1):
        assert watcher.record_step(n, {"loss": 0.7, "chosen_change": change})
    assert watcher.collapsed is None
    changes = [-1.0, -1.5, -1.5, -1.5]
    assert [watcher.record_step(n, {"loss": 0.1, "chosen_change": c}) for n, c in enumerate(changes, 10)][-1] is False


def test_margins_that_explode_are_a_collapse():
    said = []
    watcher = Watcher(lambda step: None, said.append, stop_on_collapse=False)
    for n, margin in enumerate([10.0, 20.0, 40.0, 45.0, 60.0, 90.0], 1):
        assert watcher.record_step(n, {"loss": 0.0, "chosen_change": 0.1, "margin": margin})
    assert watcher.collapsed == 6
    assert said == ["Collapse at step 6: margins explode, margin 90.0. Try a lower --lr, or SFT first (--init-from)."]


@pytest.mark.slow
def test_in_half_precision_the_reference_is_the_start_too(folder, users, tmp_path):
    """Trainer leaves the precision to accelerate: a reference outside of it would be of another model."""
    first = small("sft", folder, users, tmp_path / "sft", lr=3e-2, epochs=2, limit=6)
    ran = bowstring_process(
        "train", "dpo", "--model", folder, "--data", users, "--out", tmp_path / "dpo", "--init-from", first.folder,
        *as_options(precision="bf16", limit=6, rank=None, alpha=None, dropout=None),
        env={"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"},  # some virtual machines announce AMX, and cannot run it
    )  # fmt: skip
    assert ran.code == 0, ran.err
    log = json.loads((tmp_path / "dpo" / "training.json").read_text())["log"]
    assert log[0]["loss"] == pytest.approx(math.log(2), abs=1e-6)
