"""Local weights: the prompt says whether an answer begins inside a thought, and tokens say where the thought ends."""

import pytest

import bowstring as package
from bowstring.models.loading import load_weights
from bowstring.models.local import LocalGenerator
from bowstring.models.reasoning import FORMATS, HARMONY
from bowstring.models.rendering import Rendering
from bowstring.models.thoughts import ThoughtTokens
from bowstring.records import Message, Prompt, Sampling, Trunk
from tests.support.tiny import THINKING_TEMPLATE, copy_of, write_model

THINK = FORMATS[0]
MARKS = ("<think>", "</think>")
CHANNELS = ("<|channel|>", "<|message|>", "<|start|>", "<|return|>")
# With and without a space before them.
WORDS = ".so they avoid beetroot.they.  Try.Try lentils. <.\nTry.assistant.analysis.final"
PROMPTS = [
    Prompt(Trunk([]), (Message("user", (text,)),)) for text in ("What should I do", "Where is my brother", "Why")
]


def tokenizer(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model whose template opens a thought, and whose markers are tokens."""
    folder = tmp_path_factory.mktemp("m")
    return write_model(folder, template=THINKING_TEMPLATE, words=WORDS, spaced=True, tokens=(*MARKS, *CHANNELS))


@pytest.fixture(scope="module")
def spelled(tmp_path_factory):
    """The same with markers that are several tokens each."""
    folder = tmp_path_factory.mktemp("s")
    return write_model(folder, template=THINKING_TEMPLATE, words=f"{WORDS}<think></think>", spaced=True)


@pytest.fixture(scope="module")
def plain(folder, tmp_path_factory):
    """The same weights on the plain path."""
    return copy_of(folder, tmp_path_factory.mktemp("p") / "m", sliding_window=4096, use_sliding_window=True)


def generator(folder) -> LocalGenerator:
    import torch

    return LocalGenerator(load_weights(folder, dtype=torch.float32, device="cpu", tell=lambda line: None))


def answers(folder, sampling: Sampling):
    return generator(folder).answer(PROMPTS, [sampling] * len(PROMPTS), lambda: False)


@pytest.mark.parametrize("which", ["folder", "spelled"])
@pytest.mark.parametrize(
    ("text", "opened", "expected"),
    [
        ("so they avoid beetroot.</think>Try lentils.", THINK, ("Try lentils.", "so they avoid beetroot.")),
        ("so they avoid", THINK, ("", "so they avoid")),
        ("<think>so</think> <think>they</think>Try lentils.", None, ("Try lentils.", "so\n\nthey")),
        ("so</think><think>they", THINK, ("", "so\n\nthey")),
        ("<think>so", None, ("", "so")),
        ("so</think>Try<think>they</think> lentils.", THINK, ("Try lentils.", "so\n\nthey")),
        ("<think>so</think>Try", THINK, ("Try", "so")),
        ("Try lentils.<|end|>", None, ("Try lentils.", None)),
        ("", None, ("", None)),
        ("", THINK, ("", None)),
    ],
)
def test_generated_tokens_are_split(which, text, opened, expected, request):
    known = tokenizer(request.getfixturevalue(which))
    assert ThoughtTokens(known).split(known(text)["input_ids"], opened) == expected


@pytest.mark.parametrize("which", ["folder", "spelled"])
def test_a_thought_inside_of_a_thought_is_no_answer(which, request):
    known = tokenizer(request.getfixturevalue(which))
    for text, opened in (
        ("<think>so <think>they</think> avoid</think>Try", None),
        ("so<think>they</think>.</think>Try", THINK),
    ):
        assert ThoughtTokens(known).split(known(text)["input_ids"], opened)[0] == "Try"


def test_channels_are_split_where_special_tokens_are_kept(folder):
    known = tokenizer(folder)
    thoughts = ThoughtTokens(known)
    thought = "<|channel|>analysis<|message|>so they avoid beetroot.<|end|>"
    final = "<|start|>assistant<|channel|>final<|message|>Try lentils.<|return|>"
    for text, expected in (
        (thought + final, ("Try lentils.", "so they avoid beetroot.")),
        (thought, ("", "so they avoid beetroot.")),
        (final, ("Try lentils.", None)),
    ):
        assert thoughts.split(known(text)["input_ids"], None) == expected
    assert thoughts.split(known("so they")["input_ids"], HARMONY) == ("", "so they")


@pytest.mark.parametrize("which", ["folder", "spelled", "plain"])
def test_an_answer_cut_in_the_thought_that_the_template_opened_is_empty(which, request):
    made = request.getfixturevalue(which)
    for answer in answers(made, Sampling(6)):
        assert (answer.text, answer.finish) == ("", "length")
        assert answer.reasoning
    for answer in answers(made, Sampling(6, template_args='{"enable_thinking": false}')):
        assert answer.text
        assert answer.reasoning is None


@pytest.mark.parametrize("which", ["folder", "spelled", "plain"])
@pytest.mark.parametrize("thinking", [0, 5])
def test_a_thought_is_closed_when_its_budget_is_spent(which, thinking, request):
    """The thought is what `generate` gives in so many tokens; the answer is what it gives after the closing marker."""
    import torch
    from transformers import AutoModelForCausalLM

    made = request.getfixturevalue(which)
    model, known = AutoModelForCausalLM.from_pretrained(made, dtype=torch.float32), tokenizer(made)
    rendering, close = Rendering(known), known("</think>")["input_ids"]
    assert len(close) == (4 if which == "spelled" else 1)

    def generated(tokens, n):
        given = torch.tensor([tokens])
        out = model.generate(given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=n)
        return out[0, len(tokens) :].tolist()

    found = answers(made, Sampling(7, temperature=0.0, thinking_tokens=thinking))
    for prompt, answer in zip(PROMPTS, found, strict=True):
        asked = rendering.tokens(prompt)
        thought = generated(asked, thinking) if thinking else []
        said = generated([*asked, *thought, *close], 7)
        assert answer.text == known.decode(said, skip_special_tokens=True).strip() != ""
        assert answer.reasoning == (known.decode(thought).strip() or None)
        assert answer.usage.completion == thinking + len(close) + 7


def test_a_budget_of_thoughts_is_part_of_what_must_fit(folder):
    answering = generator(folder)
    prompt = max(len(answering.rendering.tokens(prompt)) for prompt in PROMPTS)
    answering.limit = prompt + 10
    fits, fails = (
        answering.answer(PROMPTS[:1], [s], lambda: False)[0] for s in (Sampling(9), Sampling(9, thinking_tokens=9))
    )
    assert fits.finish == "length"
    assert fails.kind == "context"


def test_a_template_that_rejects_its_arguments_fails_the_request(tmp_path):
    template = "{% if mode is defined %}{{ raise_exception('no such mode') }}{% endif %}" + THINKING_TEMPLATE
    made = write_model(tmp_path / "m", template=template)
    failed = answers(made, Sampling(4, template_args='{"mode": "x"}'))[0]
    assert (failed.kind, failed.reason) == ("protocol", "its chat template rejects the prompt: no such mode")


def test_what_is_trained_after_a_template_that_opens_a_thought_is_an_answer(folder):
    """The thought is closed first: otherwise a trained model would answer inside of it."""
    rendering, known = Rendering(tokenizer(folder), {2}), tokenizer(folder)
    tokens = rendering.answer("Try lentils.")
    assert known.decode(tokens).startswith("</think>")
    assert rendering.thoughts.split(tokens, THINK) == ("Try lentils.", None)


def test_answers_that_are_all_thought_are_counted_as_empty_and_truncated(folder, tmp_path):
    common = {"limit": 4, "max_tokens": 6, "history": "none"}
    cut = package.evaluate("hicupid", model=f"hf/{folder}", out=tmp_path / "a" / "r", **common)
    assert {(r["answer"], r["finish"]) for r in cut.records()} == {("", "length")}
    assert cut.metrics["failures"]["model"] == {"empty": 4}
    assert cut.metrics["truncated"] == 4
