"""Which letter an answer to a multiple-choice question states."""

import pytest

from bowstring.judging.letters import read_letter


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("C", "C"),
        ("c", "C"),
        ("C.", "C"),
        ("(C)", "C"),
        ("**C**", "C"),
        ("\\boxed{C}", "C"),
        ("Option C", "C"),
        ("Choice: C", "C"),
        ("choice: c", "C"),
        ("Answer: (C) because you love soup", "C"),
        ("Choice: C, because A ignores the user", "C"),
        ("Choice: C because it fits", "C"),
        ("C. Since you love soup, make a soup.", "C"),
        ("C) A chilled soup, since you love it.", "C"),
        ("C: A chilled soup, since you love it.", "C"),
        ("C\n\nBecause you love soup.", "C"),
        ("The answer is C.", "C"),
        ("I would choose option C.", "C"),
        ("I choose A. On reflection, I choose C.", "C"),
        ("A is tempting.\nChoice: C", "C"),
        ("Choice: A\nNo, wait.\nChoice: C", "C"),
        ("Option C is the best reply.", "C"),
        ("B looks good at first.\nThe answer is C.", "C"),
        # no choice
        ("", None),
        ("   \n ", None),
        ("Apple", None),
        ("Bake a quiche.", None),
        ("A quiche would be good.", None),
        ("Choice: a quiche", None),
        ("Choice: A quiche", None),
        ("A, B, C, D, E", None),
        ("A B C D E", None),
        ("A. B. C. D. E.", None),
        ("A\nB\nC\nD\nE", None),
        ("A. one\nB. two\nC. three", None),
        ("Choice: A, B, C, D or E", None),
        ("Choice: A or B", None),
        ("Choice: A/B", None),
        ("I choose A or B", None),
        ("The answer is not C", None),
        ("F", None),
        ("Choice: F", None),
        ("I cannot choose.", None),
    ],
)
def test_the_last_stated_choice_is_read_and_nothing_else(said, letter):
    assert read_letter(said) == letter


def test_only_letters_that_are_there_are_choices():
    assert read_letter("C", "AB") is None
    assert read_letter("Choice: B", "AB") == "B"
