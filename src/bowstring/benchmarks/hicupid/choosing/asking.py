"""How a model chooses: by the letter that it answers with, or by how probable it finds each option as its answer.

A request has the history and the question of `--task answer`, so that both tasks share the trunk. By letter, the
question is followed by the options; by likelihood, the prompt is the same as for an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, Protocol

from bowstring.benchmarks.hicupid.choosing.options import GOLD, LETTERS, Options, about_options, in_random_order
from bowstring.benchmarks.hicupid.types import Question
from bowstring.benchmarks.judges import ask_formed, plan_judge
from bowstring.judging.forms import FormedTemplate, VerdictRequest, Verdicts, choice_form
from bowstring.judging.letters import read_letter
from bowstring.models.scores import Scores, scoring
from bowstring.prompts import PromptFolder
from bowstring.records import Message, Planned, Prompt, Sampling
from bowstring.runs.asking import Asker

By = Literal["letter", "likelihood"]


class OptionSource(Protocol):
    """Where the options of questions come from."""

    fingerprint: str

    def of(self, question: Question) -> Options:
        """Return the options of a question, gold first."""
        ...


@dataclass(frozen=True, slots=True)
class Choosing:
    source: OptionSource
    seed: int
    by: By
    letters: Letters | None = None  # the prompts, if it is by letter

    @classmethod
    def open(cls, source: OptionSource, seed: int, by: By, prompts: PromptFolder, verdicts: Verdicts) -> Choosing:
        return cls(source, seed, by, Letters(prompts, verdicts) if by == "letter" else None)

    def options(self, question: Question) -> Options:
        """Return the options of a question in the order in which they are shown."""
        return in_random_order(self.source.of(question), question, self.seed)

    def about(self, question: Question) -> dict[str, Any]:
        """Return what a record says before the model is asked: the options, the place of gold, and how it is asked."""
        return about_options(self.options(question)) | {"by": self.by}

    def plan(self, question: Question, prompt: Prompt, sampling: Sampling, *, estimated: bool) -> Iterator[Planned]:
        options = self.options(question)
        if self.letters is None:
            yield Planned("model", prompt, scoring([one.text for one in options]), 0, estimated)
        else:
            yield plan_judge("model", self.letters.request(prompt, question, options), sampling, 8, estimated=estimated)

    async def record(self, question: Question, prompt: Prompt, sampling: Sampling, model: Asker) -> dict[str, Any]:
        """Return what a record says of the choice. Raises as `Asker.ask` does."""
        options = self.options(question)
        if self.letters is None:
            return by_likelihood(options, await model.score(prompt, [one.text for one in options]))
        said = await ask_formed(model, self.letters.request(prompt, question, options), sampling)
        return {"answer": said.text, "finish": said.finish} | by_letter(options, said.text)


class Letters:
    """The prompts that show the options with letters."""

    def __init__(self, prompts: PromptFolder, verdicts: Verdicts) -> None:
        template = prompts.get("hicupid/choose", needs=frozenset({"question", "options"}), may=frozenset({"form"}))
        self._formed = cache(lambda letters: FormedTemplate.of(template, choice_form(letters), verdicts))

    def request(self, prompt: Prompt, question: Question, options: Options) -> VerdictRequest:
        """Return the request for a choice; `prompt` is the one for an answer, and ends with the question."""
        letters = LETTERS[: len(options)]
        shown = "\n".join(f"{letter}. {one.text}" for letter, one in zip(letters, options, strict=True))
        formed: FormedTemplate = self._formed(letters)
        return formed.request(
            lambda template: _asking(prompt, "".join(template.user_parts(question=question.question, options=shown)))
        )


def _asking(prompt: Prompt, text: str) -> Prompt:
    return replace(prompt, branch=(*prompt.branch[:-1], Message("user", (text,))))


def by_letter(options: Options, said: str) -> dict[str, Any]:
    """Return the choice that a text states; it has no score if it states none."""
    letter = read_letter(said, LETTERS[: len(options)])
    if letter is None:
        return {"choice": None, "score": None}
    return _chosen(options, LETTERS.index(letter))


def by_likelihood(options: Options, scores: Scores) -> dict[str, Any]:
    """Return the most probable option: by the mean log-probability of its tokens, and by their sum."""
    by_sum = options[_highest(scores.log_probabilities)]
    return {
        **_chosen(options, _highest(scores.per_token)),
        "log_probabilities": list(scores.log_probabilities),
        "tokens": list(scores.tokens),
        "score_by_sum": float(by_sum.kind == GOLD),
    }


def _highest(values: Sequence[float]) -> int:
    return max(range(len(values)), key=lambda n: values[n])


def _chosen(options: Options, n: int) -> dict[str, Any]:
    return {"choice": LETTERS[n], "score": float(options[n].kind == GOLD)}
