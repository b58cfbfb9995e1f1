"""The recipe of a network that reads answers: the same numbers as in training, what it is given, and its answers."""

import io
import json
import random
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from bowstring.benchmarks.hicupid.stance.names import Field, marked

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "recipes" / "truth_judge"
sys.path.insert(0, str(RECIPE))

import train as recipe  # noqa: E402
from reader.network import TASKS, Network  # noqa: E402
from reader.reading import appointment_marked  # noqa: E402
from reader.times import with_times_marked  # noqa: E402
from reader.tokens import SPECIAL, distances_of, numbers_of, tokens_of  # noqa: E402

ASKED = "Can I get a haircut at 2 PM on May 6, 2025?"  # a Tuesday
SHOWN = {
    1: "<subject>",
    2: "<subject>",
    3: "<other>",
    14: "<time>",
    15: "<other time>",
    16: "<date>",
    17: "<other date>",
}


def shown(text):
    return " ".join(text.translate(SHOWN).split())


def test_the_stored_network_computes_what_the_trained_one_does():
    torch.manual_seed(3)
    words = [
        *SPECIAL,
        *["you", "love", "hate", "it", "so", "try", "the", "park", "instead", "of", "a", "museum", "not"],
    ]
    vectors = np.random.default_rng(1).normal(size=(len(words), recipe.VECTOR)).astype(np.float32)
    readers = recipe.Readers(words, vectors).eval()
    file = io.BytesIO()
    np.savez_compressed(file, **recipe.stored(readers))
    file.seek(0)
    with np.load(file) as weights:
        stored = Network(weights)
    answers = [
        "You love \x01, so try it.",
        "Try the park instead of \x02, not a museum",
        "No mention here!",
        "",
        "\x01 \x01 at \x0e on \x11: you can't",
    ]
    trained = recipe.probabilities(readers, [recipe.Example("", answer) for answer in answers])
    for answer, expected in zip(answers, trained, strict=True):
        for task, found in stored.read(answer).items():
            assert np.abs(found - expected[task]).max() < 0.01, (answer, task)  # stored in 8 and 16 bits
            assert found.sum() == pytest.approx(1, abs=1e-5)


def test_an_answer_becomes_words_and_marks():
    field = Field({"zydeco": ["Clifton Chenier"], "dub": ["King Tubby"]})
    tokens = tokens_of(marked("You can’t stand zydeco – so put on dub!", field, "zydeco"))
    assert tokens == ["you", "ca", "n't", "stand", "<subject>", "–", "so", "put", "on", "<other>", "!"]
    assert distances_of(tokens)[4] == 10
    assert distances_of(["no", "mention"]) == [0, 0]
    assert distances_of(["a", "<subject>", "b"]) == [9, 10, 11]


def test_words_without_a_number_are_tried_without_their_ending():
    vocabulary = {word: n for n, word in enumerate([*SPECIAL, "love", "park"])}
    found = numbers_of(["loved", "parks", "loving", "xylophone", "12", "park"], vocabulary)
    assert found == [vocabulary[w] for w in ("love", "park", "love", "<unk>", "<num>", "park")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Booked for 2 PM on May 6.", "Booked for <time> on <date> ."),
        ("At two? I'd say 14:00, or half past three.", "At <time> ? I'd say <time> , or <other time> ."),
        ("On Tuesday the 6th, not on Wednesday.", "On <date> <date> , not on <other date> ."),
        ("On 7 May 2025 at noon", "On <other date> at <other time>"),
        ("A table for 2 people, two weeks from now.", "A table for 2 people, two weeks from now."),
        ("May I suggest 5:30 pm?", "May I suggest <other time> ?"),
    ],
)
def test_times_and_dates_are_those_asked_for_or_others(text, expected):
    assert shown(with_times_marked(text, ASKED)) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("You're at the mortgage appointment then.", "You're at the <subject> appointment then."),
        ("You see the dentist then.", "You see the dentist then."),
        ("The eye test is at 2.", "The <other> is at <time> ."),
    ],
)
def test_appointments_are_marked_by_the_words_that_tell_them_apart(answer, expected):
    events = ("a mortgage appointment", "an eye test", "a pottery workshop")
    assert shown(appointment_marked(answer, "a mortgage appointment", events, ASKED)) == expected


def test_an_appointment_with_book_in_its_name_is_not_named_by_a_booking():
    marked_answer = appointment_marked("I have booked a massage.", "a book club evening", (), ASKED)
    assert "<subject>" not in shown(marked_answer)
    assert "<subject>" in shown(appointment_marked("The book club is then.", "a book club evening", (), ASKED))


def test_answers_are_labelled_and_share_no_text_and_no_subject_with_the_sealed_ones():
    rows = [
        (path.stem, json.loads(line))
        for path in sorted((RECIPE / "answers").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    labels = {"persona": {"for", "against", "neither"}}
    for _, row in rows:
        assert row["label"] in labels.get(row["type"], {"right", "wrong"})
        assert row["answer"].strip()
        if row["type"] == "profile":
            assert row["value"] in TASKS[row["aspect"]]
    listed = (RECIPE / "README.md").read_text(encoding="utf-8")
    assert all(f"`{writer}`" in listed for writer, _ in rows)
    sealed = [
        json.loads(line)
        for path in (ROOT / "tests/judging/answers").glob("sealed*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert not {r["answer"] for r in sealed} & {row["answer"] for _, row in rows}
    subjects = {row["subject"] for _, row in rows if row["type"] == "persona"}
    assert not {r["subject"] for r in sealed if r["type"] == "persona" and "subject" in r} & subjects


def test_answers_that_say_both_take_no_side():
    rows = [recipe.Example("w", text, {"stance": n}, kind="persona") for n, text in enumerate("ab")]
    both = recipe.for_and_against(rows, 50, random.Random(0))
    assert Counter(row.marked for row in both).keys() == {"a b", "b a"}
    assert all(row.has == {"stance": recipe.STANCE["neither"]} for row in both)
