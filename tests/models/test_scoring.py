"""Options are scored as branches of a tree, and each score is that of the option alone, in transformers and float32."""

import asyncio
import json

import pytest

from bowstring.models.interface import RequestFailed, can_score
from bowstring.models.local import LocalModel
from bowstring.models.scores import Scores, scoring
from bowstring.records import Message, Prompt, Sampling, Trunk
from tests.support.tiny import FAMILIES, THINKING_TEMPLATE, tiny_model, write_model

HISTORY = tuple(
    Message(role, (text,))
    for role, text in [("system", "You help."), ("user", "I like soup. " * 20), ("assistant", "Good.")]
)
QUESTIONS = ["What should I cook?", "What is good to eat with a friend?"]
PLAIN = Sampling(0)
OPTIONS = ["Since you like soup, make a soup.", "Since you like soup, make a salad with bread.", "Go out."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("tiny"), words=" ".join([*QUESTIONS, *OPTIONS]))


def alone(folder, messages, option: str, opening: str = "") -> tuple[float, int]:
    """The log-probability of an option, computed by transformers from this prompt alone."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    template = tokenizer.chat_template.replace("strftime_now('%d %b %Y')", "'26 Jul 2024'")
    prompt = tokenizer.apply_chat_template(messages, chat_template=template, add_generation_prompt=True, tokenize=False)
    given = tokenizer(prompt + opening, add_special_tokens=False)["input_ids"]
    tokens = tokenizer(option, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        likely = model(torch.tensor([given + tokens])).logits[0].log_softmax(-1)
    values = [likely[len(given) - 1 + n, token].item() for n, token in enumerate(tokens)]
    return sum(values), len(tokens)


def scored(folder, options=OPTIONS, sampling=PLAIN, questions=QUESTIONS, history=HISTORY) -> list[Scores]:
    async def run():
        model = LocalModel(str(folder))
        assert can_score(model)
        trunk = Trunk(history, branches=len(questions))
        prompts = [Prompt(trunk, (Message("user", (q,)),)) for q in questions]
        found = await asyncio.gather(*(model.score(prompt, options, sampling) for prompt in prompts))
        await model.close()
        return found

    return asyncio.run(run())


def chat(question: str) -> list[dict[str, str]]:
    return [*({"role": m.role, "content": m.text} for m in HISTORY), {"role": "user", "content": question}]


def test_the_score_of_an_option_is_that_of_the_option_alone(folder):
    for question, scores in zip(QUESTIONS, scored(folder), strict=True):
        for option, value, n in zip(OPTIONS, scores.log_probabilities, scores.tokens, strict=True):
            expected, length = alone(folder, chat(question), option)
            assert n == length
            assert value == pytest.approx(expected, abs=1e-3, rel=1e-5)


def test_the_trunk_of_all_questions_is_read_once(folder):
    first, second = scored(folder)
    assert first.usage.cached == 0
    assert second.usage.cached > 5


def test_prompts_that_share_little_are_trees_of_their_own(folder, monkeypatch):
    """Otherwise what a search found for a question would be read once for each option."""
    from bowstring.tree import scoring as on_tree

    trees = []
    score = on_tree.score
    monkeypatch.setattr(on_tree, "score", lambda model, pairs, **more: trees.append(len(pairs)) or score(model, pairs))
    questions = ["I like soup and bread. " * 8 + "Go out?", "Make a salad. " * 12 + "What to cook?"]
    apart = scored(folder, questions=questions, history=HISTORY[:1])
    assert trees == [len(OPTIONS)] * 2
    for question, scores in zip(questions, apart, strict=True):
        expected, _ = alone(folder, [chat(question)[0], chat(question)[-1]], OPTIONS[1])
        assert scores.log_probabilities[1] == pytest.approx(expected, abs=1e-3)
    trees.clear()
    scored(folder)
    assert trees == [2 * len(OPTIONS)]


def test_what_is_scored_together_does_not_matter(folder, monkeypatch):
    whole = scored(folder)
    monkeypatch.setattr("bowstring.models.local.ROOM", 30)
    parts = scored(folder)
    assert [s.tokens for s in parts] == [s.tokens for s in whole]
    for one, other in zip(whole, parts, strict=True):
        assert other.log_probabilities == pytest.approx(one.log_probabilities, abs=1e-3)


def test_options_that_begin_alike_or_are_equal_have_the_scores_that_they_have_alone(folder):
    (scores,) = scored(folder, [OPTIONS[0], OPTIONS[0], f"{OPTIONS[0]} Go out."], questions=QUESTIONS[:1])
    assert scores.log_probabilities[0] == pytest.approx(scores.log_probabilities[1], abs=1e-4)
    assert scores.log_probabilities[0] == pytest.approx(alone(folder, chat(QUESTIONS[0]), OPTIONS[0])[0], abs=1e-3)


def test_a_model_without_a_tree_has_the_same_scores(folder, monkeypatch):
    as_tree = scored(folder)
    monkeypatch.setattr("bowstring.models.loading.no_tree_reason", lambda config: "of a trial")
    one_by_one = scored(folder)
    for one, other in zip(as_tree, one_by_one, strict=True):
        assert other.log_probabilities == pytest.approx(one.log_probabilities, abs=1e-3)


def test_a_thought_that_the_template_opens_is_closed_and_is_not_scored(tmp_path):
    folder = write_model(
        tmp_path / "m", template=THINKING_TEMPLATE, words=" ".join([*QUESTIONS, *OPTIONS]),
        tokens=["<think>", "</think>"],
    )  # fmt: skip
    (scores,) = scored(folder, questions=QUESTIONS[:1])
    expected, n = alone(folder, chat(QUESTIONS[0]), OPTIONS[0], opening="</think>\n\n")
    assert (scores.tokens[0], scores.log_probabilities[0]) == (n, pytest.approx(expected, abs=1e-3))
    (closed,) = scored(
        folder, sampling=Sampling(0, template_args='{"enable_thinking": false}'), questions=QUESTIONS[:1]
    )
    assert closed.tokens == scores.tokens
    assert closed.log_probabilities == pytest.approx(scores.log_probabilities, abs=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_scores_on_the_tree_as_alone(family):
    import torch

    from bowstring.tree.layers import NAME, register
    from bowstring.tree.scoring import Continuation, score

    register()
    model = tiny_model(family)
    pairs = [([5, 6, 7, 8], [9, 10, 11]), ([5, 6, 7, 8], [9]), ([5, 6, 12, 13, 14], [9, 10]), ([5, 6], [20, 21, 22])]
    expected = []
    with torch.no_grad():
        for prompt, answer in pairs:
            likely = model(torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
            expected.append(sum(likely[len(prompt) - 1 + n, token].item() for n, token in enumerate(answer)))
    model.set_attn_implementation(NAME)
    found, trunk = score(model, [Continuation(*pair) for pair in pairs])
    assert trunk == 1
    assert found == pytest.approx(expected, abs=1e-3)


def test_columns_that_go_through_the_model_apart_have_the_same_scores(monkeypatch):
    from bowstring.tree.layers import NAME, register
    from bowstring.tree.scoring import Continuation, score

    register()
    model = tiny_model("llama")
    model.set_attn_implementation(NAME)
    pairs = [Continuation([5, 6, 7], list(range(20, 20 + n))) for n in (1, 9, 4)]
    whole, _ = score(model, pairs)
    monkeypatch.setattr("bowstring.tree.scoring._LOGITS", 97 * 3 * 2)
    parts, _ = score(model, pairs)
    assert parts == pytest.approx(whole, abs=1e-3)


def test_scores_are_stored_as_a_response_and_read_back():
    scores = Scores((-3.0, -2.5), (6, 2))
    assert Scores.of_completion(scores.as_completion()) == scores
    assert scores.per_token == (-0.5, -1.25)
    assert json.loads(scoring(["é", "b"]).as_json())["options"] == '["é", "b"]'


def test_the_embedded_model_scores_by_forced_decoding(monkeypatch):
    """llama.cpp rounds activations to eight bits, so its log-probabilities are near those of float32, not equal."""
    from bowstring.models.embedded import Embedded
    from bowstring.models.unpacked import unpacked_folder

    options = ["Since you love gazpacho, try a chilled tomato soup.", "Try a soup <|im_end|>.", "Blue."]
    messages = (Message("user", ("What should I cook tonight?",)),)

    async def run():
        model = Embedded()
        assert can_score(model)
        found = [await model.score(Prompt(Trunk(()), messages), options, Sampling(0)) for _ in range(2)]
        monkeypatch.setattr(model._scorer, "_context", 12)
        with pytest.raises(RequestFailed, match="exceed its limit of 12"):
            await model.score(Prompt(Trunk(()), messages), options, Sampling(0))
        await model.close()
        return found

    first, second = asyncio.run(run())
    assert first.log_probabilities == pytest.approx(second.log_probabilities, abs=0.5)
    assert second.usage.cached > first.usage.cached
    assert "llama.cpp" in first.provenance.engine
    chat = [{"role": m.role, "content": m.text} for m in messages]
    for option, value, n in zip(options, first.log_probabilities, first.tokens, strict=True):
        if "<|" in option:
            assert n > 6, "text that looks like a special token is text"
            continue
        expected, length = alone(unpacked_folder(), chat, option)
        assert n == length
        assert value / n == pytest.approx(expected / n, abs=0.25)
