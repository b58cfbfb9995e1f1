"""BM25 Okapi search over one user's history: indexed once, queried many times.

index = Bm25([["a", "b"], ["b", "c"]])
index.scores(["c"])
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, count

import numpy as np
import numpy.typing as npt

K1, B, EPSILON = 1.5, 0.75, 0.25
_WORD = re.compile(r"[^\W_]+")
FUNCTION_WORDS = frozenset(
    _WORD.findall(
        "a about all also am an and any are as at be been being but by can could d did do does doing for from had has "
        "have having he her hers him his how i if in into is it its just let ll may me might more most much must my "
        "no nor not of on or our ours out please re s she should so some such t than that the their theirs them then "
        "there these they this those to too us ve very was we were what when where which while who whom why will with "
        "would you your yours"
    )
)


class Bm25:
    """Scores match rank_bm25's BM25Okapi: a term in more than half of the documents gets a small weight."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._n = len(documents)
        self._ids: dict[str, int] = defaultdict(count().__next__)
        terms = np.fromiter(map(self._ids.__getitem__, chain.from_iterable(documents)), dtype=np.int64)
        lengths = np.array([len(d) for d in documents], dtype=np.int64)
        places = np.repeat(np.arange(self._n), lengths)
        # One row per (term, document), ordered by term: `starts` says where each term's rows begin.
        pairs, counts = np.unique(terms * self._n + places, return_counts=True)
        term, self._places = np.divmod(pairs, self._n) if self._n else (pairs, pairs)
        self._starts: list[int] = np.searchsorted(term, np.arange(len(self._ids) + 1)).tolist()
        frequency = np.diff(self._starts)
        # math.log, the order of the sum and that of the operations are rank_bm25's: others round differently, and
        # documents with nearly the same score change places.
        idf = np.array([math.log(self._n - n + 0.5) - math.log(n + 0.5) for n in range(self._n + 1)])[frequency]
        weight = np.where(idf >= 0, idf, EPSILON * sum(idf.tolist()) / max(len(idf), 1))
        mean = lengths.mean() if terms.size else 1.0
        norm = K1 * (1 - B + B * lengths / mean)
        self._values = weight[term] * (counts * (K1 + 1) / (counts + norm[self._places]))

    def scores(self, query: Sequence[str]) -> npt.NDArray[np.float64]:
        scores = np.zeros(self._n)
        for term in query:
            if (found := self._ids.get(term)) is not None:
                rows = slice(self._starts[found], self._starts[found + 1])
                scores[self._places[rows]] += self._values[rows]  # one row per term and document
        return scores

    def order(self, query: Sequence[str]) -> list[int]:
        """Return all documents, best first; ties in document order."""
        found: list[int] = np.argsort(-self.scores(query), kind="stable").tolist()
        return found


def words(text: str) -> list[str]:
    """Return lower-case words, so that case and punctuation do not matter."""
    return _WORD.findall(text.lower())


def stems(text: str, letters: int = 5) -> list[str]:
    """Return the first letters of content words: 'gardening' matches 'gardens', and 'the' is dropped."""
    return [word[:letters] for word in _WORD.findall(text.lower()) if word not in FUNCTION_WORDS]


def singular(word: str) -> str:
    """Return the singular of a noun, as far as its ending shows."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and re.search(r"(?:ch|sh|ss|x|z)es$", word):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


# Tokenizers. Upstream splits at spaces and keeps case; stems of four letters have the best recall (docs/results.md).
TOKENS: Mapping[str, Callable[[str], list[str]]] = {
    "stems": partial(stems, letters=4),
    "words": words,
    "whitespace": str.split,
}
