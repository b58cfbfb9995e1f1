"""Losses and gradients match TRL's trainers on the same token ids."""

import math
from dataclasses import replace

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from bowstring.training.objectives import Dpo, Sft, by_answer, log_probabilities, to_batch
from bowstring.training.packs import pack_all
from bowstring.tree.layers import NAME, register
from datasets import Dataset
from tests.support.ordinary import assert_same, gradients, random_users
from tests.support.tiny import tiny_model

register()
BETA = 0.25


@pytest.fixture(scope="module")
def tokenizer():
    """Each id is a word, so that TRL's trainers, which want text, get our ids."""
    words = Tokenizer(models.WordLevel({f"<{n}>": n for n in range(97)}, unk_token="<1>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<0>", unk_token="<1>", eos_token="<2>")


def text(ids) -> str:
    return "".join(f"<{n}> " for n in ids)


def settings(kind, folder, **more):
    return kind(
        output_dir=str(folder),
        per_device_train_batch_size=16,
        max_length=None,
        gradient_checkpointing=False,
        report_to="none",
        use_cpu=True,
        bf16=False,
        remove_unused_columns=False,
        disable_tqdm=True,
        **more,
    )


def batch_of(trainer, users):
    """All there is, in one batch of TRL's; with the token ids that we have."""
    batch = trainer._prepare_inputs(next(iter(trainer.get_train_dataloader())))
    rows = [row[row != 0].tolist() for row in batch["input_ids"]]
    assert sorted(rows) == sorted([*e.prompt, *answer] for group in users for e in group for answer in e.answers)
    return batch


def examples_that_end(**more):
    """Answers end with the tokenizer's end, as TRL has them."""
    return [
        [replace(e, answers=tuple((*answer, 2) for answer in e.answers)) for e in group]
        for group in random_users(5, 3, 1, **more)
    ]


def ours(model, objective, users):
    batches = [to_batch(pack) for pack in pack_all(users, branches=3, max_length=512, seed=0).packs]
    loss = sum(objective.loss(model, batch)[0] for batch in batches)
    return loss / sum(objective.count(batch) for batch in batches)


def test_sft_is_that_of_trl_on_completions(tokenizer, tmp_path):
    users = examples_that_end()
    rows = [{"prompt": text(e.prompt), "completion": text(e.answers[0][:-1])} for g in users for e in g]
    trl = SFTTrainer(
        tiny_model("llama").train(),
        settings(SFTConfig, tmp_path, completion_only_loss=True),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    wanted = trl.compute_loss(trl.model, batch_of(trl, users))
    wanted.backward()

    model = tiny_model("llama", attn_implementation=NAME).train()
    loss = ours(model, Sft("token"), users)
    loss.backward()
    torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-6)
    assert_same(gradients(model), gradients(trl.model))


def test_dpo_is_that_of_trl_with_a_frozen_reference(tokenizer, tmp_path):
    users = examples_that_end(answers=2)
    rows = [
        {"prompt": text(e.prompt), "chosen": text(e.answers[0][:-1]), "rejected": text(e.answers[1][:-1])}
        for g in users
        for e in g
    ]
    start, moved = tiny_model("llama"), tiny_model("llama")
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in moved.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    state = {name: value.clone() for name, value in moved.state_dict().items()}
    trl = DPOTrainer(
        moved.train(),
        start,
        settings(DPOConfig, tmp_path, beta=BETA),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    wanted = trl.compute_loss(trl.model, batch_of(trl, users))
    wanted.backward()

    model = tiny_model("llama", attn_implementation=NAME).train()
    with torch.no_grad():
        kept = {}
        for pack in pack_all(users, branches=3, max_length=512, seed=0).packs:
            batch = to_batch(pack)
            pairs = by_answer(log_probabilities(model, batch, without_tree=False), batch).view(-1, 2)
            kept |= dict(zip(pack.keys, pairs.tolist(), strict=True))
    model.load_state_dict(state)
    loss = ours(model, Dpo(BETA, kept), users)
    loss.backward()
    assert abs(wanted.item() - math.log(2)) > 0.01
    torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-5)
    assert_same(gradients(model), gradients(trl.model), rounding=1e-3)
