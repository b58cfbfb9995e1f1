"""Statistics of a data set: counts, lengths, balance. Numbers only; display is up to the caller."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

from bowstring.models.tokens import TokenCounter
from bowstring.records import History

_AT_ONCE = 50  # histories tokenized at a time


@dataclass(frozen=True, slots=True)
class Spread:
    n: int
    mean: float
    sd: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        n = len(values)
        mean = math.fsum(values) / n if n else 0.0
        sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)) if n > 1 else 0.0
        return cls(n, mean, sd, max(values, default=0))


class CountTable(NamedTuple):
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Description:
    """`about` holds everything, ready for JSON: at least name, benchmark, parts, lengths, tokenizer and balance."""

    about: Mapping[str, Any]
    headline: str
    counts: CountTable
    items: int
    summary: str  # a sentence or two for the dataset card
    card_counts: CountTable | None = None  # if the card shows a different table
    attributes: str = "occupation and role"  # attributes of the people in it that may be stereotyped


def words(text: str) -> int:
    return len(text.split())


def texts_of(history: History) -> Iterator[str]:
    return (message.text for dialogue in history for message in dialogue.messages)


def describe_histories(histories: Iterable[History], counter: TokenCounter | None) -> tuple[list[float], list[float]]:
    """Return the words and, with a counter, the tokens per history: sums over messages, without template tokens."""
    word_counts: list[float] = []
    tokens: list[float] = []
    left = iter(histories)
    while lot := list(islice(left, _AT_ONCE)):
        word_counts += [sum(map(words, texts_of(history))) for history in lot]
        if counter:
            counts = iter(counter.count(chain.from_iterable(map(texts_of, lot))))
            tokens += [sum(next(counts) for _ in texts_of(history)) for history in lot]
    return word_counts, tokens


def spread_of(values: Iterable[float]) -> Spread:
    return Spread.of(list(values))
