"""Verdicts are parsed as judges mean them, and unparsable ones are never guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowstring.judging import builtin
from bowstring.judging.verdicts import read_correct, read_dislike, read_dragged_in, read_pairwise, read_satisfaction


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("Better Response: B, because A ignores the trip", "B"),
        ("1. Personalization: A.\n2. Logical Validity: A.\nBetter Response: Tie", "tie"),
        ("**Better Response:** Tie", "tie"),
        ("**Better Response: A**", "A"),
        ("better response: a", "A"),
        ("Better Response: A is better", "A"),
        ("Better Response: Response B", "B"),
        ("Better Response: [A]", "A"),
        ("Better Answer: B", "B"),
        ("Better Response: A\nOn reflection:\nBetter Response: B", "B"),
        ("Both are fine.", None),
        ("Better Response: both", None),
        ("Better Response: A tie", "tie"),
        ("Better Response: a tie between both", "tie"),
        ("Better Response: A and B are equally good", "tie"),
        ("Better Response: A = B", "tie"),
        ("Better Response: A == B", "tie"),
        ("Better Response: A ≈ B", "tie"),
        ("Better Response: Answer A ~ Answer B", "tie"),
        ("Better Response: A - B tie", "tie"),
        ("Better Response: A - B ignores the trip", "A"),
        ("Better Response: A (tie-break)", "A"),
        ("Better Response: A, tie-break", "A"),
        ("Better Response: B by tiebreak", "B"),
        ("Better Response: Response Tie", "tie"),
        ("Better Response: It's a tie", "tie"),
        ("Better Response: A > B", "A"),
        ("Better Response: A < B", "B"),
        ("Better Response: B < A, because it names the trip", "A"),
        ("Better Response: A <= B", None),
        ("Better Response: A ≠ B", None),
        ("Better Response: A - B", None),
        ("Better Response: A vs. B: draw", "tie"),
        ("Better Response: A -- B -- tie", "tie"),
        ("Better Response: A is tied with B", "tie"),
        ("Better Response: A equals B", "tie"),
        ("Better Response: A is equal to B", "tie"),
        (r"Better Response: $A \approx B$", "tie"),
        ("Better Response: A beats B", "A"),
        ("Better Response: A or B", None),
        ("Better Response: A/B", None),
        ("Better Response: A|B|Tie", None),
        ("Better Response: A, B or Tie", None),
        ("Better Response: B (A ignores the trip)", "B"),
        ("Better Response:\n\nA is fine but B is better", None),
        ("### Better Response\n**B**", "B"),
        ("3. Better Response: B", "B"),
        ("Better Response: \\boxed{B}", "B"),
        ("Better Response: a bit better is B", None),
        ("Better Response: A\nNo, wait.\nBetter Response: Neither", None),
        ("Better Response: Although A is good", None),
        ("Better Response:", None),
        ("I would not say Better Response: A", None),
        ("", None),
    ],
)
def test_reads_the_side_a_judge_chose(said, means):
    assert read_pairwise(said) == means


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("1. Conflict: named.\nSatisfaction: YES", True),
        ("Satisfaction: no, it books over the appointment", False),
        ("**Satisfaction:** Yes", True),
        ("Satisfaction: NO\nSatisfaction: YES", True),
        ("Satisfaction: none", None),
        ("YES", None),
    ],
)
def test_reads_whether_a_judge_was_satisfied(said, means):
    assert read_satisfaction(said) is means


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("It names the date.\nCorrect: YES", True),
        ("**Correct:** no, it was in June", False),
        ("Correct: NO\nOn reflection:\nCorrect: YES", True),
        ("Correct: YES or NO", None),
        ("The answer is correct.", None),
        ("", None),
    ],
)
def test_reads_whether_an_answer_was_correct(said, means):
    assert read_correct(said) is means


@given(st.text() | st.text(alphabet="Beter Rspon:AaBi*\n"))
def test_no_text_makes_a_reader_crash(text):
    assert read_pairwise(text) in ("A", "B", "tie", None)
    assert read_satisfaction(text) in (True, False, None)


@pytest.mark.parametrize("side", ["A", "B"])
def test_the_builtin_judge_writes_verdicts_that_are_read(side):
    gold, general = "Since you avoid heels, wear beaded mules.", "Metallic heels lift any dress."
    said = builtin.pairwise(gold, gold, general, answer_is=side)
    assert said.splitlines()[1] == "2. Logical Validity: not looked at.", "records hold it, and are compared"
    assert read_pairwise(said) == "tie"
    assert read_pairwise(builtin.pairwise(general, gold, general, answer_is=side)) == ("B" if side == "A" else "A")
    assert read_satisfaction(builtin.satisfaction("You already have the dental check-up then.", "dental check-up"))
    assert not read_satisfaction(builtin.satisfaction("Booked! Enjoy.", "dental check-up"))


@pytest.mark.parametrize(
    "said", ["Satisfaction: YES/NO", "Satisfaction: YES or NO", "Satisfaction: YES\nSatisfaction: N/A", "Satisfaction:"]
)
def test_an_echo_or_an_unreadable_last_line_is_no_verdict(said):
    assert read_satisfaction(said) is None


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("1. Bearing: none.\nDragged In: YES", True),
        ("**Dragged In:** no", False),
        ("Dragged-in: Yes, the dog", True),
        ("Dragged In: NO\nOn reflection:\nDragged In: YES", True),
        ("Dragged In: YES or NO", None),
        ("Dragged In: maybe", None),
        ("The dog was dragged in.", None),
        ("", None),
    ],
)
def test_reads_whether_something_was_dragged_in(said, means):
    assert read_dragged_in(said) is means


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("1. Reason: so.\nDislike: RESPECTED", "respected"),
        ("**Dislike: Omitted.**", "omitted"),
        ("Dislike: VIOLATED, it recommends beetroot", "violated"),
        ("Dislike: MENTIONED\nDislike: RESPECTED", "respected"),
        ("Dislike: RESPECTED or OMITTED", None),
        ("Dislike: RESPECTED, MENTIONED, OMITTED or VIOLATED", None),
        ("Dislike: beetroot", None),
        ("Dislikes are respected.", None),
        ("", None),
    ],
)
def test_reads_what_became_of_a_dislike(said, means):
    assert read_dislike(said) == means


@pytest.mark.parametrize(
    ("answer", "means"),
    [
        ("Try the beetroot salad.", "mentioned"),
        ("Skip the beetroot and roast carrots.", "respected"),
        ("Roast carrots.", "omitted"),
    ],
)
def test_the_builtin_judge_looks_for_the_words_of_a_dislike(answer, means):
    assert read_dislike(builtin.dislike(answer, "beetroot")) == means


def test_the_builtin_judge_sees_what_is_named():
    assert read_dragged_in(builtin.dragged_in("It's booked. Enjoy knitting!", ["Citroën 2CV", "knitting"])) is True
    assert read_dragged_in(builtin.dragged_in("It's booked.", ["Citroën 2CV", "knitting"])) is False
