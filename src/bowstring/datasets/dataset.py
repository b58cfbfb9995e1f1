"""A data set in memory, of any benchmark: histories, the items asked about them, and how both are described.

A benchmark's subclass defines its histories and items. Description, display, search and export follow from these and
can be overridden.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Protocol

from bowstring.datasets.describe import CountTable, Description, describe_histories, spread_of, words
from bowstring.datasets.display import Block, Heading, ItemDisplay, Line, Rule
from bowstring.datasets.layout import Parts
from bowstring.datasets.sources import Source
from bowstring.errors import UsageError
from bowstring.models.tokens import TokenCounter
from bowstring.records import Dialogue, History


class AskedItem(Protocol):
    """An item asked about a history: a question or a request."""

    @property
    def key(self) -> str:
        """The item's id in the set, as text; never a path."""
        ...

    @property
    def type(self) -> str: ...

    @property
    def evidence(self) -> tuple[int, ...]:
        """Ids of the dialogues that contain what the answer needs."""
        ...


class DataSet(ABC):
    benchmark: ClassVar[str]
    has_json_layout: ClassVar[bool] = False  # whether it can also be written as JSON
    name: str
    fingerprint: str
    parts: Parts
    source: Source | None = None  # the files it was read from; None for a bundled set

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]: ...

    @abstractmethod
    def items(self) -> Sequence[Any]:
        """All items, in data order; each has the fields of `AskedItem`."""

    @abstractmethod
    def history_keys(self) -> Sequence[str]:
        """The names of the histories, in order."""

    @abstractmethod
    def history_named(self, key: str) -> History: ...

    @abstractmethod
    def history_key(self, item: Any) -> str:
        """Return the name of an item's history."""

    @abstractmethod
    def asked(self, item: Any) -> str:
        """Return the text of an item: the question or the request."""

    def texts(self, item: Any) -> Iterator[tuple[str, str]]:
        """Yield the texts of an item with their field names; these are searched for personal information."""
        yield "question", self.asked(item)

    def split_of(self, item: Any) -> str:
        return str(getattr(item, "split", self.splits[0]))

    def of_splits(self, splits: Sequence[str]) -> DataSet:  # noqa: ARG002
        """Return the set with the items of these splits only, for a layout with several splits in a file."""
        raise UsageError(f"{self.name}: its splits are in one file, and {self.benchmark} cannot read one of them")

    def dialogue_heading(self, item_or_key: str, dialogue: Dialogue) -> str:  # noqa: ARG002
        """Return the heading of a dialogue in the history of this name."""
        return " · ".join(filter(None, (dialogue.kind, dialogue.when)))

    def describe(self, counter: TokenCounter | None) -> Description:
        """Return what `data info` and the dataset card show."""
        items = self.items()
        kinds = list(dict.fromkeys(item.type for item in items))
        by_split = {split: Counter(i.type for i in items if self.split_of(i) == split) for split in self.splits}
        keys = self.history_keys()
        word_counts, tokens = describe_histories((self.history_named(key) for key in keys), counter)
        lengths = {"words per history": spread_of(word_counts)}
        lengths |= {"tokens per history": spread_of(tokens)} if counter else {}
        lengths["words per item"] = spread_of(words(self.asked(item)) for item in items)
        rows = [[split, *(f"{n[kind]:,}" for kind in kinds), f"{n.total():,}"] for split, n in by_split.items()]
        return Description(
            about={
                "name": self.name,
                "benchmark": self.benchmark,
                "histories": len(keys),
                "items": {split: dict(counts) for split, counts in by_split.items()},
                "parts": self.parts,
                "lengths": {name: asdict(spread) for name, spread in lengths.items()},
                "tokenizer": counter.name if counter else None,
                "balance": {},
            },
            headline=f"{self.benchmark}: {_number(keys, 'history', 'histories')}, {_number(items, 'item', 'items')}",
            counts=CountTable(("items", *kinds, "all"), rows),
            items=len(items),
            summary=f"{len(keys):,} histories of dialogues, and {len(items):,} items asked about them.",
        )

    def places(self) -> Iterator[tuple[str, str]]:
        """Yield every text of the set with its place."""
        for key in self.history_keys():
            for dialogue in self.history_named(key):
                for message in dialogue.messages:
                    yield f"{key} dialogue {dialogue.id} {message.role}", message.text
        for item in self.items():
            for field, text in self.texts(item):
                yield f"{item.key} {field}", text

    def look_up(self, id_: str) -> ItemDisplay | None:
        """Return an item or a history by its key, for display; None if there is neither."""
        item = next((i for i in self.items() if i.key == id_), None)
        if item is not None:
            history = self.history_named(self.history_key(item))
            blocks: list[Block] = [Rule(f"{item.key}, {item.type}")]
            blocks += [Line(field, text) for field, text in self.texts(item)]
            blocks += self._read_out(self.history_key(item), [d for d in history if d.id in item.evidence])
            return ItemDisplay({"key": item.key, "type": item.type, **dict(self.texts(item))}, blocks)
        if id_ not in self.history_keys():
            return None
        history = self.history_named(id_)
        dialogues = [
            {"id": d.id, "kind": d.kind, "when": d.when, "messages": [[m.role, m.text] for m in d.messages]}
            for d in history
        ]
        return ItemDisplay({"key": id_, "dialogues": dialogues}, [Rule(id_), *self._read_out(id_, history)])

    def _read_out(self, key: str, dialogues: Sequence[Dialogue]) -> Iterator[Block]:
        for dialogue in dialogues:
            yield Heading(f"dialogue {dialogue.id}, {self.dialogue_heading(key, dialogue)}".rstrip(", "))
            yield from (Line(message.role, message.text) for message in dialogue.messages)

    def ids(self) -> str:
        """Return example ids, for the error that an id does not exist."""
        histories, items = self.history_keys(), self.items()
        return f"items are like {items[0].key}, histories like {histories[0]}"

    def write(self, folder: Path, *, splits: Sequence[str], first: int | None, as_json: bool) -> list[Path]:  # noqa: ARG002
        """Write the set, or a part of it, in its layout; `first` limits it to that many users."""
        raise UsageError(f"{self.benchmark} data sets cannot be exported: the benchmark does not support it")


def _number(counted: Sequence[Any], one: str, many: str) -> str:
    return f"{len(counted):,} {one if len(counted) == 1 else many}"
