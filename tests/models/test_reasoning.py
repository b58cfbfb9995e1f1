"""Thoughts are kept apart from answers, in the formats of all families of models; what only looks like one stays."""

import re
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
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
        ("They ask what `</think>` and <think> do.\n</think>\n\nIt ends a thought.", "It ends a thought.",
         "They ask what `</think>` and <think> do."),
        ("They ask what </think> does.\n</think>\n\nIt ends a thought.", "It ends a thought.",
         "They ask what </think> does."),
        ("<think>It writes </think> and then answers. So:</think>It ends.", "It ends.",
         "It writes </think> and then answers. So:"),
        # a thought that ends in a mark which is also one of quotes or emphasis
        ("So, **lentils**</think>**Lentils** it is.", "**Lentils** it is.", "So, **lentils**"),
        ('The pot is 5".</think>Use a 6" pot.', 'Use a 6" pot.', 'The pot is 5".'),
        ("I am sure. </think> Try lentils.", "Try lentils.", "I am sure."),
        ("- lentils </think>\nTry lentils.", "Try lentils.", "- lentils"),
        # a fence that the thought leaves open
        ("Let me try:\n```\nx = 1\n</think>\n\nUse this:\n```\nx = 2\n```\n", "Use this:\n```\nx = 2\n```\n",
         "Let me try:\n```\nx = 1"),
        ("Let me try ```x = 1\n</think>\n\nUse this:\n```py\nx = 2", "Use this:\n```py\nx = 2",
         "Let me try ```x = 1"),
        # thoughts inside of the answer
        ("<think>a</think>Hello there<think>SECRET</think>Bye", "Hello there Bye", "a\n\nSECRET"),
        ("<think>a</think>Hello.\n\n<think>b</think>\n\nBye.", "Hello.\n\nBye.", "a\n\nb"),
        ("Sure! <think>plan</think> The answer", "Sure! The answer", "plan"),
        ("Hello <think> plan", "Hello <think> plan", None),
        ("Hello.\n<think>\nplan", "Hello.", "plan"),
        ("Hello<think>plan", "Hello", "plan"),
        # nested thoughts
        ("<think>outer <think>inner</think> still outer</think>ans", "ans", "outer <think>inner</think> still outer"),
        ("<think>a<think>b</think> c <think>d</think> e</think>ans", "ans", "a<think>b</think> c <think>d</think> e"),
        ("<think>\n<think>\na</think>ans", "ans", "a"),
        ("<think>a <think>b</think>ans<think>c</think>", "ans", "a <think>b\n\nc"),
        # what precedes the marker without being seen
        ("\ufeff<think>a</think>b", "b", "a"),
        ("\u200b\n <think>a</think>\u200b<think>b</think>c", "c", "a\n\nb"),
        ("\ufeffanalysisHm.assistantfinalTry lentils.", "Try lentils.", "Hm."),
        # channels
        ("assistantanalysisHm.assistantfinalTry lentils.", "Try lentils.", "Hm."),
        ("analysisSay assistantfinal here? No.assistantfinalLentils.", "Lentils.", "Say assistantfinal here? No."),
        ("assistantfinalTry lentils.", "Try lentils.", None),
        ("analysisa.assistantfinalHello.assistantanalysisb.assistantfinalBye.", "Hello. Bye.", "a.\n\nb."),
        (f"<|channel|>analysis<|message|>a<|end|>{FINAL}Write `<|end|>`.<|return|>", "Write `<|end|>`.", "a"),
        (f"{FINAL}It writes <|end|> there.<|return|>", "It writes <|end|> there.", None),
        ("<|channel|>analysis<|message|>a<|end|>Try lentils.", "Try lentils.", "a"),
        ("<|channel|>analysis a<|end|>Try lentils.", "Try lentils.", "a"),
        (f"Hello<|channel|>analysis<|message|>a<|end|>{FINAL}Bye", "Hello Bye", "a"),
        (f"{FINAL}Lentils.<|end|><|start|>user<|message|>Thanks!", "Lentils.", "Thanks!"),
    ],
)  # fmt: skip
def test_thoughts_of_each_family_are_kept_apart(text, answer, thought):
    assert split_reasoning(text) == (answer, thought)


@pytest.mark.parametrize("format", [format for format in FORMATS if format is not HARMONY])
def test_thoughts_of_each_format_may_be_anywhere_and_nested(format: ThoughtFormat):
    a, b = format.open, format.close
    assert split_reasoning(f"{a} x{b}Hello there{a} SECRET{b}Bye") == ("Hello there Bye", "x\n\nSECRET")
    assert split_reasoning(f"Hello! {a} plan{b} Bye") == ("Hello! Bye", "plan")
    assert split_reasoning(f"{a} x {a}y{b} z{b}Bye") == ("Bye", f"x {a}y{b} z")
    assert split_reasoning(f"\ufeff{a} x{b}Bye") == ("Bye", "x")
    for quoted in (
        f"Write `{b}` last.",
        f"Write **{b}** last.",
        f"It writes {b} and answers.",
        f'"{a} x{b}Bye" it is.',
    ):
        assert split_reasoning(quoted) == (quoted, None)


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
        "To end a thought the model writes </think> and then answers.",
        "Use **</think>** to close, or *</think>*, or __</think>__",
        "HTML: <b>x</b> </reasoning> tag closes it",
        "analysis: the assistantfinal marker",
        "assistantfinal is a marker.",
        'R1 writes "hm</think>yes" there.',
        "It is “hm</think>yes” or «hm</think>yes».",
        'He wrote "<think>plan</think> The answer" there.',
        "使用`</think>`标签",
        "标签是</think>。",
        "Like this:\n```\n<think>\nhm\n</think>\nyes\n```\nor\n```xml\n</think>\n```\nThat is all.",
        "gpt-oss writes `<|end|><|start|>assistant<|channel|>final<|message|>` there.",
    ],
)
def test_an_answer_that_speaks_of_markers_stays_as_it_is(text):
    assert split_reasoning(text) == (text, None)
    assert split_reasoning(f"<think>hm</think>{text}") == (text, "hm")


def test_a_thought_that_the_prompt_opened_and_nothing_closed_is_no_answer():
    assert split_reasoning("Okay, the user wants", opened=THINK) == ("", "Okay, the user wants")
    assert split_reasoning("Okay.</think>\nLentils.", opened=THINK) == ("Lentils.", "Okay.")
    assert split_reasoning("Okay.", opened=HARMONY) == ("", "Okay.")
    assert split_reasoning("<think>Okay.</think>Lentils.", opened=THINK) == ("Lentils.", "Okay.")
    odd = "Say:\n```\nx\n</think>\nUse:\n```\ny\n```\n"
    assert split_reasoning(odd, opened=THINK) == ("Use:\n```\ny\n```\n", "Say:\n```\nx")


def test_a_thought_that_was_cut_does_not_end_where_it_mentions_its_marker():
    assert split_reasoning("What does `</think>` do?", opened=THINK, cut=True) == ("", "What does `</think>` do?")
    assert split_reasoning("Okay.</think>Lentils", opened=THINK, cut=True) == ("Lentils", "Okay.")


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


_BARE = ("analysis", "assistantanalysis", "assistantfinal")
_PIECES = [
    *(mark for format in FORMATS for mark in (format.open, format.close)),
    *("<|end|>", "<|return|>", "<|start|>assistant", "<|channel|>final<|message|>", *_BARE),
    *("`", '"', "**", "“", "”", "```", "```py", "\n", "\n\n", " ", ". ", ", ", "\ufeff"),
]
# Every word is there once, so that its place can be found.
written = st.lists(st.sampled_from([*_PIECES, *["WORD"] * 20]), max_size=40).map(
    lambda pieces: "".join(f"w{n}w" if piece == "WORD" else piece for n, piece in enumerate(pieces))
)


def words(text: str) -> list[int]:
    return [int(word) for word in re.findall(r"w(\d+)w", text)]


@settings(max_examples=500)
@given(written, st.none() | formats, st.booleans())
def test_nothing_is_lost_or_doubled_and_the_order_stays(text, opened, cut):
    answer, thoughts = split_reasoning(text, opened=opened, cut=cut)
    both = words(answer), words(thoughts or "")
    assert sorted(both[0] + both[1]) == words(text)
    assert all(a < b for one in both for a, b in pairwise(one))


class Counted(str):
    """A text that counts the characters of its slices."""

    __slots__ = ()
    sliced = 0

    def __getitem__(self, key):
        found = super().__getitem__(key)
        Counted.sliced += len(found)
        return found


def steps(text: str) -> int:
    """Return how many functions are called to split a text, and how many characters are copied."""
    calls, Counted.sliced = 0, 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        split_reasoning(Counted(text))
    finally:
        sys.setprofile(before)
    return calls + Counted.sliced


_REPEATED = [
    *(mark for format in FORMATS for mark in (format.open, format.close, f"{format.open}a{format.close}b")),
    *("<think><think>a</think>", "`</think>`", "a </think> b ", "\n</think>\n", '"<think>x"', "```\n<think>\n"),
    *("~~~</think>", "*</think>", "a<|end|>", "<|channel|>x", "<|start|>assistant", " assistantfinal "),
]  # fmt: skip


@pytest.mark.parametrize("start", ["", "<think>", "x", "analysis", HARMONY.open])
@pytest.mark.parametrize("repeated", _REPEATED)
def test_repetitive_texts_take_linear_time(start, repeated):
    """Twice as long a text takes twice as many steps; four times would be quadratic."""
    assert steps(start + repeated * 400) < 2.5 * steps(start + repeated * 200) + 200
