"""Thoughts are kept apart from answers, in the formats of all families of models; what only looks like one stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowstring.models.reasoning import FORMATS, HARMONY, ThoughtFormat, opened_format, split_reasoning

THINK = FORMATS[0]
FINAL = "<|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    ("text", "answer", "thought"),
    [
        # Qwen3, QwQ, DeepSeek-R1, GLM
        ("<think>\nThey avoid beetroot.\n</think>\n\nTry lentils.", "Try lentils.", "They avoid beetroot."),
        ("<think>\n\n</think>\n\nTry lentils.", "Try lentils.", None),
        ("Okay, they avoid beetroot.\n</think>\n\nTry lentils.", "Try lentils.", "Okay, they avoid beetroot."),
        ("Say “lentils.”</think>Try lentils.", "Try lentils.", "Say “lentils.”"),
        ("<think>Okay, the user wants", "", "Okay, the user wants"),
        ("<think>", "", None),
        # other tags
        ("<thinking>hm</thinking> Try lentils.", "Try lentils.", "hm"),
        ("<reasoning>hm</reasoning>\nTry lentils.", "Try lentils.", "hm"),
        ("<thought>\nhm\n</thought>\nTry lentils.", "Try lentils.", "hm"),
        ("<|START_THINKING|>hm<|END_THINKING|>Try lentils.", "Try lentils.", "hm"),
        ("◁think▷hm◁/think▷Try lentils.", "Try lentils.", "hm"),
        # Magistral
        ("[THINK]They avoid beetroot.[/THINK]Try lentils.", "Try lentils.", "They avoid beetroot."),
        ("[THINK]They avoid", "", "They avoid"),
        # Seed-OSS
        (
            "<seed:think>hm <seed:cot_budget_reflect>129 tokens used</seed:cot_budget_reflect> so</seed:think>Lentils.",
            "Lentils.",
            "hm <seed:cot_budget_reflect>129 tokens used</seed:cot_budget_reflect> so",
        ),
        # gpt-oss
        (f"<|channel|>analysis<|message|>hm<|end|>{FINAL}Try lentils.<|return|>", "Try lentils.", "hm"),
        (f"{FINAL}Try lentils.", "Try lentils.", None),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.x "
            f"<|constrain|>json<|message|>b<|call|>{FINAL}c",
            "c",
            "a\n\nb",
        ),
        ("<|channel|>analysis<|message|>The user wants", "", "The user wants"),
        ("<|channel|>anal", "", None),
        ("analysisThe user avoids beetroot.assistantfinalTry lentils.", "Try lentils.", "The user avoids beetroot."),
        ("analysisaassistantcommentarybassistantfinalc", "c", "a\n\nb"),
        # Gemma
        ("<|channel>thought\nThey avoid beetroot.\n<channel|>Try lentils.", "Try lentils.", "They avoid beetroot."),
        ("<|channel>thought\n<channel|>Try lentils.", "Try lentils.", None),
        ("<|channel>thought\nThey avoid", "", "They avoid"),
        # several thoughts
        ("<think>a</think>\n\n<think>b</think>\nTry lentils.", "Try lentils.", "a\n\nb"),
        ("<think>a</think>\n<think>b", "", "a\n\nb"),
        ("<think>a</think>\n\n</think>\n\nTry lentils.", "Try lentils.", "a"),
        ("a</think>\nNo, wait.\n</think>\nTry lentils.", "Try lentils.", "a\n\nNo, wait."),
        # a thought that speaks of its marker
        ("<think>What does `</think>` do? It ends this.</think>It ends a thought.", "It ends a thought.",
         "What does `</think>` do? It ends this."),
        ('<think>Say "yes"</think>"yes"', '"yes"', 'Say "yes"'),
    ],
)  # fmt: skip
def test_thoughts_of_each_family_are_kept_apart(text, answer, thought):
    assert split_reasoning(text) == (answer, thought)


@pytest.mark.parametrize(
    "text",
    [
        "Try lentils.",
        "",
        "R1 writes <think> and </think> around its thoughts.",
        "Begin with <think>, and never close it.",
        "Your parser must look for `</think>`; the answer follows it.",
        'Use text.split("</think>")[-1] for that.',
        "The tag is ‘</think>’.",
        "It ends with </think>, then comes the answer.",
        "Like this:\n```\nhm</think>yes\n```\nThat is all.",
        "`<think>hm</think>yes` is what it writes.",
        "gpt-oss writes <|channel|>analysis<|message|> first.",
        "analysis of your diet: no beetroot. The assistant's final word: lentils.",
        "analysisResult = 3",
        "Magistral writes [THINK] and [/THINK].",
        "I think </b> so",
    ],
)
def test_an_answer_that_speaks_of_markers_stays_as_it_is(text):
    assert split_reasoning(text) == (text, None)
    assert split_reasoning(f"<think>hm</think>{text}") == (text, "hm")


def test_a_thought_that_the_prompt_opened_and_nothing_closed_is_no_answer():
    assert split_reasoning("Okay, the user wants", opened=THINK) == ("", "Okay, the user wants")
    assert split_reasoning("Okay.</think>\nLentils.", opened=THINK) == ("Lentils.", "Okay.")
    assert split_reasoning("Okay.", opened=HARMONY) == ("", "Okay.")
    assert split_reasoning("<think>Okay.</think>Lentils.", opened=THINK)[0] == "Lentils."


def test_bare_channels_without_an_answer_are_a_thought_only_where_the_text_was_cut():
    assert split_reasoning("analysisWe need to", cut=True) == ("", "We need to")
    assert split_reasoning("analysis shows that", cut=True) == ("analysis shows that", None)


@pytest.mark.parametrize("format", FORMATS)
def test_a_prompt_that_opens_a_thought_is_recognized(format):
    assert opened_format(f"<|user|>What is {THINK.close}?<|assistant|>{format.open}\n") == format
    assert opened_format(f"<|assistant|>{format.open}\n\n{format.close}\n\n") is None
    assert opened_format(f"<|user|>What is {format.open}<|assistant|>\n") is None


_MARKS = [*(mark for format in FORMATS for mark in (format.open, format.close)), "<|", "assistantfinal"]
texts = st.text(st.sampled_from('ab Z\n.`"<>/|[]think')).filter(lambda text: not any(m in text for m in _MARKS))
formats = st.sampled_from(FORMATS)


@given(formats, st.lists(texts, min_size=1, max_size=3), texts)
def test_what_was_joined_is_split_again(format, thoughts, answer):
    """Whatever stands next to the markers, quotes and fences among it."""
    if format is HARMONY:
        thoughts = thoughts[:1]  # its closing marker opens the answer
    joined = "\n".join(f"{format.open}{thought}{format.close}" for thought in thoughts) + answer
    kept = "\n\n".join(filter(None, map(str.strip, thoughts))) or None
    assert split_reasoning(joined) == (answer.lstrip(), kept)
    assert split_reasoning(joined.removeprefix(format.open), opened=format) == (answer.lstrip(), kept)


@given(formats, texts)
def test_what_was_cut_in_a_thought_has_no_answer(format, thought):
    assert split_reasoning(f"{format.open}{thought}") == ("", thought.strip() or None)
    assert split_reasoning(thought, opened=format) == ("", thought.strip() or None)


@given(formats, texts, st.sampled_from(["Try lentils.", "\n\nTry lentils.", "# Lentils"]))
def test_an_unopened_thought_ends_at_its_marker(format: ThoughtFormat, thought, answer):
    assert split_reasoning(f"{thought}{format.close}{answer}") == (answer.lstrip(), thought.strip() or None)


@given(texts)
def test_a_text_without_markers_is_an_answer(text):
    assert split_reasoning(text, cut=True) == (text, None)
