"""Guessing: chance where there is nothing to know, and features that are what they claim to be."""

import random

from bowstring.benchmarks.data_audit.features import masked, pairs, style, words
from bowstring.benchmarks.data_audit.guessing import (
    Labelled,
    Options,
    guess_label,
    guess_option,
    sample_of_users,
    shuffled_within,
    with_another,
)
from tests.support.audited import some_words


def items(users=60, each=8):
    rng = random.Random(0)
    return [(f"user {user}", some_words(rng, 12)) for user in range(users) for _ in range(each)]


def user_of(item):
    return item[0]


def test_texts_that_are_right_for_one_and_wrong_for_another_user_are_at_chance():
    """Each text is once right and about once wrong. If that were in different folds, 5% would be guessed, not 50%."""
    some = items()
    found = guess_option(
        [
            Options(own[0], (words(own[1]), words(other[1])), 0, fold)
            for own, other, fold in with_another(some, user_of, lambda i: "", lambda i: i[1])
        ]
    )
    assert found.found.n == len(some)
    assert found.found.low < 50 < found.found.high


def test_another_is_of_another_user_and_another_text():
    some = [*items(12, 3), ("user 0", "the same"), ("user 1", "The same")]
    for own, other, _ in with_another(some, user_of, lambda i: "", lambda i: i[1]):
        assert own[0] != other[0]
        assert own[1].lower() != other[1].lower()


def test_one_user_or_one_class_is_nothing_to_guess():
    assert guess_label([Labelled("a", "x", style("one")), Labelled("a", "y", style("two"))]) is None
    assert guess_label([Labelled("a", "x", style("one")), Labelled("b", "x", style("two"))]) is None
    assert guess_option([Options("a", (style("one"), style("two")), 0)]) is None
    assert guess_option([]) is None


def test_equal_texts_are_at_chance_however_unequal_the_classes_and_their_users():
    rows = [Labelled(f"u{n % 50}", "rare" if n % 10 == 0 else "frequent", style("same")) for n in range(1000)]
    assert guess_label(rows).found.value == 50


def test_three_classes_are_recognized():
    rows = [Labelled(f"u{n % 20}", "abc"[n % 3], words(f"word{n % 3} and more")) for n in range(300)]
    guess = guess_label(rows)
    assert guess.found.value == 100
    assert round(guess.chance, 1) == 33.3


def test_labels_are_shuffled_within_users_only():
    rows = [Labelled(f"u{n % 7}", "ab"[n % 2], style(str(n))) for n in range(140)]
    shuffled = shuffled_within(rows)
    assert [row.features for row in shuffled] == [row.features for row in rows]
    assert [row.label for row in shuffled] != [row.label for row in rows]
    for user in {row.cluster for row in rows}:
        before, after = (sorted(r.label for r in own if r.cluster == user) for own in (rows, shuffled))
        assert before == after


def test_style_has_no_content_words():
    assert masked("Since you love Opera, try 3 operas!") == ["since", "you", "love", "_", ",", "try", "#", "_", "!"]
    assert style("You like cats.")[1:] == style("You like dogs.")[1:]
    assert style("You like cats.") != style("Avoid all cats.")


def test_pairs_know_what_two_texts_share():
    assert pairs("Which opera is good?", "An opera by Verdi") != pairs("Which opera is good?", "A match by Verdi")
    assert pairs("", "An opera")[1] == frozenset()


def test_a_sample_has_whole_users_and_a_larger_one_contains_it():
    some = items(30, 10)
    small, large = (sample_of_users(some, user_of, most) for most in (50, 200))
    assert len(small) == 50
    assert len(large) == 200
    assert set(small) < set(large)
    assert sample_of_users(some, user_of, 10_000) == some
    assert len(sample_of_users(some, user_of, 3)) == 10
