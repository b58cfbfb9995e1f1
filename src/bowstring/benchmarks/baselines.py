"""Answers that need no model: the gold ones, as if someone knew the user, and the general ones, as a stranger's.

A benchmark that cannot tell these two apart measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from bowstring.errors import UsageError
from bowstring.records import Completion, Prompt, Question, Sampling


class Baseline:
    """Gives the prepared answer to a question it recognises by its text."""

    concurrency = 64

    def __init__(self, name: str, answers: Iterable[tuple[str, str]]) -> None:
        self.name = self.identity = f"baseline/{name}"
        self._answers: dict[str, str] = {}
        for question, answer in answers:
            if self._answers.setdefault(question, answer) != answer:
                raise UsageError(f"{self.name}: two users ask {question!r} and should get different answers")

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:  # noqa: ARG002 - as every model
        return Completion(self._answers[prompt.branch[-1].text])

    async def close(self) -> None:
        pass


def gold_answers(questions: Iterable[Question]) -> Baseline:
    return Baseline("gold", ((q.question, q.personalized_answer) for q in questions))


def general_answers(questions: Iterable[Question]) -> Baseline:
    return Baseline("general", ((q.question, q.general_answer) for q in questions))
