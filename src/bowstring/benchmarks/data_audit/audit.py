"""The audit of any data set: duplicates, train–test overlap, balance, position of the evidence. Benchmarks add guesses.

A benchmark overrides the parts in which its sets differ, and `guesses`, which needs to know what is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from bowstring.benchmarks.data_audit.findings import DataFinding, Words, centred, counted, guessed, placed, share
from bowstring.benchmarks.data_audit.guessing import guess_by_rule
from bowstring.benchmarks.interface import Noun
from bowstring.datasets.dataset import DataSet
from bowstring.metrics.clusters import Score
from bowstring.metrics.near_duplicates import ALIKE, Shingles, normalized
from bowstring.seeding import seeded_number

MOST_REPEATED = 5.0  # percent of texts that nearly repeat another
MOST_OVERLAP = 10.0  # percent of test questions that occur in train
SAMPLED = 1000  # texts among which repeats across the set are counted
MOST_SAME = 5.0  # percent of answers that are one and the same text
MOST_ONE_SIDE = 65.0
TRAIN = "train"


class Column(NamedTuple):
    """Texts of one kind, with their users."""

    name: str
    users: Sequence[str]
    texts: Sequence[str]


@dataclass(frozen=True)
class DataAudit:
    """`cluster` and `item` are the benchmark's words."""

    cluster: Noun
    item: Noun
    order_by_design: ClassVar[str] = ""  # how a benchmark orders its dialogues on purpose

    def findings(self, data: DataSet, tell: Callable[[str], None] = lambda line: None) -> Iterator[DataFinding]:
        tell("Guessing without the history …")
        yield from self.guesses(data)
        tell("Searching for duplicates …")
        yield from self._overlap(data)
        for column in self.answers(data):
            yield from self._answers(column)
        for column in self.turns(data):
            yield from self._turns(column)
        yield from self._positions(data)
        yield from self.balance(data)

    # What a benchmark may override.

    def guesses(self, data: DataSet) -> Iterator[DataFinding]:  # noqa: ARG002
        """What can be guessed without the history, and by shortcuts."""
        yield from ()

    def user_of(self, data: DataSet, item: Any) -> str:
        return data.history_key(item)

    def files_beside(self, data: DataSet) -> Sequence[Path]:  # noqa: ARG002
        """Files beside the set that the audit has read."""
        return ()

    def answers(self, data: DataSet) -> Iterator[Column]:
        """The texts of items other than what is asked."""
        columns: dict[str, list[tuple[str, str]]] = {}
        for item in data.items():
            for field, text in data.texts(item):
                if text != data.asked(item):
                    columns.setdefault(field, []).append((self.user_of(data, item), text))
        for field, rows in columns.items():
            yield Column(field.replace("_", " "), *zip(*rows, strict=True))

    def turns(self, data: DataSet) -> Iterator[Column]:
        """The messages of the histories, by role."""
        for role in ("user", "assistant"):
            users: list[str] = []
            texts: list[str] = []
            for key in data.history_keys():
                for dialogue in data.history_named(key):
                    said = [message.text for message in dialogue.messages if message.role == role]
                    users += [key] * len(said)
                    texts += said
            if texts:
                yield Column(f"messages of the {role}", users, texts)

    def balance(self, data: DataSet) -> Iterator[DataFinding]:
        yield self.largest_group("type", [(self.user_of(data, i), str(i.type)) for i in data.items()])

    # Checks.

    def largest_group(self, axis: str, members: Sequence[tuple[str, str]], most: float | None = None) -> DataFinding:
        """The share of the largest group; a problem above `most`."""
        counts = Counter(group for _, group in members)
        largest = max(sorted(counts), key=counts.__getitem__, default="")
        hits = [(user, group == largest) for user, group in members]
        name = f"largest {axis} ({largest or 'none'})"
        if most is None:
            number = len(counts)
            meaning = f"{number:,} of them; equal shares would be {100 / max(1, number):.1f} each."
            return counted("balance", name, hits, meaning, self.cluster)
        words = Words(
            "No side is much more frequent than the other.",
            f"Always guessing {largest} is right this often.",
            f"{largest} is too frequent",
            f"the {axis} is {largest} most of the time",
        )
        return share("balance", name, hits, most, words, self.cluster)

    def _overlap(self, data: DataSet) -> Iterator[DataFinding]:
        by_split: dict[str, list[tuple[str, str]]] = {}
        for item in data.items():
            row = (self.user_of(data, item), normalized(data.asked(item)))
            by_split.setdefault(data.split_of(item), []).append(row)
        trained = by_split.pop(TRAIN, None)
        if trained is None:
            return
        known = {text for _, text in trained}
        shingles = Shingles.of(sorted(known))
        for split, rows in by_split.items():
            verbatim = [(user, text in known) for user, text in rows]
            words = Words(
                f"Few {self.item.many} of {split} were seen in training.",
                f"A model trained on this set has seen these {self.item.many} of {split}, with an answer.",
                f"{split} overlaps with {TRAIN}",
                f"{self.item.many} of {split} are verbatim in {TRAIN}",
            )
            name = f"{self.item.many} of {split} that are in {TRAIN}"
            yield share("overlap", f"{name} verbatim", verbatim, MOST_OVERLAP, words, self.cluster)
            near = Shingles.of([text for _, text in rows]).within(shingles).tolist()
            said = f"Verbatim, or with at least {ALIKE:.0%} of words and word pairs in common with one of {TRAIN}."
            hits = [(user, hit) for (user, _), hit in zip(rows, near, strict=True)]
            yield counted("overlap", f"{name} nearly", hits, said, self.cluster)

    def _answers(self, column: Column) -> Iterator[DataFinding]:
        texts = [normalized(text) for text in column.texts]
        counts = Counter(texts)
        frequent = counts.most_common(1)[0][0]
        words = Words(
            "No text is given for everything.",
            f'One text stands for many items: "{frequent[:60]}".',
            "one text is too frequent",
            f"one text is the {column.name} of many {self.item.many}",
        )
        same = [(user, text == frequent) for user, text in zip(column.users, texts, strict=True)]
        yield share("duplicates", f"{column.name}: the most frequent text", same, MOST_SAME, words, self.cluster)
        yield self._repeated(column)
        yield self._in_the_set(column, texts, counts)

    def _turns(self, column: Column) -> Iterator[DataFinding]:
        yield self._repeated(column)
        texts = [normalized(text) for text in column.texts]
        yield self._in_the_set(column, texts, Counter(texts))

    def _repeated(self, column: Column) -> DataFinding:
        near = Shingles.of(column.texts, column.users).repeated().tolist()
        one = self.cluster.one
        words = Words(
            f"Texts of one {one} hardly repeat each other.",
            f"Texts repeat, with few other words, what the same {one} has elsewhere: made from few templates.",
            "texts repeat themselves",
            f"{column.name} nearly repeat another of the same {one}",
        )
        name = f"{column.name}: near-duplicates of another of the same {one}"
        hits = list(zip(column.users, near, strict=True))
        return share("duplicates", name, hits, MOST_REPEATED, words, self.cluster)

    def _in_the_set(self, column: Column, texts: Sequence[str], counts: Counter[str]) -> DataFinding:
        """Repeats in a sample of fixed size, so that sets of different sizes can be compared."""
        order = sorted(range(len(texts)), key=lambda n: seeded_number(0, column.name, str(n)))[:SAMPLED]
        near = Shingles.of([texts[n] for n in order]).repeated().tolist()
        hits = [(column.users[n], hit) for n, hit in zip(order, near, strict=True)]
        distinct = f"{len(counts):,} of {len(texts):,} texts are distinct."
        words = Words(
            f"Different {self.cluster.many} have different texts. {distinct}",
            f"{self.cluster.many.capitalize()} have the same texts with few other words: the set holds less than its "
            f"size suggests. {distinct}",
            "texts repeat across the set",
            f"{column.name} nearly repeat those of other {self.cluster.many}",
        )
        name = f"{column.name}: near-duplicates among {len(order):,} at random"
        return share("duplicates", name, hits, MOST_REPEATED, words, self.cluster)

    def _positions(self, data: DataSet) -> Iterator[DataFinding]:
        places: list[Score] = []
        last: list[tuple[str, float, float]] = []
        lengths: dict[str, list[int]] = {}
        for item in data.items():
            key = data.history_key(item)
            if key not in lengths:
                lengths[key] = [dialogue.id for dialogue in data.history_named(key)]
            at = [lengths[key].index(one) for one in item.evidence if one in lengths[key]]
            number = len(lengths[key])
            if not at or number < 2:
                continue
            user = self.user_of(data, item)
            places.append(Score(user, sum(at) / len(at) / (number - 1)))
            last.append((user, float(number - 1 in at), len(at) / number))
        place = "mean place of the evidence, 0 first to 100 last"
        if self.order_by_design:
            yield placed("position", place, places, self.order_by_design, self.cluster)
            return
        words = Words(
            "The evidence is anywhere in the history.",
            "The evidence is not spread over the history: a reader of one end of it has an advantage.",
            "the evidence is spread over the history",
            "the evidence is mostly at one end of the history",
        )
        yield centred("position", place, places, 50, 10, words, self.cluster)
        words = Words(
            "The last dialogue holds the evidence no more often than any other.",
            "Reading only the last dialogue finds the evidence too often.",
            "the last dialogue is special",
            "the last dialogue holds the evidence",
        )
        yield guessed("position", "the last dialogue is evidence", guess_by_rule(last), words, self.cluster)
