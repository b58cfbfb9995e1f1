"""Extract JSON from a model's output and validate it.

>>> read_checklist('Sure!\\n```json\\n{"checklist": ["Is it short?"]}\\n```')
('Is it short?',)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

LABELS = {"fully covered": 1.0, "partially covered": 0.5, "not covered": 0.0}
MOST_ITEMS = 4
_OPENING = re.compile(r"[\[{]")
_TRIES = 200  # maximum parse attempts in a text full of brackets


class Unreadable(ValueError):
    """Why a text could not be parsed; the model is told once, when it is asked again.

    The message is part of a request: another wording is another request, whose answer is not in any store.
    """


def read_checklist(text: str) -> tuple[str, ...]:
    """Return the items of a checklist, at most four; raise Unreadable."""
    return read_keyed(text, "checklist", _to_checklist)


def read_labels(text: str, items: Sequence[str]) -> tuple[float, ...]:
    """Return how far each item is covered, in item order; raise Unreadable.

    The index decides which item a label belongs to. The entry's text is used only if an index is missing, duplicate or
    out of range; if that leaves any ambiguity, the whole output is unreadable.
    """
    return read_keyed(text, "results", lambda value: _to_labels(value, items))


def read_only(text: str, key: str, convert: Callable[[Any], T]) -> T | None:
    """Return the value of the only object with the key, or None if there is no such object at all.

    Raises Unreadable if there are several that do not say the same, or one that is nested, cut or damaged: a draft must
    not pass for the answer.
    """
    keyed = [value for value in _values(text) if isinstance(value, dict) and key in value]
    if text.count(f'"{key}"') != len(keyed):
        raise Unreadable(f'there is a "{key}" that cannot be read')
    found = [convert(value) for value in keyed]
    if any(one != found[0] for one in found):
        raise Unreadable(f'there are several "{key}"')
    return found[0] if found else None


def read_keyed(text: str, key: str, convert: Callable[[Any], T]) -> T:
    """Return the last matching value in the text, because models correct themselves.

    Objects with the key match; bare lists match only if there is no such object. A value nested inside another is never
    read on its own.
    """
    values = list(_values(text))
    keyed = [v for v in values if isinstance(v, dict) and key in v]
    meant: list[Any] = keyed or [v for v in values if isinstance(v, list)]
    reason: str | None = None
    for value in reversed(meant):
        try:
            return convert(value)
        except Unreadable as error:
            reason = reason or str(error)
    raise Unreadable(reason or ("no JSON was found" if not values else f'the JSON has no "{key}"'))


def outside_json(text: str) -> str:
    """Return a text without its JSON objects and lists."""
    kept, at = [], 0
    for _, start, end in _spans(text):
        kept.append(text[at:start])
        at = end
    return "".join((*kept, text[at:]))


def _values(text: str) -> Iterator[Any]:
    """Yield the outermost JSON objects and lists of a text, in order."""
    return (value for value, _, _ in _spans(text))


def _spans(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yield the outermost JSON objects and lists of a text, with their places."""
    at, tries = 0, 0
    while (start := _OPENING.search(text, at)) is not None and tries < _TRIES:
        tries += 1
        try:
            value, at = json.JSONDecoder().raw_decode(text, start.start())
        except (ValueError, RecursionError):
            at = start.start() + 1
            continue
        yield value, start.start(), at


def _to_checklist(value: Any) -> tuple[str, ...]:
    if isinstance(value, dict):
        value = value["checklist"]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Unreadable('expected {"checklist": [...]} with a list of texts')
    items = tuple(" ".join(item.split()) for item in value if item.strip())
    if not 1 <= len(items) <= MOST_ITEMS:
        raise Unreadable(f"expected 1 to {MOST_ITEMS} items; there are {len(items)}")
    return items


def _to_labels(value: Any, items: Sequence[str]) -> tuple[float, ...]:
    results = value["results"] if isinstance(value, dict) else value
    if not isinstance(results, list) or not all(isinstance(r, dict) for r in results):
        raise Unreadable('expected {"results": [{"index": 1, "entry": "…", "label": "…"}]}')
    if len(results) != len(items):
        raise Unreadable(f"expected {len(items)} results; there are {len(results)}")
    labels = [_to_label(r.get("label")) for r in results]
    places = _places(results, items)
    return tuple(labels[places.index(n)] for n in range(len(items)))


def label_score(label: Any) -> float | None:
    """Return how far a label says that an item is covered, in any case and punctuation; None if it is none of ours."""
    return LABELS.get(" ".join(re.findall(r"[a-z]+", label.lower()))) if isinstance(label, str) else None


def _to_label(value: Any) -> float:
    if (score := label_score(value)) is None:
        raise Unreadable(f"{value!r:.40} is no label; expected Fully Covered, Partially Covered or Not Covered")
    return score


def _places(results: Sequence[dict[str, Any]], items: Sequence[str]) -> list[int]:
    """Return which item each result is about, counted from 0."""
    claimed = [_index(r.get("index")) for r in results]
    if 0 in claimed:  # counted from 0 or wrong: either way the indices are unreliable
        claimed = [None] * len(results)
    places = [n - 1 if n is not None and 1 <= n <= len(items) and claimed.count(n) == 1 else None for n in claimed]
    open_ = set(range(len(items))) - {p for p in places if p is not None}
    for at, place in enumerate(places):
        if place is None:
            entry = _plain(results[at].get("entry"))
            same = [n for n in open_ if _plain(items[n]) == entry]
            if len(same) != 1:
                raise Unreadable(f"it is not clear which item result {at + 1} is about")
            places[at] = same[0]
            open_.discard(same[0])
    return [p for p in places if p is not None]


def _index(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,3}\.?\s*", value):
        return int(value.strip(" ."))
    return None


def _plain(value: Any) -> str:
    return " ".join(re.findall(r"\w+", value.lower())) if isinstance(value, str) else ""
