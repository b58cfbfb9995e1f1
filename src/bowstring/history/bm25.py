"""BM25 Okapi over one user's history: indexed once, asked many times.

index = Bm25([["a", "b"], ["b", "c"]])
index.scores(["c"])
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

K1, B, EPSILON = 1.5, 0.75, 0.25
_WORD = re.compile(r"[^\W_]+")
_STEM = 5
_FUNCTION_WORDS = frozenset(
    _WORD.findall(
        "a about all also am an and any are as at be been being but by can could d did do does doing for from had has "
        "have having he her hers him his how i if in into is it its just let ll may me might more most much must my "
        "no nor not of on or our ours out please re s she should so some such t than that the their theirs them then "
        "there these they this those to too us ve very was we were what when where which while who whom why will with "
        "would you your yours"
    )
)


class Bm25:
    """Scores as rank_bm25's BM25Okapi gives them: a term in more than half of the documents gets a small weight."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        lengths = np.array([len(d) for d in documents], dtype=np.float64)
        mean = lengths.mean() if len(documents) else 0.0
        self._n = len(documents)
        norm = K1 * (1 - B + B * lengths / mean) if mean else np.full(self._n, K1)
        counts = [Counter(d) for d in documents]
        found: dict[str, list[tuple[int, int]]] = {}
        for at, counted in enumerate(counts):
            for term, count in counted.items():
                found.setdefault(term, []).append((at, count))
        idf = {t: float(np.log(self._n - len(p) + 0.5) - np.log(len(p) + 0.5)) for t, p in found.items()}
        floor = EPSILON * sum(idf.values()) / len(idf) if idf else 0.0
        self._postings: dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = {}
        for term, places in found.items():
            at_ = np.array([p for p, _ in places])
            count_ = np.array([c for _, c in places], dtype=np.float64)
            weight = idf[term] if idf[term] >= 0 else floor
            self._postings[term] = (at_, weight * count_ * (K1 + 1) / (count_ + norm[at_]))

    def scores(self, query: Sequence[str]) -> npt.NDArray[np.float64]:
        scores = np.zeros(self._n)
        for term in query:
            if (posting := self._postings.get(term)) is not None:
                np.add.at(scores, posting[0], posting[1])
        return scores

    def order(self, query: Sequence[str]) -> list[int]:
        """All documents, the best first; of equal ones the earlier."""
        found: list[int] = np.argsort(-self.scores(query), kind="stable").tolist()
        return found


def words(text: str) -> list[str]:
    """Lower-case words: what a search should not miss for a capital or a comma."""
    return _WORD.findall(text.lower())


def stems(text: str) -> list[str]:
    """The first letters of the words that carry meaning: 'gardening' finds 'gardens', 'the' finds nothing."""
    return [word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _FUNCTION_WORDS]


# How texts become terms. Upstream splits at spaces and keeps case; stems find more (docs/results.md).
TOKENS: Mapping[str, Callable[[str], list[str]]] = {"stems": stems, "words": words, "whitespace": str.split}
