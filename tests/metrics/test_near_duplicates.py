"""Near-duplicates: what counts, what does not, within groups, and that hashing misses hardly anything."""

import random

import numpy as np
import pytest

from bowstring.metrics.near_duplicates import ALIKE, Shingles

WORDS = [f"{a}{b}" for a in "bcdfghjklmnp" for b in ("an", "er", "il", "os", "ut", "ay", "ok", "im")]


def texts(seed, number, words=20):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=words)) for _ in range(number)]


def changed(text, rng, words):
    parts = text.split()
    for at in rng.sample(range(len(parts)), words):
        parts[at] = "new" + rng.choice(WORDS)
    return " ".join(parts)


def test_case_and_punctuation_do_not_matter_and_other_words_do():
    found = Shingles.of(["Try the new bakery.", "try the NEW bakery!", "Take the train home.", "", ""])
    assert found.repeated().tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(("words", "least", "most"), [(1, 1.0, 1.0), (2, 0.95, 1.0), (6, 0.0, 0.05), (20, 0.0, 0.0)])
def test_two_of_twenty_words_may_differ(words, least, most):
    originals, rng = texts(1, 200), random.Random(2)
    copies = [changed(text, rng, words) for text in originals]
    share = Shingles.of(copies).within(Shingles.of(originals)).mean()
    assert least <= share <= most


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_what_comparing_all_pairs_finds(seed):
    rng = random.Random(seed)
    some = texts(seed, 120)
    some += [changed(rng.choice(some), rng, rng.randrange(1, 5)) for _ in range(120)]
    rng.shuffle(some)
    found = Shingles.of(some)
    sets = [{*t.split()} | {*zip(t.split(), t.split()[1:], strict=False)} for t in some]
    exact = np.array(
        [any(len(a & b) >= ALIKE * len(a | b) for j, b in enumerate(sets) if i != j) for i, a in enumerate(sets)]
    )
    assert not (found.repeated() & ~exact).any()
    assert (found.repeated() & exact).sum() >= 0.95 * exact.sum()


def test_groups_are_compared_within_themselves():
    same = texts(3, 1)[0]
    assert Shingles.of([same, same, same], ["a", "b", "a"]).repeated().tolist() == [True, False, True]
    assert Shingles.of([same, same], ["a", "b"]).repeated().tolist() == [False, False]


def test_many_copies_of_one_text_and_no_text_at_all():
    assert Shingles.of([texts(4, 1)[0]] * 5000).repeated().all()
    assert Shingles.of([]).repeated().tolist() == []
    assert Shingles.of(["one text"]).within(Shingles.of([])).tolist() == [False]
