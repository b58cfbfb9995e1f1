"""Features of texts for the classifiers of a data audit: style, words, and pairs of words of two texts.

    Bag(style("Since you like opera, try this one."))

A feature is a number below `WIDTH`, a hash of its name, the same on every machine. The features of one kind of a text
have length 1 together, so that no kind outweighs another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np

from bowstring.history.bm25 import FUNCTION_WORDS, stems
from bowstring.metrics.choice_model import Rows

WIDTH = 1 << 20
Bag = frozenset[int]  # the features of one kind
Features = tuple[Bag, ...]

_TOKEN = re.compile(r"\d+|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\w\s]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_END = re.compile(r"[.!?](?:\s|$)")
# Words that say how an answer is built and not what it is about.
_CUE_WORDS = frozenset(
    _WORD.findall(
        "since given considering knowing because although though instead rather without avoid avoiding skip "
        "skipping never always already perhaps maybe try consider look check explore enjoy enjoying like likes "
        "love loves prefer prefers preference preferences interest interests interested fan fond dislike dislikes "
        "hate keep keeping leave leaving stick away out clear steer best good great popular many several various "
        "often usually typically generally one first next here while when if unless however but yes no sure sorry "
        "done booked confirmed conflict clash overlaps appointment time reschedule don't doesn't isn't aren't "
        "can't won't you're you've it's i'm i've that's"
    )
)
STYLE_WORDS = FUNCTION_WORDS | _CUE_WORDS


def hashed(names: Iterable[str]) -> Bag:
    return frozenset(crc32(name.encode("utf-8", "replace")) % WIDTH for name in names)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower().replace("’", "'"))


def _at_least(name: str, number: float, step: float) -> list[str]:
    """One feature for every step that the number reaches, on a logarithmic scale."""
    return [f"{name}>{n}" for n in range(1, 1 + int(math.log2(1 + max(0.0, number)) / step))]


def masked(text: str) -> list[str]:
    """Return the words and signs of a text with content words as "_" and numbers as "#"."""
    return [
        "#" if token.isdigit() else token if token in STYLE_WORDS or not token[0].isalpha() else "_"
        for token in _tokens(text)
    ]


def style(text: str) -> Features:
    """Return what a text looks like without its content: length; opening, cue words, sentence structure; characters."""
    tokens = masked(text)
    number = sum(one[0] == "_" or one[0].isalnum() for one in tokens)
    size = [*_at_least("words", number, 0.125), *_at_least("letters", 10 * len(text) / max(1, number), 0.125)]
    size.append(f"sentences{min(5, len(_END.findall(text)))}")
    grams = [f"{n}:{' '.join(tokens[at : at + n])}" for n in (1, 2, 3) for at in range(len(tokens) - n + 1)]
    grams += [f"opens{n}:{' '.join(tokens[:n])}" for n in (1, 2, 3)] + [f"ends:{' '.join(tokens[-2:])}"]
    plain = " ".join(tokens)
    letters = (f"c{plain[at : at + 4]}" for at in range(max(1, len(plain) - 3)))
    return hashed(size), hashed(grams), hashed(letters)


def words(text: str) -> Features:
    """Return the words and pairs of neighbouring words of a text."""
    tokens = _tokens(text)
    return (hashed([*(f"w:{t}" for t in tokens), *(f"w:{a} {b}" for a, b in pairwise(tokens))]),)


def pairs(first: str, second: str) -> Features:
    """Return the pairs of content words of two texts, and how many words both have."""
    one, other = (sorted(set(stems(text))) for text in (first, second))
    shared = len({*one} & {*other})
    size = [*_at_least("shared", shared, 0.25), *_at_least("share", 10 * shared / max(1, len(other)), 0.5)]
    return hashed(size), hashed(f"p:{a}|{b}" for a in one for b in other)


def rows_of(features: Sequence[Features]) -> Rows:
    """Return one row per text. Features that only one text has are left out: they tell nothing about another."""
    lengths = [len(bag) for one in features for bag in one]
    columns = np.fromiter((n for one in features for bag in one for n in sorted(bag)), dtype=np.int64)
    scale = np.repeat([1.0 / math.sqrt(max(1, length)) for length in lengths], lengths)
    row = np.repeat(np.arange(len(features)), [sum(map(len, one)) for one in features])
    _, compact, count = np.unique(columns, return_inverse=True, return_counts=True)
    kept = count[compact] > 1
    new = np.cumsum(count > 1) - 1
    starts = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=len(features)))])
    width = max(1, int((count > 1).sum()))
    return Rows(starts.astype(np.intp), new[compact[kept]].astype(np.int32), scale[kept], width)
