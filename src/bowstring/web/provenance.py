"""Where the answers of an item came from: what its record has, and what only the store has.

    sources = ItemSources(root)
    sources.of(entry, "q-17")

A run's folder may come from somebody else. So a store is opened if the user named it, or if it is a regular file beside
the run. The path of a store in run.json is shown, and never opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bowstring.errors import BowstringError
from bowstring.files.escaping import escape_control_characters
from bowstring.files.redaction import error_line, redact
from bowstring.records import text_digest
from bowstring.runs.catalogue import Entry, FileCache, Unreadable, check_plain, read_plain_records
from bowstring.runs.running import STORE_NAME
from bowstring.runs.stored import StoredResponse, look_up

_RUNS = 2  # runs whose sources are cached
_LONG = 2000  # characters of a value
_FILES = ("", ".seal", "-wal", "-shm", "-journal")  # of a store, after its name
# What is shown of a response -> its label on the page.
_LABELS = {
    "role": "role",
    "model": "model",
    "address": "address",
    "response id": "response id",
    "stored": "time stored",
    "settings sent": "settings sent",
    "finish": "finish",
    "engine": "engine",
    "precision": "precision",
    "key": "store key",
}


@dataclass(frozen=True, slots=True)
class ShownSource:
    """Where one answer came from: labels with texts, and what has to be said of it."""

    lines: list[tuple[str, str]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class ShownSources:
    """The sources of an item, those of the evaluated model first, and what has to be said of all of them."""

    sources: list[ShownSource]
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class ItemSources:
    """The sources of the items of runs below `root`. `store` is the store that the user named, if any."""

    def __init__(self, root: Path, store: Path | None = None) -> None:
        self._root, self._store = root, store
        self._of_runs = FileCache(_read_sources, ("run.json", "records.jsonl"), most=_RUNS)

    def of(self, run: Entry, key: str) -> ShownSources | None:
        """Return the sources of an item by its key, as it is shown on the page; None if there is no such item."""
        found = self._of_runs.of(run.path).get(key)
        if found is None:
            return None
        if not found:
            return ShownSources([], "The record of this item has no sources.")
        path = self._store or self._beside(run.path)
        try:
            stored = self._stored(path, found)
        except (BowstringError, Unreadable, OSError) as error:
            notes = [f"Address, response id and time are not shown: {self._short(error)}.", self._named(run, path)]
            return ShownSources([_from_record(run, source) for source in found], " ".join(filter(None, notes)))
        missing = any(_key(source) not in stored for source in found)
        shown = [_from_both(run, source, stored.get(_key(source))) for source in found]
        return ShownSources(shown, self._named(run, path) if missing else "")

    def _beside(self, run: Path) -> Path:
        """Return the store beside a run, or beside the sweep that the run is part of."""
        folders = [folder for folder in run.parents if folder.is_relative_to(self._root)]
        paths = [folder / STORE_NAME for folder in folders]
        return next((path for path in paths if os.path.lexists(path)), paths[0])

    def _stored(self, path: Path, sources: Sequence[Mapping[str, Any]]) -> dict[str, StoredResponse]:
        if self._store is None:
            for end in _FILES:
                if os.path.lexists(file := path.with_name(path.name + end)):
                    check_plain(file)  # links are not followed here, but where the user names a store
        return look_up(path, {_key(source) for source in sources})

    def _short(self, error: Exception) -> str:
        return _text(error_line(error, limit=None).replace(f"{self._root}{os.sep}", ""))

    def _named(self, run: Entry, path: Path) -> str:
        """Return a sentence about the store that the run used, if that is another path."""
        named = run.manifest.get("store")
        if not isinstance(named, str) or os.path.abspath(named) == os.path.abspath(path):
            return ""
        return f"By its run.json, this run used the store {_text(named)}."


def _read_sources(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the sources of all items, by their keys as the page shows them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in read_plain_records(folder):
        sources = record.get("sources")
        listed = [one for one in sources if isinstance(one, dict)] if isinstance(sources, list) else []
        listed.sort(key=lambda source: source.get("role") != "model")
        found.setdefault(escape_control_characters(record["key"]), listed)
    return found


def _key(source: Mapping[str, Any]) -> str:
    return str(source.get("key", ""))


def _from_both(run: Entry, source: Mapping[str, Any], row: StoredResponse | None) -> ShownSource:
    """The record says what was used. The store adds the rest, if it still has that response."""
    if row is None:
        note = "The store has no such response. It was removed, or the run used another store (--store PATH)."
        return _from_record(run, source, note=note)
    if source.get("text", known := text_digest(row.text)) != known:
        note = f"The store has another response to this request, stored {row.when}: it was replaced."
        return _from_record(run, source, note=note)
    if row.stored_at >= run.when.timestamp() + 1:  # run.json is written when a run has ended, in whole seconds
        note = f"The store has a newer response to this request, stored {row.when}, after the run had ended."
        return _from_record(run, source, note=note)
    return _from_record(run, source, row.about())


def _from_record(
    run: Entry, source: Mapping[str, Any], rest: Mapping[str, str] | None = None, *, note: str = ""
) -> ShownSource:
    role = source.get("role")
    record = {
        "role": role,
        "settings sent": source.get("sent"),
        "finish": source.get("finish"),
        "engine": source.get("engine"),
        "precision": source.get("precision"),
        "key": source.get("key"),
    }
    known = {"model": run.configuration.get(str(role)), **(rest or {})}
    known |= {name: value for name, value in record.items() if value}
    return ShownSource([(label, _text(known[name])) for name, label in _LABELS.items() if known.get(name)], note)


def _text(value: object) -> str:
    """Return a value as text to show, without secrets and control characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = escape_control_characters(redact(text[: 10 * _LONG]))  # cut after redaction, so that no partial key remains
    return text if len(text) <= _LONG else f"{text[:_LONG]} …"
