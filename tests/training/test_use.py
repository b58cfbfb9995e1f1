"""A trained adapter is used like any model, and answers as trained."""

import asyncio

import pytest
from transformers import AutoTokenizer

from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.hicupid.training import hicupid_examples
from bowstring.benchmarks.loading import load_hicupid
from bowstring.models.names import open_model
from bowstring.records import Completion, Prompt, Sampling
from bowstring.training.settings import settings_for
from tests.support.tiny import write_model
from tests.support.training import small


async def ask(name: str, prompts: list[Prompt]) -> list[Completion]:
    model = open_model(name)
    try:
        return await asyncio.gather(*(model.complete(prompt, Sampling(60)) for prompt in prompts))
    finally:
        await model.close()


@pytest.mark.parametrize("window", [None, 4096])
def test_an_adapter_that_was_taught_two_answers_gives_them(window, tmp_path):
    # With weights so large that the last layer, which is not trained, can be sure of a token.
    model = write_model(tmp_path / "m", initializer_range=0.3, sliding_window=window)
    taught = {"history": "none", "limit": 2, "splits": ("test_1",)}
    small(
        "sft", model, "mini/hicupid", tmp_path / "a", **taught,
        rank=16, alpha=32, lr=2e-2, grad_norm=1.0, epochs=100, users_per_step=1, checkpointing=False,
    )  # fmt: skip
    data = load_hicupid("mini", splits=taught["splits"])
    examples = hicupid_examples(data, settings_for("sft", **taught), HICUPID.prompts())
    examples = [example for group in examples.groups() for example in group]
    tokenizer = AutoTokenizer.from_pretrained(model)
    # In the words that it has.
    wanted = [tokenizer.decode(tokenizer(e.answer)["input_ids"], skip_special_tokens=True).strip() for e in examples]

    prompts = [example.prompt for example in examples]
    told = asyncio.run(ask(f"hf/{model}+{tmp_path / 'a'}", prompts))
    assert [completion.text for completion in told] == wanted
    assert {completion.finish for completion in told} == {"stop"}, "it has learned to end, too"
    assert [completion.text for completion in asyncio.run(ask(f"hf/{model}", prompts))] != wanted
