"""Prompts with a shared beginning get the same tokens as each prompt alone."""

import pytest

from bowstring.models.rendering import Rendering
from bowstring.records import Message, Prompt, Trunk

ASKED = (" What now", "Why now", "\nWhy now", "Why  now?", "日本語 👩‍👧", "")


def strange_tokenizer():
    """One that marks the first word of a text, and of nothing else."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<u>", "<a>", "<e>", "▁What", "What", "▁now", "▁Why", "Why", "S", "▁S"]
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", eos_token="<e>", additional_special_tokens=["<u>", "<a>"]
    )
    fast.chat_template = "{% for m in messages %}<u>{{ m['content'] }}<e>{% endfor %}<a>"
    return fast


def embedded_tokenizer():
    from transformers import AutoTokenizer

    from bowstring.models.hubfiles import model_files

    return AutoTokenizer.from_pretrained(model_files("hf", "embedded", lambda line: None).folder)


@pytest.mark.parametrize("made", [strange_tokenizer, embedded_tokenizer])
@pytest.mark.parametrize("first", range(2))
def test_tokens_of_all_are_those_of_each(made, first):
    """Whichever comes first: that one is checked."""
    rendering = Rendering(made())
    trunk = Trunk([Message("system", ("S",))])
    prompts = [Prompt(trunk, (Message("user", (text,)),)) for text in (*ASKED[first:], *ASKED[:first])]
    assert rendering.all_tokens(prompts) == [rendering.tokens(prompt) for prompt in prompts]
