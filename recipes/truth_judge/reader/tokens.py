"""An answer as the network sees it: words, punctuation and marks, each with its distance from the subject."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from bowstring.benchmarks.hicupid.stance.names import OTHER, SUBJECT, SUBJECTS
from reader.times import ASKED_DATE, ASKED_TIME, OTHER_DATE, OTHER_TIME

# The first entries of every vocabulary. Padding must have the number 0.
PADDING, UNKNOWN, NUMBER = "<pad>", "<unk>", "<num>"
MARKS = {
    SUBJECT: "<subject>",
    SUBJECTS: "<subject>",
    OTHER: "<other>",
    ASKED_TIME: "<asked time>",
    OTHER_TIME: "<other time>",
    ASKED_DATE: "<asked date>",
    OTHER_DATE: "<other date>",
}
_ENDINGS = ("n't", "'s", "'re", "'ve", "'d", "'ll", "'m")
_PUNCTUATION = ".,!?;:()—–-…"
SPECIAL = (PADDING, UNKNOWN, NUMBER, *dict.fromkeys(MARKS.values()), *_ENDINGS, *_PUNCTUATION)

DISTANCES = 21  # kinds of distance: ten on either side and the subject itself
_FARTHEST = 9
_TOKEN = re.compile(
    rf"[{''.join(MARKS)}]|n't|'(?:s|re|ve|d|ll|m)\b|[^\W\d_]+(?=n't)|[^\W\d_]+|\d+|[{re.escape(_PUNCTUATION)}]"
)
_SPELLED_OUT = (("’", "'"), ("‘", "'"), ("can't", "ca n't"), ("cannot", "can not"), ("won't", "wo n't"))


def tokens_of(marked: str) -> list[str]:
    """The tokens of an answer in which mentions and times are marked."""
    text = marked.lower()
    for form, plain in _SPELLED_OUT:
        text = text.replace(form, plain)
    return [MARKS.get(token, token) for token in _TOKEN.findall(text)]


def numbers_of(tokens: Sequence[str], vocabulary: Mapping[str, int]) -> list[int]:
    """The number of each token in the vocabulary; an unknown word is tried without its ending."""
    return [_number(token, vocabulary) for token in tokens]


def _number(token: str, vocabulary: Mapping[str, int]) -> int:
    if token in vocabulary:
        return vocabulary[token]
    if token.isdigit():
        return vocabulary[NUMBER]
    for ending, other in (("s", ""), ("es", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"), ("ly", "")):
        stem = token.removesuffix(ending) + other
        if token.endswith(ending) and stem in vocabulary:
            return vocabulary[stem]
    return vocabulary[UNKNOWN]


def distances_of(tokens: Sequence[str]) -> list[int]:
    """How far each token is from the nearest mention of the subject, on a logarithmic scale; 0 without a mention."""
    places = [n for n, token in enumerate(tokens) if token == MARKS[SUBJECT]]
    if not places:
        return [0] * len(tokens)
    return [_scaled(min((n - place for place in places), key=abs)) for n in range(len(tokens))]


def _scaled(distance: int) -> int:
    if not distance:
        return 1 + _FARTHEST
    size = min(_FARTHEST, int(1 + 1.7 * math.log2(abs(distance))))
    return 1 + _FARTHEST + (size if distance > 0 else -size)
