"""Conversion between the published HiCUPID tables and records.

A full-size set has 397,500 turns and 60,000 questions. The tables therefore stay in Arrow, and a user's history is
converted to records on request:

    data = load("path/to/hicupid")
    for question in data.questions("test_2"):
        history = data.history(question.user_id)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bowstring.benchmarks.hicupid.types import Judgement, Persona, Profile, Question, Schedule
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.describe import Description
from bowstring.datasets.display import ItemDisplay
from bowstring.datasets.layout import Parts
from bowstring.datasets.tables import Column, Rows
from bowstring.files.writing import create_file, make_folder
from bowstring.models.tokens import TokenCounter
from bowstring.records import Dialogue, History, Message

PERSONA_FIELDS = ("category", "relation", "entity", "sentiment")
PROFILE_FIELDS = ("age", "gender", "personality", "occupation", "income_range")
SCHEDULE_FIELDS = ("datetime", "event")

# The metadata that a question of each type needs.
NEEDED_METADATA: Mapping[str, tuple[str, ...]] = {
    "persona": ("persona",),
    "profile": ("persona", "profile"),
    "schedule": ("schedule",),
}

DIALOGUE_COLUMNS = (
    Column("user_id", "integer"),
    Column("dialogue_id", "integer"),
    Column("user", "text"),
    Column("assistant", "text"),
    Column("type", "text"),
)
QA_COLUMNS = (
    Column("user_id", "integer"),
    Column("dialogue_id", "list of integers"),
    Column("question_id", "integer"),
    Column("question", "text"),
    Column("personalized_answer", "text"),
    Column("general_answer", "text"),
    Column("type", "text"),
    *(Column(f"metadata.persona.{f}", "text", may_be_null=True) for f in PERSONA_FIELDS),
    Column("metadata.profile.age", "text or integer", may_be_null=True),
    *(Column(f"metadata.profile.{f}", "text", may_be_null=True) for f in PROFILE_FIELDS[1:]),
    *(Column(f"metadata.schedule.{f}", "text", may_be_null=True) for f in SCHEDULE_FIELDS),
)
# The names of these two columns in the published evaluation tables are not confirmed, so other names are accepted.
EVALUATION_COLUMNS = (
    *QA_COLUMNS,
    Column("answer", "text", may_be_blank=True, also=("model_answer", "response", "prediction")),
    Column("answer_is", "text", may_be_null=True, may_be_absent=True),
    Column("judgement", "text", also=("judgment", "evaluation", "verdict")),
)

T = TypeVar("T")

_METADATA = pa.struct(
    [
        pa.field("persona", pa.struct([pa.field(f, pa.string()) for f in PERSONA_FIELDS])),
        pa.field("profile", pa.struct([pa.field(f, pa.string()) for f in PROFILE_FIELDS])),
        pa.field("schedule", pa.struct([pa.field(f, pa.string()) for f in SCHEDULE_FIELDS])),
    ]
)
DIALOGUE_SCHEMA = pa.schema(
    [
        ("user_id", pa.int64()),
        ("dialogue_id", pa.int64()),
        ("user", pa.string()),
        ("assistant", pa.string()),
        ("type", pa.string()),
    ]
)
QA_SCHEMA = pa.schema(
    [
        ("user_id", pa.int64()),
        ("dialogue_id", pa.list_(pa.int64())),
        ("question_id", pa.int64()),
        ("question", pa.string()),
        ("personalized_answer", pa.string()),
        ("general_answer", pa.string()),
        ("type", pa.string()),
        ("metadata", _METADATA),
    ]
)
EVALUATION_SCHEMA = pa.schema(
    [*QA_SCHEMA, ("answer", pa.string()), ("answer_is", pa.string()), ("judgement", pa.string())]
)


class HicupidSet(DataSet):
    """A HiCUPID data set: histories by user, questions and judge transcripts by split."""

    benchmark = "hicupid"

    def __init__(
        self,
        name: str,
        dialogues: Mapping[str, Rows],
        questions: Mapping[str, Rows],
        judgements: Mapping[str, Rows] | None = None,
        *,
        parts: Parts | None = None,
        fingerprint: str = "",
    ) -> None:
        self.name = name
        self.parts = parts or {}
        self.fingerprint = fingerprint
        self._dialogues = dict(dialogues)
        self._questions = dict(questions)
        self._judgements = dict(judgements or {})
        self._place = {
            user: (split, rows)
            for split, part in dialogues.items()
            for user, rows in _rows_by_user(part.integers("user_id")).items()
        }
        self._read: dict[str, tuple[Question, ...]] = {}

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self._questions)

    @property
    def dialogue_splits(self) -> tuple[str, ...]:
        return tuple(self._dialogues)

    @property
    def judgement_splits(self) -> tuple[str, ...]:
        return tuple(self._judgements)

    @property
    def user_ids(self) -> tuple[int, ...]:
        """Every user with a history, in the order of the files."""
        return tuple(self._place)

    def items(self) -> tuple[Question, ...]:
        return self.questions()

    def history_keys(self) -> tuple[str, ...]:
        return tuple(map(str, self._place))

    def history_named(self, key: str) -> History:
        return self.history(int(key))

    def history_key(self, item: Question) -> str:
        return str(item.user_id)

    def asked(self, item: Question) -> str:
        return item.question

    def texts(self, item: Question) -> Iterator[tuple[str, str]]:
        for field in ("question", "personalized_answer", "general_answer"):
            yield field, getattr(item, field)

    def places(self) -> Iterator[tuple[str, str]]:
        for user in self.user_ids:
            for dialogue in self.history(user):
                for message in dialogue.messages:
                    yield f"user {user} dialogue {dialogue.id} {message.role}", message.text
        for question in self.questions():
            for field, text in self.texts(question):
                yield f"question {question.key} {field}", text

    def describe(self, counter: TokenCounter | None) -> Description:
        from bowstring.benchmarks.hicupid.describe import describe

        return describe(self, counter)

    def look_up(self, id_: str) -> ItemDisplay | None:
        from bowstring.benchmarks.hicupid.describe import look_up

        return look_up(self, id_)

    def ids(self) -> str:
        users = self.user_ids
        return f"users are numbered {min(users)} to {max(users)}; question ids look like {self.questions()[0].key}"

    def write(self, folder: Path, *, splits: Sequence[str], first: int | None, as_json: bool) -> list[Path]:  # noqa: ARG002
        return write(self, folder, splits=splits, users=first)

    def dialogue_split(self, user_id: int) -> str:
        return self._place[user_id][0]

    def history(self, user_id: int) -> History:
        """A user's dialogues in order. Not cached, because a full-size history is 17k tokens."""
        split, rows = self._place[user_id]
        table = self._dialogues[split].table
        part = table.slice(rows.start, len(rows)) if isinstance(rows, range) else table.take(rows)
        turns = part.to_pydict()
        dialogues: list[Dialogue] = []
        messages: list[Message] = []
        ids, kinds = turns["dialogue_id"], turns["type"]
        for i, (user, assistant) in enumerate(zip(turns["user"], turns["assistant"], strict=True)):
            messages += (Message("user", (user,)), Message("assistant", (assistant,)))
            if i + 1 == len(ids) or ids[i + 1] != ids[i]:
                dialogues.append(Dialogue(ids[i], kinds[i], tuple(messages)))
                messages = []
        return tuple(dialogues)

    def questions(self, *splits: str) -> tuple[Question, ...]:
        """The questions of these splits (default: all), in the order of the files."""
        for split in splits or self.splits:
            if split not in self._read:
                self._read[split] = tuple(_to_questions(self._questions[split].table, split))
        return tuple(q for split in splits or self.splits for q in self._read[split])

    def judgement_count(self, split: str) -> int:
        return len(self._judgements[split])

    def judgements(self, split: str) -> tuple[Judgement, ...]:
        return to_judgements(self._judgements[split].table, split)


def _rows_by_user(user_ids: npt.NDArray[np.int64]) -> dict[int, Sequence[int]]:
    """Row numbers of each user, in file order; a range if they are consecutive, as in the published files."""
    if not len(user_ids):
        return {}
    starts = np.concatenate([[0], np.flatnonzero(np.diff(user_ids)) + 1])
    ends = np.append(starts[1:], len(user_ids))
    found: dict[int, Sequence[int]] = {}
    for user, start, end in zip(user_ids[starts].tolist(), starts.tolist(), ends.tolist(), strict=True):
        before = found.get(user)
        found[user] = range(start, end) if before is None else [*before, *range(start, end)]
    return found


def _to_questions(table: pa.Table, split: str) -> Iterable[Question]:
    personas = _to_metadata(table, "persona", PERSONA_FIELDS, Persona)
    profiles = _to_metadata(table, "profile", PROFILE_FIELDS, Profile)
    schedules = _to_metadata(table, "schedule", SCHEDULE_FIELDS, Schedule)
    named = ("user_id", "question_id", "type", "question", "personalized_answer", "general_answer")
    columns = [table[name].to_pylist() for name in named]
    evidence = map(tuple, table["dialogue_id"].to_pylist())
    rows = zip(*columns, evidence, personas, profiles, schedules, strict=True)
    return (Question(split, *row) for row in rows)


def to_judgements(table: pa.Table, split: str) -> tuple[Judgement, ...]:
    """The judge transcripts of an `evaluation` table that passed the checks."""
    said = (table[name].to_pylist() for name in ("answer", "judgement", "answer_is"))
    return tuple(Judgement(*row) for row in zip(_to_questions(table, split), *said, strict=True))


def _to_metadata(table: pa.Table, part: str, fields: Sequence[str], record: Callable[..., T]) -> Iterable[T | None]:
    columns = [table[f"metadata.{part}.{field}"].to_pylist() for field in fields]
    for values in zip(*columns, strict=True):
        yield None if None in values else record(*values)


def dialogue_table(histories: Iterable[tuple[int, History]]) -> pa.Table:
    """The `dialogue` table of these users in the published layout: one row per turn, in order."""
    columns: dict[str, list[object]] = {name: [] for name in DIALOGUE_SCHEMA.names}
    for user_id, history in histories:
        for dialogue in history:
            turns = zip(dialogue.messages[::2], dialogue.messages[1::2], strict=True)
            for user, assistant in turns:
                row = (user_id, dialogue.id, user.text, assistant.text, dialogue.kind)
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
    return pa.table(columns, schema=DIALOGUE_SCHEMA)


def qa_table(questions: Iterable[Question]) -> pa.Table:
    return pa.Table.from_pylist([_qa_row(q) for q in questions], schema=QA_SCHEMA)


def evaluation_table(judgements: Iterable[Judgement]) -> pa.Table:
    rows = [
        _qa_row(j.question) | {"answer": j.answer, "answer_is": j.answer_is, "judgement": j.judgement}
        for j in judgements
    ]
    return pa.Table.from_pylist(rows, schema=EVALUATION_SCHEMA)


def _qa_row(question: Question) -> dict[str, object]:
    def fields(record: object, names: Sequence[str]) -> dict[str, object] | None:
        return None if record is None else {name: getattr(record, name) for name in names}

    return {
        "user_id": question.user_id,
        "dialogue_id": list(question.evidence),
        "question_id": question.question_id,
        "question": question.question,
        "personalized_answer": question.personalized_answer,
        "general_answer": question.general_answer,
        "type": question.type,
        "metadata": {
            "persona": fields(question.persona, PERSONA_FIELDS),
            "profile": fields(question.profile, PROFILE_FIELDS),
            "schedule": fields(question.schedule, SCHEDULE_FIELDS),
        },
    }


def write(data: HicupidSet, folder: Path, *, splits: Sequence[str] = (), users: int | None = None) -> list[Path]:
    """Write a set, or a part of it, in the published layout. `users` limits each split to its first N users."""
    chosen = splits or data.splits
    questions = {split: _of_first_users(data.questions(split), users) for split in chosen}
    asked = {q.user_id for part in questions.values() for q in part}
    whole = not splits and users is None
    by_split: dict[str, list[int]] = {}
    for user in data.user_ids:
        if whole or user in asked:
            by_split.setdefault(data.dialogue_split(user), []).append(user)
    written = []
    for split, members in by_split.items():
        path = make_folder(folder, "dialogue") / f"{split}.parquet"
        with create_file(path) as file, pq.ParquetWriter(file, DIALOGUE_SCHEMA) as writer:
            for start in range(0, len(members), 100):
                batch = members[start : start + 100]
                writer.write_table(dialogue_table((u, data.history(u)) for u in batch))
        written.append(path)
    tables = {f"qa/{split}.parquet": qa_table(part) for split, part in questions.items()}
    if whole:
        for split in data.judgement_splits:
            tables[f"evaluation/{split}.parquet"] = evaluation_table(data.judgements(split))
    for name, table in tables.items():
        config, _, file_ = name.partition("/")
        path = make_folder(folder, config) / file_
        with create_file(path) as file:
            pq.write_table(table, file)
        written.append(path)
    return written


def _of_first_users(questions: Sequence[Question], users: int | None) -> list[Question]:
    first = list(dict.fromkeys(q.user_id for q in questions))[:users]
    kept = set(first)
    return [q for q in questions if q.user_id in kept]
