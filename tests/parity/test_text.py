"""BLEU and ROUGE-L match the published libraries to 1e-9."""

import math

import pytest
import sacrebleu
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from bowstring.benchmarks.loading import load_hicupid
from bowstring.metrics.text import bleu, rouge_l

texts = st.lists(
    st.sampled_from(
        [
            "the",
            "The",
            "cat",
            "sat",
            "on",
            "a",
            "mat,",
            "mat.",
            "3.5",
            "1,000",
            "10-12",
            "it's",
            "(well)",
            "&amp;",
            "&quot;no&quot;",
            "café",
            "naïve",
            "–",
            "–",
            "日本",
            "a-\nb\n",
            "$5",
            "<x>",
            "and/or",
            "e.g.",
            "U.S.",
            "'so'",
            "[1]",
            "x_y",
            "<skipped>",
        ]
    ),
    max_size=30,
).map(" ".join)


def reference_bleu(prediction: str, reference: str) -> float:
    """What `evaluate` makes of the counts (smooth=True); the counts are sacrebleu's, whose tokens it uses."""
    found = sacrebleu.sentence_bleu(prediction, [reference], tokenize="13a")
    if not found.sys_len or not found.ref_len:
        return 0.0
    precisions = [(match + 1) / (total + 1) for match, total in zip(found.counts, found.totals, strict=True)]
    brevity = 1.0 if found.sys_len > found.ref_len else math.exp(1 - found.ref_len / found.sys_len)
    return brevity * math.exp(sum(map(math.log, precisions)) / 4)


def reference_rouge_l(prediction: str, reference: str) -> float:
    return RougeScorer(["rougeL"], use_stemmer=False).score(reference, prediction)["rougeL"].fmeasure


@given(texts, texts)
@example("", "x")
@example("x", "")
@example("Ünïcode — «only»", "…")
@settings(max_examples=300, deadline=None)
def test_equal_on_any_texts(prediction, reference):
    assert bleu(prediction, reference) == pytest.approx(reference_bleu(prediction, reference), abs=1e-9)
    assert rouge_l(prediction, reference) == pytest.approx(reference_rouge_l(prediction, reference), abs=1e-9)


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_equal_on_any_characters(prediction, reference):
    assert bleu(prediction, reference) == pytest.approx(reference_bleu(prediction, reference), abs=1e-9)
    assert rouge_l(prediction, reference) == pytest.approx(reference_rouge_l(prediction, reference), abs=1e-9)


def test_equal_on_real_answers():
    for q in load_hicupid("mini").questions():
        for said in (q.general_answer, q.question, q.personalized_answer):
            assert bleu(said, q.personalized_answer) == pytest.approx(
                reference_bleu(said, q.personalized_answer), abs=1e-9
            )
            assert rouge_l(said, q.personalized_answer) == pytest.approx(
                reference_rouge_l(said, q.personalized_answer), abs=1e-9
            )


# Computed apart, by the arithmetic of `evaluate`'s bleu (smooth=True) on sacrebleu's tokens.
@pytest.mark.parametrize(
    ("prediction", "reference", "value"),
    [
        ("the cat sat on the mat", "the cat sat on the mat", 1.0),
        ("Try the plums.", "Since you like plums, try the plum tart.", 0.09534061816653486),
        (
            "You might enjoy the works of Henri Matisse.",
            "You might like Henri Matisse or Wassily Kandinsky.",
            0.24446151121745052,
        ),
        ("no word in common", "anything else", 0.3021375397356768),
    ],
)
def test_the_values_of_evaluate(prediction, reference, value):
    assert bleu(prediction, reference) == pytest.approx(value, abs=1e-9)
