"""A data set of questions and histories, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bowstring.datasets.dataset import DataSet
from bowstring.datasets.layout import Parts
from bowstring.datasets.problems import Problem, quote_value
from bowstring.records import History


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `user` names its history; `evidence` are the ids of the dialogues that contain its answer."""

    key: str
    user: str
    question: str
    gold: str
    type: str = "question"
    evidence: tuple[int, ...] = ()
    split: str = "test"


class QuestionSet(DataSet):
    """`benchmark` is the name of the benchmark of the set."""

    def __init__(
        self,
        benchmark: str,
        name: str,
        histories: Mapping[str, History],
        questions: Sequence[Question],
        *,
        parts: Parts | None = None,
        fingerprint: str = "",
    ) -> None:
        self.benchmark = benchmark  # type: ignore[misc]  # a class variable where a benchmark has a class of its own
        self.name, self.parts, self.fingerprint = name, parts or {}, fingerprint
        self._histories, self._questions = dict(histories), tuple(questions)

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(question.split for question in self._questions))

    def of_splits(self, splits: Sequence[str]) -> QuestionSet:
        chosen = [question for question in self._questions if question.split in splits]
        return QuestionSet(
            self.benchmark, self.name, self._histories, chosen, parts=self.parts, fingerprint=self.fingerprint
        )

    def items(self) -> tuple[Question, ...]:
        return self._questions

    def history_keys(self) -> tuple[str, ...]:
        return tuple(self._histories)

    def history_named(self, key: str) -> History:
        return self._histories[key]

    def history_key(self, item: Question) -> str:
        return item.user

    def asked(self, item: Question) -> str:
        return item.question

    def texts(self, item: Question) -> Iterator[tuple[str, str]]:
        yield "question", item.question
        yield "gold", item.gold


def problems_of(histories: Mapping[str, History], questions: Sequence[Question], file: str) -> Iterator[Problem]:
    """Check that keys are unique, and that users and evidence exist."""
    seen: set[str] = set()
    for row, question in enumerate(questions):
        if question.key in seen:
            yield Problem(file, row, "key", f"is {quote_value(question.key)}, a duplicate; expected each question once")
        seen.add(question.key)
        history = histories.get(question.user)
        if history is None:
            yield Problem(file, row, "user", f"is {quote_value(question.user)}, who has no history here")
            continue
        known = {dialogue.id for dialogue in history}
        for dialogue in question.evidence:
            if dialogue not in known:
                yield Problem(file, row, "evidence", f"names dialogue {dialogue}, which {question.user} does not have")
    if not questions:
        yield Problem(file, None, None, "has no questions; expected at least one")
