"""`vllm/…`: what vLLM is asked, and what becomes of its outputs. A stand-in that records its calls takes its place;
vLLM itself is in test_vllm_itself.py, for whoever has it."""

import asyncio
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import pytest

from bowstring.errors import ModelError, UsageError
from bowstring.models.available import availability
from bowstring.models.interface import NotYet, RequestFailed
from bowstring.models.names import open_model
from bowstring.models.rendering import Rendering
from bowstring.records import Completion, Message, Prompt, Sampling, Trunk, Usage
from tests.support.tiny import TEMPLATE, THINKING_TEMPLATE, write_model

LIMIT, LAST = 120, 9


@dataclass
class SamplingParams:
    max_tokens: int = 16
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None


@dataclass(frozen=True)
class LoRARequest:
    lora_name: str
    lora_int_id: int
    lora_path: str


@dataclass
class StandIn:
    """What `vllm.LLM` was given, and how its outputs look."""

    options: dict = field(default_factory=dict)
    prompts: list = field(default_factory=list)
    settings: list = field(default_factory=list)
    adapters: list = field(default_factory=list)
    says: str = ""  # its answer; otherwise the last tokens of the prompt
    then_says: str = ""  # in the second call, if it says something else there
    finish: str = "stop"
    before: Callable[[], str] = str  # called before it generates; what it returns, it breaks with

    def engine(self, model, **options):
        from transformers import AutoTokenizer

        self.options = {"model": model, **options}
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        config = SimpleNamespace(max_model_len=LIMIT)
        return SimpleNamespace(
            llm_engine=SimpleNamespace(model_config=config),
            get_default_sampling_params=lambda: SamplingParams(
                max_tokens=2048, temperature=0.7, top_k=20, top_p=0.8, repetition_penalty=1.05
            ),
            generate=self.generate,
        )

    def generate(self, prompts, sampling_params, *, use_tqdm, lora_request):
        if broken := self.before():
            raise RuntimeError(broken)
        self.prompts.append([prompt["prompt_token_ids"] for prompt in prompts])
        self.settings.append(sampling_params)
        self.adapters.append(lora_request)
        return [self.output(prompt["prompt_token_ids"]) for prompt in prompts]

    def output(self, tokens):
        says = self.then_says if len(self.prompts) > 1 and self.then_says else self.says
        ids = tuple(self.tokenizer(says)["input_ids"] if says else self.echo(tokens))
        made = SimpleNamespace(token_ids=ids, finish_reason=self.finish, stop_reason=None)
        return SimpleNamespace(prompt_token_ids=tokens, num_cached_tokens=len(tokens) // 2, outputs=[made])

    def echo(self, tokens):
        return [token for token in tokens if token not in self.tokenizer.all_special_ids][-LAST:]


@pytest.fixture
def vllm(monkeypatch):
    stand_in = StandIn()
    module, lora, request = ModuleType("vllm"), ModuleType("vllm.lora"), ModuleType("vllm.lora.request")
    module.LLM, module.SamplingParams, module.TokensPrompt = stand_in.engine, SamplingParams, dict
    request.LoRARequest = LoRARequest
    for each in (module, lora, request):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    return stand_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("tiny"))


def write(folder, template=TEMPLATE):
    words = "I like coffee rain 0 1 2.They avoid beetroot.Try lentils."
    return write_model(folder, template=template, words=words, spaced=True, tokens=["<think>", "</think>"])


@pytest.fixture(scope="module")
def thinking(tmp_path_factory):
    """A model whose template opens a thought."""
    return write(tmp_path_factory.mktemp("thinking"), THINKING_TEMPLATE)


@pytest.fixture
def rendering(folder):
    from transformers import AutoTokenizer

    return Rendering(AutoTokenizer.from_pretrained(folder))


def trunk(text: str) -> Trunk:
    return Trunk([Message("system", ("Answer as their friend would",)), Message("user", (text,))])


def prompts(*histories: str, questions: int = 2) -> list[Prompt]:
    """The questions of each history; those of different histories alternate, as they may come."""
    trunks = [trunk(history) for history in histories]
    return [Prompt(t, (Message("user", (f" and {n}",)),)) for n in range(questions) for t in trunks]


def ask(name: str, asked: list[Prompt], *samplings: Sampling) -> list[Completion | Exception]:
    """Everything at once; the last of the settings also for the prompts after it."""

    async def run():
        model = open_model(name)
        settings = [samplings[min(n, len(samplings) - 1)] for n in range(len(asked))]
        coming = [model.complete(prompt, sampling) for prompt, sampling in zip(asked, settings, strict=True)]
        found = await asyncio.gather(*coming, return_exceptions=True)
        await model.close()
        return found

    return asyncio.run(run())


def test_requests_go_out_in_one_call_trunk_by_trunk_and_each_gets_its_own_answer(vllm, folder, rendering):
    asked = prompts("I like tea", "I like coffee", "I like rain", questions=3)
    answers = ask(f"vllm/{folder}", asked, Sampling(10))
    by_trunk = sorted(asked, key=lambda prompt: prompt.trunk.digest)
    assert asked != by_trunk
    assert vllm.prompts == [[rendering.tokens(prompt) for prompt in by_trunk]]
    last = [vllm.tokenizer.decode(vllm.echo(rendering.tokens(prompt))).strip() for prompt in asked]
    assert [answer.text for answer in answers] == last
    assert len(set(last)) == len(asked)


def test_the_prefix_cache_is_on_and_code_of_a_model_is_not_run(vllm, folder):
    ask(f"vllm/{folder}", prompts("I like tea"), Sampling(10))
    assert vllm.options == {"model": str(folder), "enable_prefix_caching": True, "trust_remote_code": False}
    assert vllm.adapters == [None]


def test_each_request_has_its_own_settings_and_what_it_leaves_open_is_the_models(vllm, folder):
    own = {"top_p": 0.8, "repetition_penalty": 1.05}
    sampled = Sampling(12, temperature=0.6, top_k=50, seed=3)
    greedy = Sampling(5, temperature=0.0, top_p=0.5, top_k=0)
    ask(f"vllm/{folder}", prompts("I like tea", questions=3), sampled, greedy, Sampling(9, temperature=None))
    assert vllm.settings == [
        [
            SamplingParams(12, temperature=0.6, top_k=50, seed=3, **own),
            SamplingParams(5, temperature=0.0, top_k=0, **(own | {"top_p": 0.5})),
            SamplingParams(9, temperature=0.7, top_k=20, **own),
        ]
    ]


@pytest.mark.parametrize(
    ("config", "rank"), [({"r": 4}, 8), ({"r": 16, "rank_pattern": {}}, 16), ({"r": 8, "rank_pattern": {"q": 40}}, 64)]
)
def test_an_adapter_is_asked_for_with_every_batch_and_room_is_made_for_its_rank(vllm, folder, tmp_path, config, rank):
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    (tmp_path / "adapter_model.safetensors").touch()
    name = f"vllm/{folder}+{tmp_path}"
    ask(name, prompts("I like tea"), Sampling(10))
    assert (vllm.options["enable_lora"], vllm.options["max_lora_rank"]) == (True, rank)
    assert vllm.adapters == [LoRARequest("adapter", 1, str(tmp_path))]
    weights, precision = open_model(f"vllm/{folder}").identity.split(",")
    label, adapter = f"+{tmp_path.name}#", r"\+[0-9a-f]{12}"
    assert re.fullmatch(f"{re.escape(weights.replace('#', label))}{adapter},{precision}", open_model(name).identity)


def test_a_prompt_that_is_too_long_fails_alone(vllm, folder):
    long, short = prompts("tea " * LIMIT, "I like tea", questions=1)
    failed, answered = ask(f"vllm/{folder}", [long, short], Sampling(10))
    assert isinstance(failed, RequestFailed)
    assert failed.kind == "context"
    assert answered.text
    assert len(vllm.prompts[0]) == 1


def test_a_prompt_that_the_template_refuses_fails_alone(vllm, tmp_path):
    folder = write_model(tmp_path / "m", template="{{ raise_exception('no') if messages|length > 1 else 'Hi' }}")
    trunk, (hi, bye) = Trunk([]), (Message("user", (word,)) for word in ("Hi", "Bye"))
    talk = Prompt(trunk, (hi, Message("assistant", ("Hi",)), bye))
    failed, answered = ask(f"vllm/{folder}", [talk, Prompt(trunk, (hi,))], Sampling(10))
    assert failed.kind == "protocol"
    assert isinstance(answered, Completion)


def test_nothing_is_generated_where_no_prompt_fits(vllm, folder):
    ask(f"vllm/{folder}", prompts("tea " * LIMIT), Sampling(10))
    assert vllm.prompts == []


def test_reasoning_is_kept_apart_and_cached_tokens_are_those_vllm_reports(vllm, folder, rendering):
    vllm.says, vllm.finish = "<think>They avoid beetroot.</think>Try lentils. ", "length"
    [prompt] = prompts("I like tea", questions=1)
    n = len(rendering.tokens(prompt))
    [answer] = ask(f"vllm/{folder}", [prompt], Sampling(20))
    assert answer == Completion("Try lentils.", "length", "They avoid beetroot.", Usage(n, n // 2, 10))


def test_an_answer_cut_in_a_thought_that_the_template_opened_is_empty(vllm, thinking):
    vllm.says, vllm.finish = "They avoid beetroot.", "length"
    [cut] = ask(f"vllm/{thinking}", prompts("I like tea", questions=1), Sampling(4))
    assert (cut.text, cut.finish, cut.reasoning) == ("", "length", "They avoid beetroot.")
    plain = Sampling(4, template_args='{"enable_thinking": false}')
    [answered] = ask(f"vllm/{thinking}", prompts("I like tea", questions=1), plain)
    assert (answered.text, answered.reasoning) == ("They avoid beetroot.", None)


def test_a_thought_whose_budget_is_spent_is_closed_and_the_answer_goes_on(vllm, thinking):
    vllm.says, vllm.finish, vllm.then_says = "They avoid beetroot. They avoid", "length", "Try lentils."
    [prompt] = prompts("I like tea", questions=1)
    [answer] = ask(f"vllm/{thinking}", [prompt], Sampling(9, seed=3, thinking_tokens=4))
    assert (answer.text, answer.reasoning, answer.finish) == ("Try lentils.", "They avoid beetroot.", "length")
    thought, close = (vllm.tokenizer(text)["input_ids"] for text in ("They avoid beetroot.", "</think>"))
    [[first], [second]] = vllm.prompts
    assert second == [*first, *thought, *close]
    assert [settings.max_tokens for [settings] in vllm.settings] == [4, 9]
    assert vllm.settings[0][0].seed == 3 != vllm.settings[1][0].seed


def test_a_thought_that_ends_within_its_budget_takes_one_call(vllm, thinking):
    vllm.says = "They avoid beetroot.</think>Try lentils."
    [answer] = ask(f"vllm/{thinking}", prompts("I like tea", questions=1), Sampling(9, thinking_tokens=20))
    assert (answer.text, answer.reasoning, answer.finish) == ("Try lentils.", "They avoid beetroot.", "stop")
    assert len(vllm.prompts) == 1


def test_an_answer_that_vllm_gave_up_is_none(vllm, folder):
    vllm.finish = "abort"
    [failed] = ask(f"vllm/{folder}", prompts("I like tea", questions=1), Sampling(10))
    assert (failed.kind, failed.reason) == ("server", "vLLM ended with 'abort'")


def test_whatever_vllm_raises_is_one_line_that_names_the_model(vllm, folder):
    vllm.before = lambda: "CUDA error:\n  out of memory"
    found = ask(f"vllm/{folder}", prompts("I like tea"), Sampling(10))
    assert {(type(error), str(error)) for error in found} == {
        (ModelError, f"vllm/{folder}: vLLM failed: CUDA error: out of memory")
    }


def test_an_adapter_whose_configuration_cannot_be_read_is_named(vllm, folder, tmp_path):
    (tmp_path / "adapter_config.json").write_text('{"r": "many"}')
    (tmp_path / "adapter_model.safetensors").touch()
    [error] = ask(f"vllm/{folder}+{tmp_path}", prompts("I like tea", questions=1), Sampling(10))
    assert str(error).startswith(f"vllm/{folder}+{tmp_path} cannot be loaded: ")
    assert "adapter_config.json" in str(error)


def test_a_model_that_was_stopped_sends_nothing_more(vllm, folder):
    async def run():
        model = open_model(f"vllm/{folder}")
        [prompt] = prompts("I like tea", questions=1)
        waiting = asyncio.create_task(model.complete(prompt, Sampling(10)))
        await asyncio.sleep(0)
        model.stop()
        return await asyncio.gather(waiting, model.complete(prompt, Sampling(10)), return_exceptions=True)

    assert [type(found) for found in asyncio.run(run())] == [NotYet, NotYet]
    assert vllm.prompts == []


def test_what_vllm_dies_of_when_it_is_stopped_is_no_failure(vllm, folder):
    """Ctrl-C also reaches vLLM's processes, which end first."""

    async def run():
        model = open_model(f"vllm/{folder}")
        vllm.before = lambda: (model.stop(), "engine core died")[1]
        return await asyncio.gather(model.complete(prompts("I like tea")[0], Sampling(10)), return_exceptions=True)

    assert [type(found) for found in asyncio.run(run())] == [NotYet]


def test_without_vllm_one_line_says_what_to_install(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(UsageError, match=r"^vllm/… needs vLLM: pip install 'bowstring\[vllm\]'$"):
        open_model(f"vllm/{folder}")
    [row] = [row for row in availability() if row.name.startswith("vllm/")]
    assert (row.usable, row.note) == (False, "needs pip install 'bowstring[vllm]'")
