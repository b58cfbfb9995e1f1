"""What a control sees of options without the history: their style and words, and how they relate to the question."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bowstring.history.bm25 import Bm25, stems, words

Floats = npt.NDArray[np.float64]
_WORDS = 1024  # columns that words are hashed into
# Words that speak of the user, or turn something down: a gold answer may be told from a general one by them.
_CUES = (
    r"\b(since|because|as|given|knowing|considering) (you|your)\b",
    r"\b(you|your|yours|you're|you've)\b",
    r"\b(remember|mentioned|told|know that|usual|favou?rite|love|enjoy|like|prefer)\b",
    r"\b(avoid|skip|without|instead|rather|leave out|steer clear|not|never|no)\b|n't\b",
    r"\b(already|clash|conflict|same time|appointment|scheduled|booked)\b",
    r"\b(depends|consider|various|options|popular|many|some people|generally)\b",
)
_CUE_PATTERNS = [re.compile(cue, re.IGNORECASE) for cue in _CUES]


class Shown(NamedTuple):
    """A question and the texts of its options."""

    question: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Features:
    """Features of all options of all questions, one row per option: dense columns, and hashed words as (row, column)
    pairs. `starts` are the first rows of the questions, and the number of rows."""

    starts: npt.NDArray[np.int64]
    dense: Floats
    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]

    def beside(self, more: Floats) -> Features:
        return Features(self.starts, np.hstack([self.dense, more]), self.rows, self.columns)


def of_options(shown: Sequence[Shown]) -> Features:
    """Return the features of the options alone."""
    starts = _starts(shown)
    dense = np.vstack([_style(one.options) for one in shown])
    hashed = [np.unique(_hashed(text)) for one in shown for text in one.options]
    rows = np.repeat(np.arange(len(hashed)), [len(own) for own in hashed])
    return Features(starts, _within(dense, starts), rows, np.concatenate(hashed))


def of_questions(shown: Sequence[Shown], near: Sequence[Floats]) -> Floats:
    """Return how each option relates to its question."""
    found = []
    for one, scores in zip(shown, near, strict=True):
        asked, asked_words = set(stems(one.question, 4)), set(words(one.question))
        for text, score in zip(one.options, scores, strict=True):
            own, own_words = set(stems(text, 4)), set(words(text))
            found.append(
                (score, len(own & asked), _share(own & asked, own), _share(own_words & asked_words, own_words))
            )
    return _within(np.array(found, dtype=np.float64), _starts(shown))


def nearness(shown: Sequence[Shown]) -> list[Floats]:
    """Return the BM25 scores of each question's options for it, among the options of all questions."""
    starts = _starts(shown)
    index = Bm25([stems(text, 4) for one in shown for text in one.options])
    asked: dict[str, Floats] = {}
    found = []
    for n, one in enumerate(shown):
        if one.question not in asked:
            asked[one.question] = index.scores(stems(one.question, 4))
        found.append(asked[one.question][starts[n] : starts[n + 1]])
    return found


def _starts(shown: Sequence[Shown]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *(len(one.options) for one in shown)])


def _style(options: Sequence[str]) -> Floats:
    """Return length, marks, cue words, and how alike an option is to the others."""
    own = [set(stems(text, 4)) for text in options]
    lengths = np.array([len(text) for text in options], dtype=np.float64)
    found = []
    for n, text in enumerate(options):
        alike = [_share(own[n] & other, own[n] | other) for m, other in enumerate(own) if m != n]
        spoken = words(text)
        found.append(
            (
                np.log1p(lengths[n]),
                np.log1p(len(spoken)),
                float((lengths < lengths[n]).sum()),
                float(len(re.findall(r"[.!?]", text))),
                float(text.count(",")),
                float("?" in text),
                float("!" in text),
                float(any(c.isdigit() for c in text)),
                sum(map(len, spoken)) / max(1, len(spoken)),
                max(alike, default=0.0),
                sum(alike) / max(1, len(alike)),
                *(float(len(pattern.findall(text))) for pattern in _CUE_PATTERNS),
            )
        )
    return np.array(found)


def _hashed(text: str) -> list[int]:
    spoken = words(text)
    named = chain(spoken, (f"{a} {b}" for a, b in zip(["^", *spoken], spoken, strict=False)))
    return [zlib.crc32(one.encode("utf-8", "surrogatepass")) % _WORDS for one in named]


def _share(part: set[str], whole: set[str]) -> float:
    return len(part) / len(whole) if whole else 0.0


def _within(dense: Floats, starts: npt.NDArray[np.int64]) -> Floats:
    """Return features as differences from the mean of the question's options, in units of their standard deviation."""
    sizes = np.diff(starts)
    means = np.add.reduceat(dense, starts[:-1]) / sizes[:, None]
    centred = dense - np.repeat(means, sizes, axis=0)
    spread = centred.std(axis=0)
    found: Floats = centred / np.where(spread > 1e-9, spread, 1.0)
    return found
