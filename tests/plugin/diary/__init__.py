"""Diary: does an assistant remember what was said in dated sessions? An example of a benchmark of your own.

    pip install ./tests/plugin
    bowstring eval diary --data my/diary.json --model openai/gpt-4o-mini --judge openai/gpt-4o-2024-11-20

A data set is one file, diary.json: users, each with dated sessions and with questions that name the sessions which hold
the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Literal

from pydantic import BaseModel, StringConstraints, ValidationError

from bowstring.benchmarks.interface import Noun
from bowstring.benchmarks.questions import Question, QuestionBenchmark, QuestionSet
from bowstring.benchmarks.questions.data import problems_of
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.layout import Choice, OneFile
from bowstring.datasets.problems import Problem, quote_value
from bowstring.datasets.reading import Locate, Reading
from bowstring.records import Dialogue, History, Message

FILE = "diary.json"
Text = Annotated[str, StringConstraints(pattern=r"\S")]


class Turn(BaseModel):
    role: Literal["user", "assistant"]
    text: Text


class SessionRow(BaseModel):
    id: int
    date: Text
    turns: list[Turn]


class QuestionRow(BaseModel):
    id: Text
    question: Text
    answer: Text
    kind: Literal["fact", "change"] = "fact"
    sessions: list[int] = []


class UserRow(BaseModel):
    name: Text
    sessions: list[SessionRow]
    questions: list[QuestionRow]


class Diary(QuestionBenchmark):
    name = "diary"
    title = "Diary"
    about = "Diary: does an assistant remember what was said in dated sessions?"
    item = Noun("question", "questions")
    cluster = Noun("diarist", "diarists")
    format = OneFile("diary", FILE)

    def templates(self) -> Traversable:
        return files("diary") / "templates"

    def read(self, locate: Locate, choice: Choice) -> Reading[DataSet]:
        source = locate(choice)
        problems: list[Problem] = []
        users = list(_users((source.root / FILE).read_bytes(), problems))
        histories = {user.name: _history(user) for user in users}
        questions = [_question(user, row) for user in users for row in user.questions]
        problems += problems_of(histories, questions, FILE)
        if problems:
            return Reading(None, problems)
        found = QuestionSet(
            self.name, source.name, histories, questions, parts=source.parts, fingerprint=source.fingerprint()
        )
        return Reading(found, [])


def _users(content: bytes, problems: list[Problem]) -> Iterator[UserRow]:
    """The users that could be read; what is wrong with the others is added to the problems."""
    try:
        rows = json.loads(content)["users"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problems.append(Problem(FILE, None, None, f'cannot be read as {{"users": [...]}}: {error}'))
        return
    for n, row in enumerate(rows):
        try:
            yield UserRow.model_validate(row)
        except ValidationError as invalid:
            for error in invalid.errors(include_url=False):
                column = ".".join(map(str, error["loc"])) or None
                problems.append(Problem(FILE, n, column, f"is {quote_value(error['input'])}: {error['msg'].lower()}"))


def _history(user: UserRow) -> History:
    return tuple(
        Dialogue(
            session.id,
            "session",
            tuple(Message(turn.role, (turn.text,)) for turn in session.turns),
            when=session.date,
        )
        for session in user.sessions
    )


def _question(user: UserRow, row: QuestionRow) -> Question:
    return Question(row.id, user.name, row.question, row.answer, row.kind, tuple(row.sessions))


DIARY = Diary()
