"""Assembly of a HiCUPID user from generated parts: order of dialogues, ids, evidence, splits.

users      seen (train and test_1) and unseen (test_2), 5 : 1
personas   one per user and dimension; shared by `share` users, but never by a seen and an unseen user
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from bowstring.benchmarks.hicupid.data import DIALOGUE_SCHEMA, QA_SCHEMA, dialogue_table, qa_table
from bowstring.benchmarks.hicupid.options import Choice, Option
from bowstring.benchmarks.hicupid.types import Persona, Profile, Question, QuestionType, Schedule
from bowstring.files.writing import create_file, make_folder
from bowstring.records import Dialogue, History, Message

PROFILE_FIELDS = ("age", "gender", "personality", "occupation", "income_range")
_STRIDE = 40  # ids are user * 40 + position, as published
_TEST_SHARE = 5  # one in five questions of a seen user is in test_1
Turns = Sequence[tuple[str, str]]  # user message, assistant reply


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a set. Defaults and limits are in the settings (synthesis.py)."""

    users: int
    dimensions: int
    turns: int
    schedules: int
    profile_questions: int
    share: int

    @property
    def seen(self) -> int:
        """How many users are in train and test_1; the others are in test_2."""
        return self.users - (self.users // 6 if self.users > 1 else 0)

    @property
    def personas(self) -> int:
        """The number of personas per dimension."""
        return math.ceil(self.seen / self.share) + math.ceil((self.users - self.seen) / self.share)


class PersonaAssignment:
    """The persona number of every user in every dimension, assigned at random once."""

    def __init__(self, sizes: Sizes, seed: int, dimensions: Sequence[str]) -> None:
        self._of: dict[str, list[int]] = {}
        offset = math.ceil(sizes.seen / sizes.share)
        for dimension in dimensions:
            numbers = [0] * sizes.users
            for first, members in ((0, range(sizes.seen)), (offset, range(sizes.seen, sizes.users))):
                dealt = list(members)
                random.Random(f"{seed}/deal/{dimension}/{first}").shuffle(dealt)  # noqa: S311 - repeatable on purpose
                for place, user in enumerate(dealt):
                    numbers[user] = first + place // sizes.share
            self._of[dimension] = numbers

    def persona(self, user: int, dimension: str) -> int:
        return self._of[dimension][user]


@dataclass(frozen=True, slots=True)
class QuestionDraft:
    """A question with its answers."""

    question: str
    personalized: str
    general: str
    options: tuple[Option, ...] = ()  # for choosing; generated offline only
    clash: bool | None = None  # of a schedule question: whether the time that it asks for is taken


@dataclass(frozen=True, slots=True)
class PersonaPart:
    persona: Persona
    turns: Turns
    asked: QuestionDraft | None
    profile_asked: QuestionDraft | None = None  # a profile question that also needs this persona


@dataclass(frozen=True, slots=True)
class SchedulePart:
    schedule: Schedule
    turns: Turns
    asked: QuestionDraft | None


@dataclass(frozen=True, slots=True)
class User:
    user_id: int
    history: History
    questions: tuple[Question, ...]
    choices: tuple[Choice, ...] = ()


def assemble_user(
    user: int,
    profile: Profile,
    profile_turns: Sequence[Turns],
    personas: Sequence[PersonaPart],
    schedules: Sequence[SchedulePart],
    *,
    unseen: bool,
    rng: random.Random,
    split_rng: random.Random | None = None,
) -> User:
    """Shuffle and number the dialogues, and give each question its evidence and its split, by `split_rng` if given."""
    parts: list[tuple[QuestionType, Turns]] = [("profile", turns) for turns in profile_turns]
    parts += [("persona", part.turns) for part in personas]
    parts += [("schedule", part.turns) for part in schedules]
    places = list(range(len(parts)))
    rng.shuffle(places)
    ids = [user * _STRIDE + place for place in places]
    history = tuple(sorted((_dialogue(i, *part) for i, part in zip(ids, parts, strict=True)), key=lambda d: d.id))
    n, m = len(profile_turns), len(profile_turns) + len(personas)
    asked: list[
        tuple[QuestionType, QuestionDraft, tuple[int, ...], Persona | None, Profile | None, Schedule | None]
    ] = []
    for part, place in zip(personas, ids[n:m], strict=True):
        if part.asked is not None:
            asked.append(("persona", part.asked, (place,), part.persona, None, None))
    for part, place in zip(personas, ids[n:m], strict=True):
        if part.profile_asked is not None:
            asked.append(("profile", part.profile_asked, (*ids[:n], place), part.persona, profile, None))
    for item, place in zip(schedules, ids[m:], strict=True):
        if item.asked is not None:
            asked.append(("schedule", item.asked, (place,), None, None, item.schedule))
    splits = list(_splits([kind for kind, *_ in asked], unseen=unseen, rng=split_rng or rng))
    questions = tuple(
        Question(
            split, user, user * _STRIDE + k, kind, a.question, a.personalized, a.general, evidence, persona, who, when
        )
        for k, (split, (kind, a, evidence, persona, who, when)) in enumerate(zip(splits, asked, strict=True))
    )
    choices = tuple(
        Choice(q.split, user, q.question_id, draft.options, draft.clash)
        for q, (_, draft, *_) in zip(questions, asked, strict=True)
        if draft.options
    )
    return User(user, history, questions, choices)


def _dialogue(number: int, kind: str, turns: Turns) -> Dialogue:
    messages = [m for said, answered in turns for m in (Message("user", (said,)), Message("assistant", (answered,)))]
    return Dialogue(number, kind, tuple(messages))


def _splits(kinds: Sequence[str], *, unseen: bool, rng: random.Random) -> Iterator[str]:
    if unseen:
        yield from ("test_2" for _ in kinds)
        return
    tested: set[int] = set()
    for kind in dict.fromkeys(kinds):
        places = [n for n, k in enumerate(kinds) if k == kind]
        # If the number is not divisible by five, round at random: over many users the share is one in five.
        tested |= set(rng.sample(places, (len(places) + rng.randrange(_TEST_SHARE)) // _TEST_SHARE))
    yield from ("test_1" if n in tested else "train" for n in range(len(kinds)))


class SetWriter:
    """Writes users in the published layout, in batches. A context manager: files get their names if it ends without an
    error."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: list[Path] = []
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._open = ExitStack()

    def __enter__(self) -> SetWriter:
        return self

    def add(self, users: Sequence[User]) -> None:
        by_split: dict[str, list[User]] = {}
        questions: dict[str, list[Question]] = {}
        for user in users:
            unseen = any(q.split == "test_2" for q in user.questions)
            by_split.setdefault("test" if unseen else "train", []).append(user)
            for question in user.questions:
                questions.setdefault(question.split, []).append(question)
        for split, members in by_split.items():
            table = dialogue_table((u.user_id, u.history) for u in members)
            self._writer(f"dialogue/{split}.parquet", DIALOGUE_SCHEMA).write_table(table)
        for split, asked in questions.items():
            self._writer(f"qa/{split}.parquet", QA_SCHEMA).write_table(qa_table(asked))

    def _writer(self, name: str, schema: object) -> pq.ParquetWriter:
        if name not in self._writers:
            part, _, file = name.rpartition("/")
            path = make_folder(self.folder, part) / file
            self.written.append(path)
            draft = path.with_suffix(".draft")
            opened = self._open.enter_context(create_file(draft))
            self._writers[name] = self._open.enter_context(pq.ParquetWriter(opened, schema))
        return self._writers[name]

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._open.close()
        for path in self.written:
            draft = path.with_suffix(".draft")
            if not kind:
                draft.replace(path)
                continue
            draft.unlink(missing_ok=True)
            for folder in (path.parent, self.folder):
                with suppress(OSError):  # not empty, or not there
                    folder.rmdir()
