"""Baselines without a model: answers that know the user, and answers that do not.

A benchmark that cannot distinguish these two measures nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.hicupid.types import Question
from bowstring.errors import UsageError
from bowstring.records import Completion, Prompt, Sampling


class Baseline:
    """A model with prepared answers. `answer` returns the one for a prompt."""

    concurrency = 64

    def __init__(self, name: str, answer: Callable[[Prompt], str]) -> None:
        self.name = self.identity = f"baseline/{name}"
        self._answer = answer

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:  # noqa: ARG002 - as every model
        return Completion(self._answer(prompt))

    async def close(self) -> None:
        pass


def gold_answers(questions: Iterable[Question]) -> Baseline:
    return _by_question("gold", ((q.question, q.personalized_answer) for q in questions))


def general_answers(questions: Iterable[Question]) -> Baseline:
    return _by_question("general", ((q.question, q.general_answer) for q in questions))


def _by_question(name: str, answers: Iterable[tuple[str, str]]) -> Baseline:
    known: dict[str, str] = {}
    for question, answer in answers:
        if known.setdefault(question, answer) != answer:
            raise UsageError(f"baseline/{name}: two users ask {question!r}, but have different answers")
    return Baseline(name, lambda prompt: known[prompt.branch[-1].text])


def gold_preferences(instances: Iterable[Instance]) -> Baseline:
    """States the gold preference of the request in the prompt."""
    known = {i.request: i.preference for i in instances}

    def answer(prompt: Prompt) -> str:
        text = prompt.messages[-1].text
        return _stated(next(preference for request, preference in known.items() if request in text))

    return Baseline("gold", answer)


VAGUE = "The user wants clear, helpful and well organised responses in a friendly, professional tone."


def vague_preference() -> Baseline:
    """States a preference that fits any user."""
    answer = _stated(VAGUE)
    return Baseline("vague", lambda prompt: answer)


def _stated(preference: str) -> str:
    return f"### Most Likely Preference\n{preference}"
