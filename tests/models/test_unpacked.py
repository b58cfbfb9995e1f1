"""hf/embedded: the unpacked weights in PyTorch match the model that llama.cpp runs."""

import asyncio

from bowstring.models.names import open_model
from bowstring.models.unpacked import unpacked_folder
from bowstring.records import Message, Prompt, Sampling, Trunk

ASKED = ("What is the capital of France?", "How many legs has a horse? Answer with a number.")


def answers(name: str) -> list[tuple[str, int]]:
    async def ask() -> list[tuple[str, int]]:
        model = open_model(name)
        trunk = Trunk([Message("system", ("You answer in one short sentence.",))], branches=len(ASKED))
        prompts = [Prompt(trunk, (Message("user", (text,)),)) for text in ASKED]
        try:
            found = await asyncio.gather(*(model.complete(p, Sampling(6, temperature=0.0)) for p in prompts))
        finally:
            await model.close()
        return [(completion.text, completion.usage.prompt) for completion in found]

    return asyncio.run(ask())


def test_the_same_weights_say_the_same():
    assert answers("hf/embedded") == answers("embedded")


def test_it_is_unpacked_once():
    first = unpacked_folder()
    before = (first / "model.safetensors").stat().st_mtime_ns
    said: list[str] = []
    assert unpacked_folder(said.append) == first
    assert (first / "model.safetensors").stat().st_mtime_ns == before
    assert said == []
