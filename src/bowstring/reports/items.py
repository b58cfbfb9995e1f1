"""The items of a run, packed for its page.

The list needs one line per item; answers, verdicts and histories are read one by one. So the page has a small index,
the items in chunks, and each shared history once, all compressed; the script unpacks them on demand. A page of 20,000
items with the histories of 500 users opens as fast as one of 20 items.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from bowstring.benchmarks.view import Histories, Item, ShownDialogue
from bowstring.datasets.dataset import DataSet
from bowstring.files.escaping import escape_control_characters, has_control_characters

_CHUNK = 250  # items
_TITLE = 160  # characters
_MOST = 400_000_000  # characters of history per page; larger pages do not open
_ESCAPED = re.compile(r"\\(?:u00|[rbf])")  # JSON escapes of control characters
_QUICK = 4  # gzip level


class Block(NamedTuple):
    """A compressed part of the page, encoded as text."""

    id: str
    data: str


def histories_of(data: DataSet) -> Histories:
    """The histories of a data set for a page, by their names or by the keys of items."""
    names = frozenset(data.history_keys())

    @cache
    def of_items() -> dict[str, str]:
        return {item.key: data.history_key(item) for item in data.items()}

    def history(given: str) -> list[ShownDialogue]:
        name = given if given in names else of_items().get(given)
        if name is None:
            return []
        return [
            ShownDialogue(
                d.id, data.dialogue_heading(name, d), [(message.role, message.text) for message in d.messages]
            )
            for d in data.history_named(name)
        ]

    return history


def blocks(items: Sequence[Item], histories: Histories | None) -> Iterator[Block]:
    """The chunks, their histories, and the index."""
    if not items:
        return
    for start in range(0, len(items), _CHUNK):
        chunk = [[i.parts, i.history, i.evidence, i.retrieved] for i in items[start : start + _CHUNK]]
        yield _block(f"items-{start // _CHUNK}", chunk)
    told: dict[str, str] = {}
    room = _MOST
    for n, key in enumerate(dict.fromkeys(i.history for i in items) if histories else ()):
        history = histories(key) if histories else ()
        room -= sum(len(text) for dialogue in history for _, text in dialogue.messages)
        if room < 0:
            break
        told[key] = f"history-{n}"
        yield _block(told[key], history)
    index = {
        "facets": list(items[0].facets),
        "numbers": list(items[0].numbers),
        "chunk": _CHUNK,
        "items": [[i.key, i.title[:_TITLE], list(i.facets.values()), list(i.numbers.values())] for i in items],
        "histories": told,
    }
    yield _block("index", index)


def _block(name: str, content: Any) -> Block:
    text = _as_json(content)
    if has_control_characters(text) or _ESCAPED.search(text):  # rare, and checking the whole text is fast
        text = _as_json(_visible(content))
    return Block(name, b64encode(gzip.compress(text.encode("utf-8", "replace"), _QUICK, mtime=0)).decode("ascii"))


def _as_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _visible(content: Any) -> Any:
    """A value with bidirectional control characters in all texts shown as codes."""
    if isinstance(content, str):
        return escape_control_characters(content)
    if isinstance(content, dict):
        return {escape_control_characters(key): _visible(value) for key, value in content.items()}
    return [_visible(part) for part in content] if isinstance(content, list | tuple) else content
