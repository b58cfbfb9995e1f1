"""Consistency checks of the rows of a HiCUPID set. They work on whole columns: a full-size set takes seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bowstring.benchmarks.hicupid.data import NEEDED_METADATA, PERSONA_FIELDS, PROFILE_FIELDS, SCHEDULE_FIELDS
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES
from bowstring.datasets.problems import Problem
from bowstring.datasets.tables import Rows, check_column_choice, where
from bowstring.records import SIDES

_FIELDS = {"persona": PERSONA_FIELDS, "profile": PROFILE_FIELDS, "schedule": SCHEDULE_FIELDS}


def check_dialogues(parts: Mapping[str, Rows]) -> Iterator[Problem]:
    """Check types, that each dialogue is one block of rows with one user and one type, and that each user is in one
    split."""
    dialogues: dict[int, str] = {}  # dialogue -> the file and row where it first occurs
    splits: dict[int, str] = {}  # user -> the split their dialogues are in
    for split, rows in parts.items():
        yield from check_column_choice(rows, "type", QUESTION_TYPES)
        if not rows.has("user_id", "dialogue_id"):
            continue
        if not len(rows):
            yield Problem(rows.files[0], None, None, "has no rows; expected one turn per row")
            continue
        users, ids = rows.integers("user_id"), rows.integers("dialogue_id")
        yield from _check_blocks(rows, users, ids)
        for row in where(np.concatenate([[True], np.diff(ids) != 0])):
            dialogue, user = int(ids[row]), int(users[row])
            if dialogue in dialogues:
                first = dialogues[dialogue]
                message = f"is {dialogue} again (first in {first}); expected its turns in consecutive rows"
                yield rows.problem(row, "dialogue_id", message)
            elif splits.setdefault(user, split) != split:
                message = f"is {user}, who is also in split {splits[user]}; expected one split per user"
                yield rows.problem(row, "user_id", message)
            dialogues.setdefault(dialogue, rows.place(row))


def _check_blocks(rows: Rows, users: npt.NDArray[np.int64], ids: npt.NDArray[np.int64]) -> Iterator[Problem]:
    same = np.concatenate([[False], np.diff(ids) == 0])
    for row in where(same & _changes(users)):
        yield rows.problem(row, "dialogue_id", f"is {ids[row]}, which is also of user {users[row - 1]}")
    types = _codes(rows.table["type"])
    known = (types >= 0) & np.concatenate([[True], types[:-1] >= 0])
    for row in where(same & known & _changes(types)):
        yield rows.problem(row, "type", f"changes within dialogue {ids[row]}; expected one type per dialogue")


def check_questions(rows: Rows, dialogues: Mapping[str, Rows], *, unique: bool = True) -> Iterator[Problem]:
    """Check types, sentiments, the metadata of each type, unique ids, and that the evidence exists."""
    yield from check_column_choice(rows, "type", QUESTION_TYPES)
    yield from check_column_choice(rows, "metadata.persona.sentiment", ("POS", "NEG"))
    yield from _check_metadata(rows)
    if not len(rows) and rows.has("user_id", "question_id", "dialogue_id"):
        yield Problem(rows.files[0], None, None, "has no rows; expected one question per row")
    if unique and rows.has("user_id", "question_id"):
        yield from _check_unique(rows)
    if dialogues and rows.has("user_id", "dialogue_id"):
        yield from _check_evidence(rows, dialogues.values())


def check_judgements(rows: Rows, dialogues: Mapping[str, Rows]) -> Iterator[Problem]:
    """The checks of questions, except that a question may occur several times; and the sides."""
    yield from check_questions(rows, dialogues, unique=False)
    yield from check_column_choice(rows, "answer_is", SIDES)


def check_across_splits(parts: Mapping[str, Rows]) -> Iterator[Problem]:
    """Check that user and question id together are unique over all splits."""
    seen: dict[tuple[int, int], str] = {}
    for split, rows in parts.items():
        if not rows.has("user_id", "question_id"):
            continue
        keys = zip(rows.integers("user_id").tolist(), rows.integers("question_id").tolist(), strict=True)
        here: dict[tuple[int, int], str] = {}
        for row, (user, question) in enumerate(keys):
            if (other := seen.get((user, question))) is not None:
                message = f"is {question} for user {user}, which is also in split {other}; load one split at a time"
                yield rows.problem(row, "question_id", message)
            here[user, question] = split
        seen |= here


def _changes(values: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return np.concatenate([[False], np.diff(values) != 0])


def _codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    encoded = column.combine_chunks().dictionary_encode().indices
    return np.asarray(pc.fill_null(encoded, -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _check_metadata(rows: Rows) -> Iterator[Problem]:
    types = rows.table["type"].combine_chunks()
    for kind, needed in NEEDED_METADATA.items():
        of_kind = pc.fill_null(pc.equal(types, kind), False).to_numpy(zero_copy_only=False)
        for part in needed:
            for field in _FIELDS[part]:
                if not rows.has("type", f"metadata.{part}.{field}"):
                    continue
                missing = rows.table[f"metadata.{part}.{field}"].combine_chunks().is_null()
                for row in where(of_kind & missing.to_numpy(zero_copy_only=False)):
                    message = f"is null; a {kind} question needs it"
                    yield rows.problem(row, f"metadata.{part}.{field}", message)


def _check_unique(rows: Rows) -> Iterator[Problem]:
    first: dict[tuple[int, int], int] = {}
    keys = zip(rows.integers("user_id").tolist(), rows.integers("question_id").tolist(), strict=True)
    for row, (user, question) in enumerate(keys):
        before = first.setdefault((user, question), row)
        if before != row:
            at = rows.place(before)
            yield rows.problem(row, "question_id", f"is {question} again for user {user} (first in {at})")


def _check_evidence(rows: Rows, dialogues: Iterable[Rows]) -> Iterator[Problem]:
    parts = list(dialogues)
    owners = np.concatenate([p.integers("user_id") for p in parts])
    ids = np.concatenate([p.integers("dialogue_id") for p in parts])
    users = rows.integers("user_id")
    without = ~np.isin(users, owners)
    for row in where(without):
        yield rows.problem(row, "user_id", f"is {users[row]}, whose history is empty: no dialogue has this user_id")
    evidence = rows.table["dialogue_id"].combine_chunks()
    parents = np.asarray(pc.list_parent_indices(evidence).to_numpy(zero_copy_only=False), dtype=np.int64)
    wanted = np.asarray(pc.list_flatten(evidence).to_numpy(zero_copy_only=False), dtype=np.int64)
    if not len(ids) or not len(wanted):
        return
    order = np.argsort(ids, kind="stable")
    found = np.minimum(np.searchsorted(ids[order], wanted), len(ids) - 1)
    exists = ids[order][found] == wanted
    owner = owners[order][found]
    for at in where(~without[parents] & (~exists | (owner != users[parents]))):
        row, dialogue = int(parents[at]), int(wanted[at])
        reason = f"belongs to user {owner[at]}" if exists[at] else "does not exist"
        message = f"names dialogue {dialogue}, which {reason}; expected a dialogue of user {users[row]}"
        yield rows.problem(row, "dialogue_id", message)
