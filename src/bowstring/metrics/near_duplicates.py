"""Near-duplicates among many texts, by MinHash: texts with nearly the same words in nearly the same order.

    one = Shingles.of(["Try the new bakery.", "Try the new bakery!", "Take the train."])
    one.repeated()  # [True, True, False]

Two texts are near-duplicates if the Jaccard similarity of their words and pairs of neighbouring words is at least
`ALIKE`. Candidates come from locality-sensitive hashing and are checked exactly, so what is found is right; of pairs at
the limit about 4% are missed, of closer ones fewer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

ALIKE = 0.65
_BANDS, _ROWS = 16, 4
_NEIGHBOURS = 4  # candidates per text and band
_CHUNK = 1 << 21  # shingles at a time
_WORD = re.compile(r"\w+")
_ODD = np.uint64(0x9E3779B97F4A7C15)


def normalized(text: str) -> str:
    """Return a text without case and punctuation: equal for verbatim repeats."""
    return " ".join(_WORD.findall(text.lower()))


@dataclass(frozen=True, slots=True)
class Shingles:
    """The words and word pairs of texts as hashes, sorted and distinct within each text, with MinHash bands."""

    starts: Places
    hashes: Hashes
    bands: Hashes  # texts x bands

    @classmethod
    def of(cls, texts: Sequence[str], groups: Sequence[str] | None = None) -> Shingles:
        """`texts` may be normalized already. With `groups`, only texts of one group are compared."""
        ids: dict[str, int] = {}
        lengths: list[int] = []
        parts: list[Hashes] = []
        waiting: list[int] = []
        begun = 0

        def shingle() -> None:
            nonlocal begun
            parts.append(_distinct(np.asarray(waiting, dtype=np.uint64), lengths[begun:], counts))
            waiting.clear()
            begun = len(lengths)

        counts: list[int] = []
        for text in texts:
            words = _WORD.findall(text.lower())
            lengths.append(len(words))
            for word in words:
                if (known := ids.get(word)) is None:
                    known = ids[word] = crc32(word.encode("utf-8", "replace"))
                waiting.append(known)
            if len(waiting) >= _CHUNK:
                shingle()
        shingle()
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        hashes = np.concatenate(parts)
        bands = _bands(starts, hashes)
        if groups is not None:
            of_group = {name: crc32(name.encode("utf-8", "replace")) for name in dict.fromkeys(groups)}
            bands ^= _mixed(np.asarray([of_group[name] for name in groups], dtype=np.uint64) + np.uint64(1))[:, None]
        return cls(starts, hashes, bands)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def repeated(self) -> Flags:
        """Whether each text has a near-duplicate among the others."""
        return _matched(self, self, same=True)

    def within(self, others: Shingles) -> Flags:
        """Whether each text has a near-duplicate among other texts."""
        return _matched(self, others, same=False)

    def _set(self, text: int) -> frozenset[int]:
        return frozenset(self.hashes[self.starts[text] : self.starts[text + 1]].tolist())

    def alike(self, text: int, others: Shingles, other: int) -> bool:
        one, two = self._set(text), others._set(other)
        shared = len(one & two)
        return shared > 0 and shared >= ALIKE * (len(one) + len(two) - shared)


def _mixed(values: Hashes) -> Hashes:
    values = (values ^ (values >> np.uint64(31))) * np.uint64(0x7FB5D329728EA185)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x81DADEF4BC2DD44D)
    mixed: Hashes = values ^ (values >> np.uint64(33))
    return mixed


def _distinct(words: Hashes, lengths: Sequence[int], counts: list[int]) -> Hashes:
    """Return the distinct shingles of each text, one text after another; their numbers are added to `counts`."""
    text = np.repeat(np.arange(len(lengths)), lengths)
    single = _mixed(words + np.uint64(1))
    inside = text[1:] == text[:-1]
    paired = _mixed(single[:-1][inside] * _ODD + single[1:][inside])
    hashes, owner = np.concatenate([single, paired]), np.concatenate([text, text[1:][inside]])
    order = np.lexsort((hashes, owner))
    hashes, owner = hashes[order], owner[order]
    new = np.ones(len(hashes), dtype=bool)
    new[1:] = (hashes[1:] != hashes[:-1]) | (owner[1:] != owner[:-1])
    counts += np.bincount(owner[new], minlength=len(lengths)).tolist()
    distinct: Hashes = hashes[new]
    return distinct


def _bands(starts: Places, hashes: Hashes) -> Hashes:
    """Return one hash per text and band. Texts without words have bands of their own."""
    number = len(starts) - 1
    bands = np.zeros((number, _BANDS), dtype=np.uint64)
    there = np.flatnonzero(np.diff(starts))
    bands[np.diff(starts) == 0] = np.arange(number, dtype=np.uint64)[np.diff(starts) == 0][:, None]
    for begin in range(0, len(there), 65536):
        texts = there[begin : begin + 65536]
        first, last = starts[texts[0]], starts[texts[-1] + 1]
        own = starts[texts] - first
        part = hashes[first:last]
        for band in range(_BANDS):
            combined = np.zeros(len(texts), dtype=np.uint64)
            for row in range(_ROWS):
                salt = np.uint64((1 + band * _ROWS + row) * int(_ODD) % 2**64)
                combined = _mixed(combined * _ODD + np.minimum.reduceat(_mixed(part ^ salt), own))
            bands[texts, band] = combined
    return bands


def _matched(one: Shingles, others: Shingles, *, same: bool) -> Flags:
    found = np.zeros(len(one), dtype=bool)
    failed: set[tuple[int, int]] = set()
    for band in range(_BANDS if len(others) else 0):
        order = np.argsort(others.bands[:, band], kind="stable")
        keys = others.bands[order, band]
        rest = np.flatnonzero(~found)
        begins = np.searchsorted(keys, one.bands[rest, band])
        for offset in range(_NEIGHBOURS + same):
            at = begins + offset
            inside = at < len(keys)
            texts, at = rest[inside], at[inside]
            texts, candidates = texts[hit := keys[at] == one.bands[texts, band]], order[at[hit]]
            for text, other in zip(texts.tolist(), candidates.tolist(), strict=True):
                if (same and text == other) or found[text] or (text, other) in failed:
                    continue
                if one.alike(text, others, other):
                    found[text] = True
                    if same:
                        found[other] = True
                else:
                    failed.add((text, other))
    return found
