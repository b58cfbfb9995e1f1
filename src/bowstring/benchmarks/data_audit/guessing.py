"""How often a classifier that never sees a history guesses right, with cross-validation grouped by user.

guess_label([Labelled("user 1", "POS", style("…")), …])     # balanced accuracy
guess_option([Options("user 1", (pairs(q, a), pairs(q, b)), right=0), …])     # share of right choices
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from bowstring.benchmarks.data_audit.features import Features, rows_of
from bowstring.metrics.choice_model import Choices, Places, Rows, cross_validated
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import Estimate, estimate
from bowstring.metrics.linear import numbered
from bowstring.seeding import seeded_number

LARGEST = 4000  # texts that a classifier is fitted on; more users are left out at random
_FOLDS = 5
T = TypeVar("T")


class Labelled(NamedTuple):
    """A text with its class. With `text`, the same text of another user is not learned from: of two users with one
    question and opposite sides, each would be guessed from the other."""

    cluster: str
    label: str
    features: Features
    text: str | None = None


class Options(NamedTuple):
    """Options, one of which is right; `fold` if it is not left to `guess_option`, `text` as in `Labelled`."""

    cluster: str
    features: Sequence[Features]
    right: int
    fold: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Guess:
    """How often a guess is right, 0 to 100, and how often a guess at random would be."""

    found: Estimate
    chance: float


def guess_label(items: Sequence[Labelled]) -> Guess | None:
    """Balanced accuracy: the mean over classes of the share that is recognized. None if there is nothing to guess."""
    classes = sorted({item.label for item in items})
    if len(classes) < 2 or len({item.cluster for item in items}) < 2:
        return None
    place = {label: n for n, label in enumerate(classes)}
    rows = rows_of([item.features for item in items])
    right = [place[item.label] for item in items]
    choices = Choices.of(_per_class(rows, len(classes)), [len(classes)] * len(items), right)
    fold, text = folds_of([item.cluster for item in items]), _texts([item.text for item in items])
    hits = cross_validated(choices, fold, text=text, label=np.asarray(right, dtype=np.intp))
    scores: dict[str, list[Score]] = {label: [] for label in classes}
    for item, hit in zip(items, hits.tolist(), strict=True):
        scores[item.label].append(Score(item.cluster, hit))
    found = estimate(scores, lambda means: 100 * np.mean([*means.values()], axis=0), ends=(0.0, 1.0))
    return None if found is None else Guess(found, 100 / len(classes))


def _per_class(rows: Rows, classes: int) -> Rows:
    """Each row once per class, with features of that class alone, and one feature for the class itself. The first of
    two classes has none: one set of coefficients is enough."""
    lengths = np.diff(rows.starts)
    repeated = rows.take(np.repeat(np.arange(len(rows)), classes))
    which = np.tile(np.arange(classes), len(rows))
    own = np.repeat(which, np.repeat(lengths, classes))
    columns = repeated.columns + own * rows.width
    kept = own > 0 if classes == 2 else np.ones(len(own), dtype=bool)
    per_row = np.bincount(np.repeat(np.arange(len(which)), np.repeat(lengths, classes))[kept], minlength=len(which))
    starts = np.concatenate([[0], np.cumsum(per_row)]).astype(np.intp)
    return Rows(starts, columns[kept].astype(np.int32), repeated.values[kept], rows.width * classes)


def guess_option(items: Sequence[Options]) -> Guess | None:
    """The share of items whose right option gets the highest score; ties count in part."""
    items = [item for item in items if len(item.features) > 1]
    if len({item.cluster for item in items}) < 2:
        return None
    rows = rows_of([features for item in items for features in item.features])
    choices = Choices.of(rows, [len(item.features) for item in items], [item.right for item in items])
    dealt = folds_of([item.cluster for item in items])
    fold = [own if item.fold is None else item.fold for item, own in zip(items, dealt.tolist(), strict=True)]
    text = _texts([item.text for item in items])
    hits = cross_validated(choices, np.asarray(fold, dtype=np.intp), text=text)
    chances = [1 / len(item.features) for item in items]
    return guess_by_rule(zip((item.cluster for item in items), hits.tolist(), chances, strict=True))


def _texts(texts: Sequence[str | None]) -> Places | None:
    """The number of each text; None if there are none."""
    return None if None in texts else numbered([str(text) for text in texts])


def guess_by_rule(hits: Iterable[tuple[str, float, float]]) -> Guess | None:
    """The share of right guesses, from rows of (cluster, whether it is right, its chance)."""
    listed = list(hits)
    if not listed:
        return None
    found = estimate({"x": [Score(c, hit) for c, hit, _ in listed]}, lambda means: 100 * means["x"], ends=(0.0, 1.0))
    return None if found is None else Guess(found, 100 * sum(chance for *_, chance in listed) / len(listed))


def best_share(values: Sequence[float], right: int) -> float:
    """1 if the right option has the highest value, its share if several have, otherwise 0."""
    best = max(values)
    return 1 / sum(value == best for value in values) if values[right] == best else 0.0


def folds_of(clusters: Sequence[str]) -> Places:
    """The fold of each item: users in random order, dealt into folds."""
    order = sorted(set(clusters), key=lambda cluster: seeded_number(0, "fold", cluster))
    number = max(2, min(_FOLDS, len(order) // 2))
    fold = {cluster: n % number for n, cluster in enumerate(order)}
    return np.asarray([fold[cluster] for cluster in clusters], dtype=np.intp)


def with_another(
    items: Sequence[T], cluster_of: Callable[[T], str], kind_of: Callable[[T], str], text_of: Callable[[T], str]
) -> Iterator[tuple[T, T, int]]:
    """Each item with one of the same kind and of another user at random, and their fold.

    Both are of one fold. Otherwise a text that is right in one fold would be the wrong one in another, a classifier
    would learn that it is wrong, and guess worse than chance whatever it could know.
    """
    folds = folds_of([cluster_of(item) for item in items]).tolist()
    listed: dict[tuple[str, int], list[T]] = {}
    for item, fold in zip(items, folds, strict=True):
        listed.setdefault((kind_of(item), fold), []).append(item)
    for n, (item, fold) in enumerate(zip(items, folds, strict=True)):
        others = listed[kind_of(item), fold]
        begin = seeded_number(0, "another user", cluster_of(item), str(n))
        for step in range(len(others)):
            other = others[(begin + step) % len(others)]
            if cluster_of(other) != cluster_of(item) and text_of(other).lower() != text_of(item).lower():
                yield item, other, fold
                break


def sample_of_users(items: Sequence[T], cluster_of: Callable[[T], str], most: int = LARGEST) -> list[T]:
    """All items of some users, chosen at random until there are `most`, in order; all items if there are fewer."""
    by_user: dict[str, int] = {}
    for item in items:
        by_user[cluster_of(item)] = by_user.get(cluster_of(item), 0) + 1
    chosen: set[str] = set()
    number = 0
    for user in sorted(by_user, key=lambda user: seeded_number(0, "data audit", user)):
        if number and number + by_user[user] > most:
            break
        chosen.add(user)
        number += by_user[user]
    return [item for item in items if cluster_of(item) in chosen]


def shuffled_within(items: Sequence[Labelled]) -> list[Labelled]:
    """The same texts with the classes of each user shuffled: nothing can be guessed any more."""
    by_user: dict[str, list[int]] = {}
    for n, item in enumerate(items):
        by_user.setdefault(item.cluster, []).append(n)
    found = list(items)
    for user, places in by_user.items():
        order = sorted(places, key=lambda n: seeded_number(0, "shuffle", user, str(n)))
        for here, there in zip(places, order, strict=True):
            found[here] = items[here]._replace(label=items[there].label)
    return found
