"""`hf/…`: local weights, decoded as trees, give the same answers as each prompt alone."""

import json

import pytest

import bowstring as package
from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.loading import load_hicupid
from bowstring.errors import DataError, UsageError
from bowstring.models.loading import load_weights, no_tree_reason
from bowstring.models.local import ROOM, LocalGenerator, _with_adapter
from bowstring.records import Message, Prompt, Sampling, Trunk
from bowstring.tree.packing import split_batches
from tests.support.command import bowstring_process
from tests.support.tiny import TEMPLATE, copy_of, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("tiny"))


def alone(folder, messages, n: int) -> str:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    template = TEMPLATE.replace("strftime_now('%d %b %Y')", "'26 Jul 2024'")
    ids = tokenizer.apply_chat_template(messages, chat_template=template, add_generation_prompt=True, return_dict=False)
    given = torch.tensor([ids])
    out = model.generate(given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=n)
    return tokenizer.decode(out[0, len(ids) :], skip_special_tokens=True).strip()


def test_answers_are_those_of_each_question_alone_and_the_trunk_is_read_once(folder, tmp_path):
    ran = bowstring_process(
        "eval", "hicupid", "--model", f"hf/{folder}", "--temperature", "0", "--max-tokens", "12", "--limit", "10",
        "--out", tmp_path / "r", env={"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in (tmp_path / "r" / "records.jsonl").read_text().splitlines()]
    found = json.loads((tmp_path / "r" / "metrics.json").read_text())
    usage = found["usage"]["model"]
    assert usage["cached_tokens"] / usage["prompt_tokens"] > 0.85
    assert usage["shareable_tokens"] >= usage["cached_tokens"]
    instruction = _instruction()
    history = [{"role": m.role, "content": m.text} for d in load_hicupid("mini").history(0) for m in d.messages]
    for row in rows[:4]:
        messages = [{"role": "system", "content": instruction}, *history, {"role": "user", "content": row["question"]}]
        assert row["answer"] == alone(folder, messages, 12)


def _instruction() -> str:

    return HICUPID.prompts().get("hicupid/ask").system_text(examples="")


def test_sampling_is_repeatable_and_does_not_depend_on_the_company(folder, tmp_path):
    def answers(out, **more):
        run = package.evaluate(
            "hicupid", model=f"hf/{folder}", max_tokens=8, out=tmp_path / out / "r", history="last:2", **more
        )
        return {r["key"]: r["answer"] for r in run.records()}

    ten = answers("ten", limit=10)
    three = answers("three", limit=3)
    assert three == {key: ten[key] for key in three}


def test_branches_for_which_there_is_no_room_are_decoded_in_lots(folder, tmp_path, monkeypatch):
    common = {"limit": 10, "max_tokens": 8, "temperature": 0.0, "history": "gold"}
    whole = package.evaluate("hicupid", model=f"hf/{folder}", out=tmp_path / "a" / "r", **common)
    monkeypatch.setattr("bowstring.models.local.ROOM", 500)
    parts = package.evaluate("hicupid", model=f"hf/{folder}", out=tmp_path / "b" / "r", **common)
    assert [r["answer"] for r in parts.records()] == [r["answer"] for r in whole.records()]
    assert parts.metrics["failed"] == 0


def test_lots_hold_no_more_than_there_is_room_for():
    assert split_batches([30] * 64, ROOM) == [list(range(64))]
    lengths = [4000, 100, 3000, 90, 4000, 200, 70_000] * 9
    lots = split_batches(lengths, ROOM)
    assert sorted(n for lot in lots for n in lot) == list(range(len(lengths)))
    assert all(len(lot) == 1 or len(lot) * max(lengths[n] for n in lot) <= 65_536 for lot in lots)
    assert len(lots) == 9 + 3, "what cannot be with others is alone"


def test_a_prompt_that_is_too_long_fails_alone(tmp_path):
    short = write_model(tmp_path / "short")
    config = json.loads((short / "config.json").read_text())
    (short / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 64}))
    run = package.evaluate("hicupid", model=f"hf/{short}", limit=2, max_tokens=8, out=tmp_path / "r")
    assert {r["failure"]["kind"] for r in run.records()} == {"context"}


def test_a_template_without_a_system_turn_gets_its_text_in_the_users(tmp_path):
    template = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + TEMPLATE
    folder = write_model(tmp_path / "m", template=template)
    run = package.evaluate("hicupid", model=f"hf/{folder}", limit=2, max_tokens=4, history="none", out=tmp_path / "r")
    assert run.metrics["failed"] == 0


def test_an_adapter_changes_the_answers(folder, tmp_path):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(folder),
        LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False, task_type="CAUSAL_LM"),
    )
    model.save_pretrained(tmp_path / "adapter")
    common = {"limit": 4, "max_tokens": 8, "temperature": 0.0, "history": "last:2"}
    base = package.evaluate("hicupid", model=f"hf/{folder}", out=tmp_path / "a" / "r", **common)
    tuned = package.evaluate("hicupid", model=f"hf/{folder}+{tmp_path / 'adapter'}", out=tmp_path / "b" / "r", **common)
    assert [r["answer"] for r in base.records()] != [r["answer"] for r in tuned.records()]
    assert base.metrics["config"]["model"] != tuned.metrics["config"]["model"]


@pytest.mark.parametrize(("dtype", "beside"), [("float32", False), ("bfloat16", True)])
def test_a_small_adapter_is_not_rounded_away(dtype, beside, folder, tmp_path):
    """Half of what DPO changes is smaller than the last digit of a weight in half precision."""
    import torch
    from peft import LoraConfig, get_peft_model

    def weights():
        return load_weights(folder, dtype=torch.float32, device="cpu", tell=lambda line: None).model

    made = get_peft_model(weights(), LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"))
    for name, weight in made.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=1e-6)
    made.save_pretrained(tmp_path / "adapter")
    found = _with_adapter(weights().to(getattr(torch, dtype)), tmp_path / "adapter")
    trained = {name: weight for name, weight in found.named_parameters() if "lora_B" in name}
    assert bool(trained) == beside
    for name, weight in trained.items():
        assert weight.dtype == torch.bfloat16
        torch.testing.assert_close(weight.float(), made.get_parameter(name), rtol=2**-8, atol=0)
    if not beside:
        at = "model.layers.0.mlp.up_proj.weight"
        moved = found.get_parameter(at) - weights().get_parameter(at)
        assert moved.abs().max() > 0


def test_code_that_comes_with_a_model_is_not_run(folder, tmp_path, monkeypatch):
    """Not even where transformers would ask, and be told to."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    path = copy_of(folder, tmp_path / "m", model_type="strange", auto_map={"AutoConfig": "strange.StrangeConfig"})
    ran = tmp_path / "ran"
    (path / "strange.py").write_text(
        f"from pathlib import Path\nfrom transformers import LlamaConfig\nPath({str(ran)!r}).touch()\n\n"
        "class StrangeConfig(LlamaConfig):\n    model_type = 'strange'\n"
    )
    with pytest.raises(DataError, match="the model cannot be loaded"):
        load_weights(path, dtype=None, device="cpu", tell=lambda line: None)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sliding_window": 16}, "window"),
        ({"layer_types": ["full_attention", "sliding_attention", "full_attention"]}, "sliding_attention"),
        ({"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}}, "dynamic RoPE"),
    ],
)
def test_what_a_tree_would_get_wrong_takes_the_plain_path(changed, said):
    from transformers import LlamaConfig

    config = LlamaConfig()
    for name, value in changed.items():
        setattr(config, name, value)
    assert said in no_tree_reason(config)


def test_the_plain_path_answers_and_says_so(tmp_path):
    folder = write_model(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"sliding_window": 4096, "use_sliding_window": True}))
    told: list[str] = []
    run = package.evaluate(
        "hicupid", model=f"hf/{folder}", limit=2, max_tokens=4, history="none", out=tmp_path / "r", tell=told.append
    )
    assert run.metrics["failed"] == 0
    assert any("one prompt at a time" in line for line in told)


def test_a_model_with_an_encoder_answers_on_the_plain_path_and_is_not_trained(folder, tmp_path):
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    path = copy_of(folder, tmp_path / "m")
    known = len(json.loads((path / "tokenizer.json").read_text())["model"]["vocab"])
    torch.manual_seed(0)
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": 4096}
    heads = {f"{side}_attention_heads": 4 for side in ("encoder", "decoder")}
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    model = BartForConditionalGeneration(BartConfig(vocab_size=known, init_std=1.0, **sizes, **heads, **ends)).eval()
    model.save_pretrained(path)
    weights = load_weights(path, dtype=torch.float32, device="cpu", tell=lambda line: None)
    assert weights.no_tree_reason == "it is not decoder-only"
    prompt = Prompt(Trunk([]), (Message("user", ("What should I do on Sunday with my brother",)),))
    [answer] = LocalGenerator(weights).answer([prompt], [Sampling(6, temperature=0.0)], lambda: False)
    given = torch.tensor([weights.rendering.tokens(prompt)])
    wanted = model.generate(given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=6)[0]
    assert answer.text == weights.tokenizer.decode(wanted, skip_special_tokens=True).strip() != ""
    with pytest.raises(UsageError, match="is not a decoder-only model; only decoder-only models can be trained"):
        package.train("sft", data="mini/hicupid", model=str(path), out=tmp_path / "a", splits=("test_1",))


def test_a_folder_that_is_no_model_is_named(tmp_path):
    (tmp_path / "m").mkdir()
    with pytest.raises(DataError, match="the model cannot be loaded"):
        package.evaluate("hicupid", model=f"hf/{tmp_path / 'm'}", limit=1, out=tmp_path / "r")
